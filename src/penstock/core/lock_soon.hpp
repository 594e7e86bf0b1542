#pragma once
#include <mutex>
#include <thread>

namespace penstock {

/// Locks, or gives up soon: for locks that are held for less than a microsecond, where the caller can do without. A child
/// process that was forked while another thread held the lock would wait for ever otherwise, because that thread does not
/// exist in the child. Several threads may want such a lock at the same time, so some attempts are made.
inline std::unique_lock<std::mutex> lock_soon(std::mutex& lock) {
  constexpr int kAttempts = 200;
  std::unique_lock guard(lock, std::defer_lock);
  for (int i = 0; i < kAttempts && !guard.try_lock(); ++i) std::this_thread::yield();
  return guard;
}

}  // namespace penstock
