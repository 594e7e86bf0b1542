// Collectives of ranks that are threads. All but start_sum() have the same three steps:
//
//   bring   each rank shows what it calls and where its data are (`Member::bring`)
//   meet    all wait for all, and find out here whether they call the same
//   copy    each rank reads from, or writes to, the memory of the others; there are no buffers in between
//
// Where data are read in place all meet again, so that nobody changes its data while another rank copies them. Data of at
// most Slot::kInline bytes travel inside what is brought, and then one meeting is enough. Sums are taken by every rank in
// the order of ranks, so all have the same bits.
#include "penstock/comm/threads.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "penstock/comm/thread_comm.hpp"
#include "penstock/comm/thread_exchange.hpp"

namespace penstock {
namespace thread_comm {
namespace {

constexpr int kMostRanks = 4096;

void copy_bytes(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
std::byte* at(void* p, std::int64_t offset) { return static_cast<std::byte*>(p) + offset; }
const std::byte* at(const void* p, std::int64_t offset) { return static_cast<const std::byte*>(p) + offset; }

template <class T>
T combine(Reduce op, T a, T b) {
  if (op == Reduce::min) return b < a ? b : a;
  if (op == Reduce::max) return a < b ? b : a;
  if constexpr (std::same_as<T, double>) return a + b;
  else return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

void ThreadComm::check_offsets(std::span<const std::int64_t> offsets, const char* verb) const {
  if (offsets.size() == static_cast<std::size_t>(m_.size()) + 1 &&
      std::is_sorted(offsets.begin(), offsets.end()))
    return;
  throw Error(Errc::invalid_argument, std::string(verb) + ": offsets must be " +
                                          std::to_string(m_.size() + 1) +
                                          " ascending numbers of bytes, one more than there are ranks (" +
                                          std::to_string(offsets.size()) + " were given)");
}

void ThreadComm::barrier() {
  m_.check();
  m_.bring({Verb::barrier});
  m_.meet();
}

void ThreadComm::broadcast(void* data, std::int64_t bytes, int root) {
  m_.check();
  m_.require_rank(root, "broadcast");
  require(bytes >= 0, "broadcast: " + std::to_string(bytes) + " bytes");
  auto& slot = m_.bring({.verb = Verb::broadcast, .root = root, .bytes = bytes}, data);
  const bool small = bytes <= Slot::kInline;
  if (small && rank() == root) copy_bytes(slot.small.data(), data, bytes);
  m_.meet();
  if (small && rank() != root) copy_bytes(data, m_.brought(root).small.data(), bytes);
  if (small) return;
  if (rank() != root) {
    const auto held = m_.copy();
    copy_bytes(data, m_.brought(root).data, bytes);
  }
  m_.meet_again();
}

void ThreadComm::all_gather(const void* mine, std::int64_t bytes, void* all) {
  m_.check();
  require(bytes >= 0, "all_gather: " + std::to_string(bytes) + " bytes");
  auto& slot = m_.bring({.verb = Verb::all_gather, .bytes = bytes}, mine);
  const bool small = bytes <= Slot::kInline;
  if (small) copy_bytes(slot.small.data(), mine, bytes);
  m_.meet();
  if (small) {
    for (int r = 0; r < size(); ++r) copy_bytes(at(all, r * bytes), m_.brought(r).small.data(), bytes);
    return;
  }
  {
    const auto held = m_.copy();
    for (int i = 0; i < size(); ++i) {
      const int r = (rank() + i) % size();  // the ranks begin at different ones
      copy_bytes(at(all, r * bytes), m_.brought(r).data, bytes);
    }
  }
  m_.meet_again();
}

void ThreadComm::all_gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets) {
  m_.check();
  check_offsets(offsets, "all_gather_v");
  m_.bring(with_offsets(Verb::all_gather_v, -1, offsets), mine, offsets.data());
  m_.meet();
  int wrong = -1;
  {
    const auto held = m_.copy();
    for (int i = 0; i < size() && wrong < 0; ++i) {
      const int r = (rank() + i) % size();
      const auto& other = m_.brought(r);
      const auto bytes = offsets[static_cast<std::size_t>(r) + 1] - offsets[static_cast<std::size_t>(r)];
      if (other.offsets[r + 1] - other.offsets[r] != bytes) wrong = r;
      else copy_bytes(at(all, offsets[static_cast<std::size_t>(r)]), other.data, bytes);
    }
  }
  if (wrong >= 0)
    m_.refuse("all_gather_v: rank " + std::to_string(rank()) + " and rank " + std::to_string(wrong) +
              " have different offsets: they must be the same on all ranks");
  m_.meet_again();
}

void ThreadComm::gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets, int root) {
  m_.check();
  m_.require_rank(root, "gather_v");
  check_offsets(offsets, "gather_v");
  m_.bring(with_offsets(Verb::gather_v, root, offsets), all, offsets.data());
  m_.meet();
  const auto r = static_cast<std::size_t>(rank());
  bool same;
  {
    const auto held = m_.copy();  // each rank copies its own part into the memory of the root
    const auto& to = m_.brought(root);
    same = to.offsets[r] == offsets[r] && to.offsets[r + 1] == offsets[r + 1];
    if (same) copy_bytes(at(const_cast<void*>(to.data), offsets[r]), mine, offsets[r + 1] - offsets[r]);
  }
  if (!same)
    m_.refuse("gather_v: rank " + std::to_string(rank()) + " and the root, rank " + std::to_string(root) +
              ", have different offsets: they must be the same on all ranks");
  m_.meet_again();
}

void ThreadComm::scatter_v(const void* all, std::span<const std::int64_t> offsets, void* mine, int root) {
  m_.check();
  m_.require_rank(root, "scatter_v");
  check_offsets(offsets, "scatter_v");
  m_.bring(with_offsets(Verb::scatter_v, root, offsets), all, offsets.data());
  m_.meet();
  const auto r = static_cast<std::size_t>(rank());
  bool same;
  {
    const auto held = m_.copy();
    const auto& from = m_.brought(root);
    same = from.offsets[r] == offsets[r] && from.offsets[r + 1] == offsets[r + 1];
    if (same) copy_bytes(mine, at(from.data, offsets[r]), offsets[r + 1] - offsets[r]);
  }
  if (!same)
    m_.refuse("scatter_v: rank " + std::to_string(rank()) + " and the root, rank " + std::to_string(root) +
              ", have different offsets: they must be the same on all ranks");
  m_.meet_again();
}

void ThreadComm::all_to_all_v(const void* send, std::span<const std::int64_t> send_offsets, void* receive,
                              std::span<const std::int64_t> receive_offsets) {
  m_.check();
  check_offsets(send_offsets, "all_to_all_v");
  check_offsets(receive_offsets, "all_to_all_v");
  m_.bring({Verb::all_to_all_v}, send, send_offsets.data());
  m_.meet();
  std::string wrong;
  {
    const auto held = m_.copy();
    for (int i = 0; i < size() && wrong.empty(); ++i) {
      const int r = (rank() + i) % size();
      const auto& from = m_.brought(r);
      const auto to = receive_offsets[static_cast<std::size_t>(r)];
      const auto bytes = receive_offsets[static_cast<std::size_t>(r) + 1] - to;
      const auto sent = from.offsets[rank() + 1] - from.offsets[rank()];
      if (sent == bytes) copy_bytes(at(receive, to), at(from.data, from.offsets[rank()]), bytes);
      else
        wrong = "all_to_all_v: rank " + std::to_string(rank()) + " expects " + std::to_string(bytes) +
                " bytes from rank " + std::to_string(r) + ", which sends " + std::to_string(sent);
    }
  }
  if (!wrong.empty()) m_.refuse(wrong);
  m_.meet_again();
}

template <class T>
void ThreadComm::reduce(std::span<T> values, Reduce op) {
  m_.check();
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  auto& slot = m_.bring(reduction_call(op, bytes, std::same_as<T, double> ? 'd' : 'l'), values.data());
  if (bytes > Slot::kInline) return reduce_in_slices(values, op);
  copy_bytes(slot.small.data(), values.data(), bytes);
  m_.meet();
  copy_bytes(values.data(), m_.brought(0).small.data(), bytes);
  for (int r = 1; r < size(); ++r) {
    const auto* other = reinterpret_cast<const T*>(m_.brought(r).small.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = combine(op, values[i], other[i]);
  }
}

/// Rank r reduces the r-th slice of all ranks' values and writes the result to all of them. No other rank touches that slice.
template <class T>
void ThreadComm::reduce_in_slices(std::span<T> values, Reduce op) {
  constexpr std::int64_t kTile = 512;  // values at once: 4 KB, which stay in cache
  m_.meet();
  {
    const auto held = m_.copy();
    const auto count = static_cast<std::int64_t>(values.size());
    const auto slice = (count + size() - 1) / size();
    const auto last = std::min(count, (rank() + 1) * slice);
    std::array<T, kTile> sum;
    for (auto first = rank() * slice; first < last; first += kTile) {
      const auto n = std::min(kTile, last - first);
      const auto of = [&](int r) { return static_cast<T*>(const_cast<void*>(m_.brought(r).data)) + first; };
      std::copy_n(of(0), n, sum.data());
      for (int r = 1; r < size(); ++r) {
        const T* other = of(r);
        for (std::int64_t i = 0; i < n; ++i)
          sum[static_cast<std::size_t>(i)] = combine(op, sum[static_cast<std::size_t>(i)], other[i]);
      }
      for (int r = 0; r < size(); ++r) std::copy_n(sum.data(), n, of(r));
    }
  }
  m_.meet_again();
}

void ThreadComm::all_reduce(std::span<double> values, Reduce op) { reduce(values, op); }
void ThreadComm::all_reduce(std::span<std::int64_t> values, Reduce op) { reduce(values, op); }

void ThreadComm::reduce_sum(std::span<double> values, int root) {
  m_.check();
  m_.require_rank(root, "reduce_sum");
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  const bool small = bytes <= Slot::kInline;
  auto& slot = m_.bring({.verb = Verb::reduce_sum, .root = root, .bytes = bytes, .type = 'd'}, values.data());
  if (small) copy_bytes(slot.small.data(), values.data(), bytes);
  m_.meet();
  if (rank() == root) {
    const auto held = m_.copy();
    std::vector<const double*> of;
    for (int r = 0; r < size(); ++r) {
      const auto& other = m_.brought(r);
      of.push_back(small ? reinterpret_cast<const double*>(other.small.data())
                         : static_cast<const double*>(other.data));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      // values[i] is written last: the root's own values are among those that are summed.
      double sum = of[0][i];
      for (std::size_t r = 1; r < of.size(); ++r) sum += of[r][i];
      values[i] = sum;
    }
  }
  if (!small) m_.meet_again();
}

void ThreadComm::start_sum(std::span<double> values) {
  require(!sum_under_way_, "start_sum: a sum is under way: finish_sum() first");
  m_.check();
  summed_in_ = m_.begin(
      {.verb = Verb::start_sum, .bytes = static_cast<std::int64_t>(values.size_bytes()), .type = 'd'});
  const auto k = ++m_.sums;
  auto& seat = m_.seat(rank());
  seat.sums[static_cast<std::size_t>(k & 1)].assign(values.begin(), values.end());
  summing_ = values;
  sum_under_way_ = true;
  seat.summed.store(k, std::memory_order_release);
  if (m_.group->summed.fetch_add(1, std::memory_order_acq_rel) + 1 == k * size())
    m_.group->summed_bell.ring();
}

void ThreadComm::finish_sum() {
  require(sum_under_way_, "finish_sum: no sum is under way: start_sum() first");
  m_.check();
  const auto k = m_.sums;
  m_.wait(
      m_.group->summed_bell, [&] { return m_.group->summed.load(std::memory_order_acquire) >= k * size(); },
      [&](int r) { return m_.seat(r).summed.load(std::memory_order_acquire) < k; }, summed_in_, "finish_sum");
  sum_under_way_ = false;
  const auto part = [&](int r) -> const std::vector<double>& {
    return m_.seat(r).sums[static_cast<std::size_t>(k & 1)];
  };
  for (int r = 1; r < size(); ++r)
    if (part(r).size() != part(0).size())
      throw Error(Errc::invalid_argument, "start_sum: rank 0 sums " + std::to_string(part(0).size()) +
                                              " values, rank " + std::to_string(r) + " " +
                                              std::to_string(part(r).size()) +
                                              ": all must give equally many");
  std::copy(part(0).begin(), part(0).end(), summing_.begin());
  for (int r = 1; r < size(); ++r)
    for (std::size_t i = 0; i < summing_.size(); ++i) summing_[i] += part(r)[i];
}

std::unique_ptr<Exchange> ThreadComm::connect_all(Verb verb, const std::vector<Message>& sends,
                                                  const std::vector<Message>& receives) {
  std::vector<Source> sources;
  for (const auto& s : sends) sources.push_back({s.rank, s.data, nullptr, 0, s.bytes, s.from_base});
  return connect(me_, verb, 1, sources, receives);
}
std::unique_ptr<Exchange> ThreadComm::persistent(std::vector<Message> sends, std::vector<Message> receives) {
  return connect_all(Verb::persistent, sends, receives);
}
std::unique_ptr<Exchange> ThreadComm::neighborhood(std::vector<Message> sends,
                                                   std::vector<Message> receives) {
  return connect_all(Verb::neighborhood, sends, receives);
}
std::unique_ptr<Exchange> ThreadComm::put(std::vector<Message> sends, std::vector<Message> receives) {
  return connect_all(Verb::put, sends, receives);
}
std::unique_ptr<Exchange> ThreadComm::indexed(const std::byte* base, std::int64_t entry_bytes,
                                              std::vector<IndexedMessage> sends,
                                              std::vector<Message> receives) {
  require(entry_bytes > 0, "indexed: an entry of " + std::to_string(entry_bytes) + " bytes");
  std::vector<Source> sources;
  for (const auto& s : sends) {
    require(s.indices || s.count == 0, "indexed: " + std::to_string(s.count) + " entries without indices");
    const bool row = in_a_row({s.indices, static_cast<std::size_t>(s.count)});
    const auto first = row && s.count ? s.indices[0] * entry_bytes : 0;
    sources.push_back({s.rank, base ? base + first : nullptr, row ? nullptr : s.indices, s.count,
                       s.count * entry_bytes, first});
  }
  return connect(me_, Verb::indexed, entry_bytes, sources, receives);
}

std::vector<std::shared_ptr<void>> ThreadComm::share(std::shared_ptr<void> mine) {
  m_.check();
  m_.bring({Verb::share}, &mine);
  m_.meet();
  std::vector<std::shared_ptr<void>> all;
  {
    const auto held = m_.copy();
    for (int r = 0; r < size(); ++r)
      all.push_back(*static_cast<const std::shared_ptr<void>*>(m_.brought(r).data));
  }
  m_.meet_again();
  return all;
}

std::unique_ptr<Comm> ThreadComm::split(int color, int key) {
  m_.check();
  require(color >= 0, "split: color " + std::to_string(color) + " is negative");
  struct Wish {
    int color, key;
  };
  std::vector<Wish> wishes(static_cast<std::size_t>(size()));
  const Wish wish{color, key};
  all_gather(&wish, sizeof wish, wishes.data());
  std::vector<int> members;
  for (int r = 0; r < size(); ++r)
    if (wishes[static_cast<std::size_t>(r)].color == color) members.push_back(r);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return wishes[static_cast<std::size_t>(a)].key < wishes[static_cast<std::size_t>(b)].key;
  });
  std::shared_ptr<void> group;
  if (members.front() == rank()) {
    std::vector<int> first_ranks;
    for (const int r : members) first_ranks.push_back(m_.group->first_ranks[static_cast<std::size_t>(r)]);
    group = std::make_shared<Group>(m_.group->fate, std::move(first_ranks), m_.group->timeout);
  }
  const auto all = share(std::move(group));
  const auto mine = std::find(members.begin(), members.end(), rank()) - members.begin();
  return std::make_unique<ThreadComm>(
      std::static_pointer_cast<Group>(all[static_cast<std::size_t>(members.front())]),
      static_cast<int>(mine));
}

void ThreadComm::fail(const std::string& why) noexcept {
  m_.fate().fail(m_.first_rank, why);
  m_.fate().settle();
}

}  // namespace thread_comm

std::vector<std::unique_ptr<Comm>> threads(int ranks, ThreadsOptions options) {
  using namespace thread_comm;
  require(ranks >= 1 && ranks <= kMostRanks, "threads: " + std::to_string(ranks) + " ranks: between 1 and " +
                                                 std::to_string(kMostRanks) + " are possible");
  require(options.timeout >= 0,
          "threads: a timeout of " + std::to_string(options.timeout) + " s is negative");
  std::vector<int> numbers(static_cast<std::size_t>(ranks));
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto group = std::make_shared<Group>(std::make_shared<Fate>(ranks), std::move(numbers),
                                             options.timeout > 0 ? options.timeout : default_timeout());
  std::vector<std::unique_ptr<Comm>> out;
  for (int r = 0; r < ranks; ++r) out.push_back(std::make_unique<ThreadComm>(group, r));
  return out;
}

}  // namespace penstock
