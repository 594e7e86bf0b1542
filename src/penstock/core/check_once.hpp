#pragma once
#include <atomic>
#include <functional>
#include <utility>

#include "penstock/core/locks.hpp"

namespace penstock {

/// A check that must have succeeded before something is used. The first caller of require() makes it, while others wait;
/// after that require() costs nothing. If the check throws, the next caller makes it again. Safe from any thread, and in a child
/// that was forked while another thread checked.
class CheckOnce {
 public:
  explicit CheckOnce(std::function<void()> check) : check_(std::move(check)) {}

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Listens to Ctrl-C while it checks and while it waits.
  void require() {
    if (done()) return;
    const auto held = lock_.lock();
    if (done()) return;
    check_();
    settle();
  }
  /// Marks the check as made: the thing was found good in another way.
  void settle() noexcept { done_.store(true, std::memory_order_release); }

 private:
  std::function<void()> check_;
  ForkLock lock_;
  std::atomic<bool> done_ = false;
};

}  // namespace penstock
