#pragma once
#include <atomic>
#include <functional>
#include <mutex>

namespace penstock {

/// A check that must have succeeded before something is used: made by the first who asks, while others wait, and free from
/// then on. One that throws is made again by the next who asks. Safe from any thread.
class CheckOnce {
 public:
  explicit CheckOnce(std::function<void()> check) : check_(std::move(check)) {}

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Listens to Ctrl-C while it checks and while it waits.
  void require();
  /// It has been found good in another way.
  void settle() noexcept { done_.store(true, std::memory_order_release); }

 private:
  std::function<void()> check_;
  std::mutex lock_;
  std::atomic<bool> done_ = false;
};

}  // namespace penstock
