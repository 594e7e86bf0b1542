#include "penstock/comm/thread_group.hpp"

#include <algorithm>
#include <utility>

#include "penstock/core/parallel.hpp"

namespace penstock::thread_comm {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(50);  // between looks for Ctrl-C and for ranks that failed

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

void Fate::raise() const {
  settle();
  const std::lock_guard guard(lock_);
  throw Error(Errc::comm, reason_.empty() ? "another rank failed" : reason_);
}

void Fate::settle() const noexcept {
  for (const auto& held : copying_)
    while (held.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

void Fate::leave(int rank) noexcept {
  left_[static_cast<std::size_t>(rank)].store(true, std::memory_order_release);
  someone_left_.store(true, std::memory_order_release);
}

const char* name(Verb verb) {
  switch (verb) {
    case Verb::barrier: return "barrier";
    case Verb::broadcast: return "broadcast";
    case Verb::all_gather: return "all_gather";
    case Verb::all_gather_v: return "all_gather_v";
    case Verb::gather_v: return "gather_v";
    case Verb::scatter_v: return "scatter_v";
    case Verb::all_to_all_v: return "all_to_all_v";
    case Verb::all_reduce_sum: return "all_reduce(sum)";
    case Verb::all_reduce_min: return "all_reduce(min)";
    case Verb::all_reduce_max: return "all_reduce(max)";
    case Verb::reduce_sum: return "reduce_sum";
    case Verb::persistent: return "persistent";
    case Verb::neighborhood: return "neighborhood";
    case Verb::indexed: return "indexed";
    case Verb::put: return "put";
    case Verb::share: return "share";
    case Verb::split: return "split";
    case Verb::second_half: return "the end of a collective call";
  }
  return "";
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
  } catch (...) {
    fate().fail(first_rank, "interrupted");
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

void Member::refuse(const std::string& what) const {
  fate().fail(first_rank, what);
  fate().settle();
  throw Error(Errc::invalid_argument, what);
}

void Member::wait_asleep(Bell& bell, const std::function<bool()>& ready, const std::function<bool(int)>& late,
                         const char* verb) const {
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
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began;
    if (why.empty() && waited.count() >= group->timeout) {
      std::vector<int> missing;
      for (int r = 0; r < size(); ++r)
        if (late(r)) missing.push_back(r);
      if (missing.empty()) continue;  // they came this moment
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

Slot& Member::bring(Verb verb, int root, std::int64_t bytes, const void* data, const std::int64_t* offsets) {
  auto& slot = seat(rank).slots[static_cast<std::size_t>((meetings + 1) & 1)];
  slot.verb = verb, slot.root = root, slot.bytes = bytes, slot.data = data, slot.offsets = offsets;
  return slot;
}

/// All have come when the counts of all add up to as many meetings each: nobody comes to the next before that. Two
/// slots a rank are enough: who fills in that of meeting m has left m - 1, to which all came after reading those of m - 2.
void Member::come(Verb verb) {
  const auto m = ++meetings;
  seat(rank).met.store(m, std::memory_order_release);
  if (group->met.fetch_add(1, std::memory_order_acq_rel) + 1 == m * size()) return group->met_bell.ring();
  wait(
      group->met_bell, [&] { return group->met.load(std::memory_order_acquire) >= m * size(); },
      [&](int r) { return seat(r).met.load(std::memory_order_acquire) < m; }, name(verb));
}

void Member::meet() {
  const auto verb = seat(rank).slots[static_cast<std::size_t>((meetings + 1) & 1)].verb;
  come(verb);
  const auto& wanted = brought(0);
  for (int r = 1; r < size(); ++r) {
    const auto& other = brought(r);
    if (other.verb == wanted.verb && other.root == wanted.root && other.bytes == wanted.bytes) continue;
    const auto tell = [](const Slot& s) {
      const bool reduces =
          s.verb == Verb::all_reduce_sum || s.verb == Verb::all_reduce_min || s.verb == Verb::all_reduce_max;
      const auto root =
          reduces ? std::string(s.root ? "float64" : "int64") : "root " + std::to_string(s.root);
      return std::string(name(s.verb)) + " (" + root + ", " + std::to_string(s.bytes) + " bytes)";
    };
    throw Error(Errc::invalid_argument,
                "ranks disagree: rank 0 calls " + tell(wanted) + ", rank " + std::to_string(r) + " calls " +
                    tell(other) + ": all ranks must make the same collective calls in the same order");
  }
}

void Member::meet_again() { come(Verb::second_half); }

}  // namespace penstock::thread_comm
