// How ranks that are threads wait for one another. A rank that waits spins for a short time, then sleeps on a bell, and looks
// every 50 ms for Ctrl-C, for ranks that have failed or left, and for the timeout.
#include "penstock/comm/thread_group.hpp"

#include <algorithm>
#include <utility>

#include "penstock/comm/reason.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::thread_comm {
namespace {

/// Time between two looks for Ctrl-C and for ranks that have failed.
constexpr auto kSlice = std::chrono::milliseconds(50);

/// Calls that are compared to find the first in which two ranks differ.
constexpr std::int64_t kComparedCalls = 64;

std::string list(const std::vector<int>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) out += (i ? ", " : "") + std::to_string(ranks[i]);
  return out;
}

/// "3": seconds as a person writes them.
std::string seconds(double s) {
  std::string out = std::to_string(s);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

}  // namespace

void Bell::ring() noexcept {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard guard(lock_); }
  wake_.notify_all();
}

void Bell::sleep(std::uint32_t seen, std::chrono::milliseconds most) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  {
    std::unique_lock guard(lock_);
    wake_.wait_for(guard, most, [&] { return count() != seen; });
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void Fate::fail(int rank, const std::string& why) noexcept {
  const std::lock_guard guard(lock_);
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    reason_ = "rank " + std::to_string(rank) + " failed: " + why;
  } catch (...) {
    reason_.clear();  // no memory for it
  }
  failed_.store(true, std::memory_order_seq_cst);
}

void Fate::disagree(const std::string& difference) noexcept {
  const std::lock_guard guard(lock_);
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    reason_ = difference;
  } catch (...) {
    reason_.clear();
  }
  disagreed_ = true;
  failed_.store(true, std::memory_order_seq_cst);
}

void Fate::raise() const {
  settle();
  const std::lock_guard guard(lock_);
  throw Error(disagreed_ ? Errc::invalid_argument : Errc::comm,
              reason_.empty() ? "another rank failed" : reason_);
}

