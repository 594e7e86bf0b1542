#pragma once
#include <atomic>
#include <bit>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace penstock {

// How members bring their data together in pairs, and the whole back to all, in rounds, so that no link carries more than its
// share. In a round on the way in, a member takes what another one has gathered; at the end the first member has everything.
// The way back goes through the same pairs, the last round first.

constexpr int pair_rounds(int members) { return std::bit_width(static_cast<unsigned>(members - 1)); }
/// The member from which `me` takes data on the way in, or -1.
constexpr int pair_giver(int me, int round, int members) {
  const int step = 1 << round;
  return me % (2 * step) == 0 && me + step < members ? me + step : -1;
}
/// The member from which `me` takes the whole on the way back, or -1.
constexpr int pair_returner(int me, int round) {
  const int step = 1 << round;
  return me % (2 * step) == step ? me - step : -1;
}

/// Host threads that work in step, one for each GPU; the first one is the caller. If one fails, the others stop at their next
/// meeting.
class Team {
 public:
  explicit Team(int members) : members_(members), expected_(members) {}

  int members() const { return members_; }

  /// Calls f(member) on each thread. It may be called once for a team. The first exception is thrown again here, after all
  /// threads have ended.
  template <class F>
  void run(F&& f) {
    const auto guarded = [&](int me) noexcept {
      try {
        f(me);
      } catch (const Stopped&) {  // another thread has failed
      } catch (...) {
        fail(std::current_exception());
      }
    };
    {
      std::vector<std::jthread> others;
      int started = 1;
      try {
        for (; started < members_; ++started) others.emplace_back(guarded, started);
      } catch (...) {  // the system has no more threads
        for (int k = started; k < members_; ++k) fail(std::current_exception());
      }
      guarded(0);
    }
    if (error_) std::rethrow_exception(error_);
  }

  /// Waits for all threads. What each has written before, all can read afterwards. Throws Stopped, which leaves f, if another
  /// thread has failed.
  void meet() {
    unsigned now;
    {
      const std::lock_guard guard(lock_);
      now = meeting_.load(std::memory_order_relaxed);
      if (++arrived_ == expected_) end_meeting();
    }
    // The others come within the time of a level on a GPU. To sleep and be woken would take as long.
    for (int i = 0; i < kLooks && meeting_.load(std::memory_order_acquire) == now; ++i)
      std::this_thread::yield();
    meeting_.wait(now, std::memory_order_acquire);
    if (stop_) throw Stopped();
  }

 private:
  static constexpr int kLooks = 1000;
  struct Stopped {};

  /// Call it with the lock. A failure counts from the end of a meeting, so that all threads leave at the same meeting.
  void end_meeting() {
    arrived_ = 0;
    stop_ = error_ != nullptr;
    meeting_.fetch_add(1, std::memory_order_release);
    meeting_.notify_all();
  }

  void fail(std::exception_ptr error) {
    const std::lock_guard guard(lock_);
    if (!error_) error_ = std::move(error);
    if (--expected_ == arrived_ && expected_ > 0) end_meeting();
  }

  int members_;
  std::mutex lock_;
  int expected_, arrived_ = 0;
  std::exception_ptr error_;
  std::atomic<unsigned> meeting_ = 0;
  bool stop_ = false;  // written while all threads wait
};

}  // namespace penstock
