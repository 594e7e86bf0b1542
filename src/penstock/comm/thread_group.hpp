#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "penstock/comm/calls.hpp"
#include "penstock/core/error.hpp"

// What ranks that are threads share: bells that wake those who wait, the fate of all (has someone failed or left?), and the
// slots in which each rank shows the others what it brings to a collective call. Nobody but comm/thread*.cpp includes this.
namespace penstock::thread_comm {

/// Tells waiters that something has happened and that they should look again. A waiter reads the count, looks, and sleeps
/// only as long as the count has not changed.
class Bell {
 public:
  void ring() noexcept;
  std::uint32_t count() const { return count_.load(std::memory_order_seq_cst); }
  void sleep(std::uint32_t seen, std::chrono::milliseconds most);

 private:
  std::atomic<std::uint32_t> count_ = 0;
  std::atomic<int> sleepers_ = 0;
  std::mutex lock_;
  std::condition_variable wake_;
};

/// Whether the ranks of threads() and of everything split from them can still go on. Ranks are those of threads().
///
/// Ranks read and write each other's memory, but a rank that gives up must be able to free its own. So a rank holds a Copying
/// while it touches the memory of others, and gets none after failed() is set; a rank that throws waits in settle() until no
/// Copying is held any more. Each of the two sets its own flag before it looks at the other's, in sequentially consistent
/// order, so that one of them sees the other.
class Fate {
 public:
  explicit Fate(int ranks)
      : copying_(static_cast<std::size_t>(ranks)),
        members_(static_cast<std::size_t>(ranks)),
        left_(static_cast<std::size_t>(ranks)) {}

  bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }
  /// The reason is that of the first call of these two.
  void fail(int rank, const std::string& why) noexcept;
  void disagree(const std::string& difference) noexcept;
  [[noreturn]] void raise() const;  // settle(), and an Error with the reason
  void settle() const noexcept;

  // A rank has left when its last Member is gone (of threads(), of splits, of exchanges), or when it says so.
  void join(int rank) noexcept { ++members_[static_cast<std::size_t>(rank)]; }
  void part(int rank) noexcept {
    if (--members_[static_cast<std::size_t>(rank)] == 0) leave(rank);
  }
  void leave(int rank) noexcept;
  bool someone_left() const noexcept { return someone_left_.load(std::memory_order_acquire); }
  bool left(int rank) const noexcept {
    return left_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }
  int ranks() const noexcept { return static_cast<int>(left_.size()); }

 private:
  friend class Copying;
  std::atomic<bool> failed_ = false;
  std::vector<std::atomic<int>> copying_;  // Copyings held, by rank
  std::vector<std::atomic<int>> members_;
  std::vector<std::atomic<bool>> left_;
  std::atomic<bool> someone_left_ = false;
  mutable std::mutex lock_;
  std::string reason_;
  bool disagreed_ = false;
};

class Copying {
 public:
  Copying(Fate& fate, int rank) : held_(fate.copying_[static_cast<std::size_t>(rank)]) {
    held_.fetch_add(1, std::memory_order_seq_cst);
    if (!fate.failed()) return;
    held_.fetch_sub(1, std::memory_order_release);
    fate.raise();
  }
  ~Copying() { held_.fetch_sub(1, std::memory_order_release); }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

 private:
  std::atomic<int>& held_;
};

/// What a rank brings to a meeting: small data itself, or where it is.
struct alignas(64) Slot {
  static constexpr std::int64_t kInline = 512;  // bytes, 64 doubles: up to here one meeting is enough
  Call call;
  std::uint64_t before = 0, now = 0;      // of the rank's calls, see Calls
  const void* data = nullptr;             // in the memory of the rank that brings it
  const std::int64_t* offsets = nullptr;  // likewise
  alignas(64) std::array<std::byte, kInline> small;
};

/// A message that waits for its other side in the box of its receiver.
struct Post {
  int from = 0, to = 0, tag = 0;
  const std::byte* source = nullptr;  // of a send
  std::byte* target = nullptr;        // of a receive
  std::int64_t bytes = 0;
  std::vector<std::byte> kept;  // the bytes of a short send, which ends before they are received
  std::atomic<bool> done = false;
};