void Fate::settle() const noexcept {
  for (const auto& held : copying_)
    while (held.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

void Fate::leave(int rank) noexcept {
  left_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
  someone_left_.store(true, std::memory_order_release);
}

Group::Group(std::shared_ptr<Fate> fate_, std::vector<int> first_ranks_, double timeout_)
    : fate(std::move(fate_)),
      first_ranks(std::move(first_ranks_)),
      timeout(timeout_),
      crowded(fate->ranks() > static_cast<int>(std::thread::hardware_concurrency())),
      seats(first_ranks.size()) {}

void Member::check() const {
  if (fate().failed()) fate().raise();
  try {
    poll_interrupt();
  } catch (const std::exception& error) {
    fate().fail(first_rank, reason_of(error));
    fate().settle();
    throw;
  }
}

void Member::require_rank(int r, const char* verb) const {
  if (r < 0 || r >= size())
    throw Error(Errc::invalid_argument, std::string(verb) + ": there is no rank " + std::to_string(r) +
                                            " among " + std::to_string(size()) + " (0 to " +
                                            std::to_string(size() - 1) + ")");
}

void Member::refuse(const std::string& mistake) const {
  fate().fail(first_rank, mistake);
  fate().settle();
  throw Error(Errc::invalid_argument, mistake);
}

void Member::wait_asleep(Bell& bell, const std::function<bool()>& ready, const std::function<bool(int)>& late,
                         std::int64_t number, const char* verb) const {
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    const auto seen = bell.count();
    const bool someone_left = fate().someone_left();
    if (ready()) return;
    if (fate().failed()) fate().raise();
    std::vector<int> gone;
    if (someone_left) {
      for (int r = 0; r < size(); ++r)
        if (fate().left(group->first_ranks[static_cast<std::size_t>(r)]) && late(r)) gone.push_back(r);
    }
    std::string why;
    if (!gone.empty())
      why = "waits in " + std::string(verb) + " for " + list(gone) + ", which " +
            (gone.size() == 1 ? "has" : "have") +
            " ended: all ranks must make the same collective calls and " + "receive what is sent";
    for (int r = 0; r < size(); ++r) {
      if (r == rank || !late(r)) continue;
      const auto difference = other_call(r, number);
      if (difference.empty()) continue;
      if (ready()) return;
      fate().disagree(difference);
      fate().raise();
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
    if (why.empty() && waited.count() >= group->timeout) {
      std::vector<int> missing;
      for (int r = 0; r < size(); ++r)
        if (late(r)) missing.push_back(r);
      if (missing.empty()) continue;  // the last of them has just come
      why = "waited " + seconds(group->timeout) + " s in " + verb + " for " + list(missing) +
            ": do all ranks make the same calls? For slower ranks, raise PENSTOCK_COMM_TIMEOUT";
    }
    if (!why.empty()) {
      fate().fail(first_rank, why);
      fate().raise();
    }
    const auto left = std::chrono::duration<double>(group->timeout) - waited;
    bell.sleep(seen, std::min(kSlice, std::chrono::duration_cast<std::chrono::milliseconds>(left) +
                                          std::chrono::milliseconds(1)));
    check();
  }
}

std::int64_t Member::begin(Call call) {
  auto& mine = seat(rank);
  const std::lock_guard guard(mine.calls_lock);
  return mine.calls.begin(std::move(call)).number;
}

Slot& Member::bring(Call call, const void* data, const std::int64_t* offsets) {
  auto& mine = seat(rank);
  auto& slot = mine.slots[static_cast<std::size_t>((meetings + 1) & 1)];
  slot.data = data, slot.offsets = offsets;
  const std::lock_guard guard(mine.calls_lock);
  const auto& e = mine.calls.begin(std::move(call));
  slot.call = e.call, slot.before = e.before, slot.now = e.now;
  return slot;
}

std::string Member::other_call(int r, std::int64_t number) const {
  std::uint64_t mine = 0;
  {
    const auto& here = seat(rank);
    const std::lock_guard guard(here.calls_lock);
    const auto* e = here.calls.find(number);
    if (!e) return {};
    mine = e->now;
  }
  {
    const auto& there = seat(r);
    const std::lock_guard guard(there.calls_lock);
    const auto* e = there.calls.find(number);
    if (!e || e->now == mine) return {};
  }
  return disagreement_of(rank, r);
}

std::string Member::disagreement_of(int first, int second) const {
  const auto &a = seat(first), &b = seat(second);
  const std::scoped_lock guard(a.calls_lock, b.calls_lock);
  const auto last = std::min(a.calls.number(), b.calls.number());
  const Calls::Entry *mine = nullptr, *theirs = nullptr;
  // From the last call of both back to the first one that differs.
  for (auto n = last; n > 0 && n > last - kComparedCalls; --n) {
    const auto *x = a.calls.find(n), *y = b.calls.find(n);
    if (!x && !y) continue;  // both ranks have refused this call
    if (!x || !y || (mine && x->now == y->now)) break;
    mine = x, theirs = y;
  }
  return mine ? disagreement(first, mine->call.text(), second, theirs->call.text()) : std::string();
}

/// `met` counts the arrivals of all ranks at all meetings. All have come to meeting m when it is m times the number of ranks,
/// because no rank comes to meeting m + 1 before that. Two slots a rank are enough: a rank that fills in its slot for
/// meeting m has left meeting m - 1, to which all ranks came only after they had read the slots of meeting m - 2.
void Member::come(Verb verb) {
  const auto m = ++meetings;
  seat(rank).met.store(m, std::memory_order_release);
  if (group->met.fetch_add(1, std::memory_order_acq_rel) + 1 == m * size()) return group->met_bell.ring();
  wait(
      group->met_bell, [&] { return group->met.load(std::memory_order_acquire) >= m * size(); },
      [&](int r) { return seat(r).met.load(std::memory_order_acquire) < m; }, seat(rank).calls.number(),
      name(verb));
}

void Member::meet() {
  auto& mine = seat(rank);
  come(mine.slots[static_cast<std::size_t>((meetings + 1) & 1)].call.verb);
  const auto& wanted = brought(0);
  int other = 0;
  bool could_go_on = true;
  for (int r = 1; r < size(); ++r) {
    if (brought(r).now != wanted.now && other == 0) other = r;
    could_go_on = could_go_on && brought(r).before == wanted.before;
  }
  if (other == 0) return;
  if (could_go_on) {
    const std::lock_guard guard(mine.calls_lock);
    mine.calls.refuse();
    throw Error(Errc::invalid_argument,
                disagreement(0, wanted.call.text(), other, brought(other).call.text()));
  }
  auto difference = disagreement_of(0, other);
  if (difference.empty()) difference = disagreement(0, wanted.call.text(), other, brought(other).call.text());
  fate().disagree(difference);
  fate().raise();
}

void Member::meet_again() { come(Verb::second_half); }

}  // namespace penstock::thread_comm
