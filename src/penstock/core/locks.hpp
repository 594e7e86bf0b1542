#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "penstock/core/parallel.hpp"

// Locks that a child process does not wait for when it was forked while another thread held them: that thread does not exist
// in the child, so nobody would ever unlock them.
namespace penstock {

inline constexpr int kLockAttempts = 200;  // before a thread that wants a lock does without it, or sleeps

/// Locks, or gives up soon: for locks that are held for less than a microsecond, where the caller can do without. Several
/// threads may want such a lock at the same time, so some attempts are made.
inline std::unique_lock<std::mutex> lock_soon(std::mutex& lock) {
  std::unique_lock guard(lock, std::defer_lock);
  for (int i = 0; i < kLockAttempts && !guard.try_lock(); ++i) std::this_thread::yield();
  return guard;
}

/// A lock that may be held for long, where the caller cannot do without. A forked child takes it over from a thread of its
/// parent, and is told: what that thread was changing may be half changed. It knows by the number of forks that lie between
/// the first process and the one that locked, which costs no call of the system.
class ForkLock {
 public:
  class [[nodiscard]] Held {
   public:
    Held(Held&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)), orphaned_(other.orphaned_) {}
    ~Held() { release(); }
    void release() noexcept {
      if (lock_) std::exchange(lock_, nullptr)->holder_.store(kNobody, std::memory_order_release);
    }
    /// Whether it was taken over from a thread that does not exist in this process.
    bool orphaned() const noexcept { return orphaned_; }

   private:
    friend class ForkLock;
    Held(ForkLock* lock, bool orphaned) : lock_(lock), orphaned_(orphaned) {}
    ForkLock* lock_;
    bool orphaned_;
  };

  /// Waits for other threads of this process, and listens to Ctrl-C meanwhile.
  Held lock() {
    const auto me = forks_so_far() + 1;
    for (int attempt = 0;; ++attempt) {
      auto holder = holder_.load(std::memory_order_relaxed);
      if (holder != me && holder_.compare_exchange_strong(holder, me, std::memory_order_acquire))
        return {this, holder != kNobody};
      if (attempt < kLockAttempts) {
        std::this_thread::yield();
      } else {
        poll_interrupt();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }

 private:
  static constexpr std::uint64_t kNobody = 0;
  std::atomic<std::uint64_t> holder_ = kNobody;  // else 1 + forks_so_far() of the holder's process
};

}  // namespace penstock