/// What the other ranks see of a rank.
struct alignas(64) Seat {
  std::atomic<std::int64_t> met = 0, summed = 0;  // meetings and started sums that this rank came to
  std::array<Slot, 2> slots;                      // of odd and even meetings
  std::array<std::vector<double>, 2> sums;        // of odd and even started sums
  mutable std::mutex calls_lock;                  // held by its owner to write, by others to read
  Calls calls;
  Bell bell;  // messages of this rank, either direction
  std::mutex box;
  /// Messages to this rank that lack the other side, in order.
  std::vector<std::shared_ptr<Post>> sends, receives;
};

/// The ranks of a Comm.
struct Group {
  Group(std::shared_ptr<Fate> fate_, std::vector<int> first_ranks_, double timeout_);
  int size() const { return static_cast<int>(first_ranks.size()); }
  Seat& seat(int rank) { return seats[static_cast<std::size_t>(rank)]; }

  std::shared_ptr<Fate> fate;
  std::vector<int> first_ranks;  // the numbers of these ranks in threads()
  double timeout;
  bool crowded;  // more ranks than CPUs: a rank that spins takes time from the ranks that it waits for
  std::vector<Seat> seats;
  /// Arrivals at meetings, and started sums, of all ranks together.
  alignas(64) std::atomic<std::int64_t> met = 0;
  alignas(64) std::atomic<std::int64_t> summed = 0;
  Bell met_bell, summed_bell;
};

/// How a rank waits before it sleeps: rounds, after each of which it yields its CPU, and looks in a round. Long spins find what
/// comes soon without the cost of waking up. With more ranks than CPUs they would keep others from their work.
struct Spin {
  int rounds, looks;
};
inline constexpr Spin kSpin{100, 50}, kCrowdedSpin{4, 1};

/// One rank of a group.
class Member {
 public:
  Member(std::shared_ptr<Group> g, int r)
      : group(std::move(g)), rank(r), first_rank(group->first_ranks[static_cast<std::size_t>(r)]) {
    fate().join(first_rank);
  }
  ~Member() { fate().part(first_rank); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int size() const { return group->size(); }
  Fate& fate() const { return *group->fate; }
  Seat& seat(int r) const { return group->seat(r); }
  /// Throws where the ranks cannot go on or the user wants to stop.
  void check() const;
  void require_rank(int r, const char* verb) const;
  /// Throws for a mistake that other ranks cannot see; they fail with the same text.
  [[noreturn]] void refuse(const std::string& mistake) const;

  /// Notes that a call begins, and returns its number among the calls of this rank.
  std::int64_t begin(Call call);
  /// Waits until ready(), in a call of that number; late(r): rank r is among those waited for.
  template <class Ready, class Late>
  void wait(Bell& bell, const Ready& ready, const Late& late, std::int64_t number, const char* verb) const {
    const auto [rounds, looks] = group->crowded ? kCrowdedSpin : kSpin;
    for (int i = 0; i < rounds; ++i) {
      for (int k = 0; k < looks; ++k)
        if (ready()) return;
      std::this_thread::yield();
    }
    wait_asleep(bell, std::cref(ready), std::cref(late), number, verb);
  }

  /// The slot of the coming meeting, filled in.
  Slot& bring(Call call, const void* data = nullptr, const std::int64_t* offsets = nullptr);
  /// What rank r brought to the last meeting; to be read before the next.
  const Slot& brought(int r) const { return seat(r).slots[static_cast<std::size_t>(meetings & 1)]; }
  /// Returns when all ranks have come and have brought the same call. Otherwise all throw; they can go on afterwards if their
  /// calls before were the same.
  void meet();
  /// Meets once more, after data have been copied.
  void meet_again();
  Copying copy() const { return Copying(fate(), first_rank); }

  std::shared_ptr<Group> group;
  int rank, first_rank;
  std::int64_t meetings = 0, sums = 0;

 private:
  void come(Verb verb);
  void wait_asleep(Bell& bell, const std::function<bool()>& ready, const std::function<bool(int)>& late,
                   std::int64_t number, const char* verb) const;
  /// What rank r calls in the place of this rank's call of that number; empty where it is the same, or not known.
  std::string other_call(int r, std::int64_t number) const;
  std::string disagreement_of(int a, int b) const;  // in the first call that differs
};

}  // namespace penstock::thread_comm
