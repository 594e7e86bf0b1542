// Collectives over MPI. The library never waits inside MPI: a call is started, and then tested until it is done,
// so that a rank notices failures of others, Ctrl-C and the timeout while it waits. Every collective begins with a meeting
// (mpi_meet.cpp), which shows whether all ranks call the same, and carries up to kInline bytes of data. Larger data follow by
// MPI's own collective, or as messages where MPI's int counts are too small for them.
//
// A reduction of few numbers is taken along the hypercube of the meeting, the lower ranks' part first, so that all ranks have
// the same bits; a longer one is MPI's own.
#include "penstock/comm/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstring>
#include <numeric>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

const std::byte* at(const void* base, std::int64_t offset) {
  return static_cast<const std::byte*>(base) + offset;
}
std::byte* at(void* base, std::int64_t offset) { return static_cast<std::byte*>(base) + offset; }

std::atomic<std::int64_t> communicators{0};

template <class T, Reduce op>
T combine(T a, T b) {
  if constexpr (op == Reduce::min) return b < a ? b : a;
  else if constexpr (op == Reduce::max) return a < b ? b : a;
  else if constexpr (std::same_as<T, double>) return a + b;
  else return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T, Reduce op>
void combine_all(const std::byte* low, const std::byte* high, std::byte* out, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += static_cast<std::int64_t>(sizeof(T))) {
    T a, b;
    std::memcpy(&a, low + i, sizeof a);
    std::memcpy(&b, high + i, sizeof b);
    a = combine<T, op>(a, b);
    std::memcpy(out + i, &a, sizeof a);
  }
}
template <class T>
auto combination(Reduce op) {
  return op == Reduce::sum   ? combine_all<T, Reduce::sum>
         : op == Reduce::min ? combine_all<T, Reduce::min>
                             : combine_all<T, Reduce::max>;
}
void merge(const std::byte* low, const std::byte* high, std::byte* out, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) out[i] = low[i] | high[i];
}

Message to(int rank, const std::byte* data, std::int64_t bytes) {
  // A Message serves both directions, so its data are not const; a send only reads them.
  return {rank, const_cast<std::byte*>(data), bytes};
}

}  // namespace

std::unique_ptr<Comm> mpi_comm(const MpiLibrary& library, const void* address, MpiOptions options) {
  require(options.timeout > 0, "the timeout must be positive");
  require(options.largest >= 1 && options.largest <= 0x7fffffff,
          "the largest message is 1 to 2^31 - 1 bytes");
  const auto& mpi = library.verbs();
  const auto parent = address ? mpi.comm_at(address) : mpi.world();
  require(options.node_ranks >= 0, "ranks of a node: a number, or 0 for those that there are");
  mpi.set_largest(options.largest);
  PenstockMpiHandle comm = 0;
  auto session = std::make_shared<MpiSession>(library, parent, options.timeout);
  session->check(mpi.duplicate(parent, &comm), "MPI_Comm_dup");
  int rank = 0, size = 1;
  session->check(mpi.rank_and_size(comm, &rank, &size), "MPI_Comm_rank");
  std::vector<int> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  return std::make_unique<MpiComm>(std::move(session), comm, options, 0, std::move(members));
}

int failed_rank(const Comm& comm) {
  const auto* mpi = dynamic_cast<const MpiComm*>(&comm);
  return mpi ? mpi->session().failed_rank() : -1;
}

MpiComm::MpiComm(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, MpiOptions options,
                 std::uint64_t id, std::vector<int> members)
    : session_(std::move(session)),
      comm_(comm),
      options_(options),
      number_(++communicators),
      one_(mpi(), 1),
      sum_(mpi(), 1),
      slots_(mpi(), 0),
      together_(mpi(), 0),
      out_(kMeetBytes),
      in_(kMeetBytes) {
  session_->check(mpi().rank_and_size(comm_, &rank_, &size_), "MPI_Comm_rank");
  session_->check(mpi().duplicate(comm_, &inside_), "MPI_Comm_dup");
  watch_ = std::make_shared<MpiWatch>(session_, id, rank_, std::move(members));
}

MpiComm::~MpiComm() {
  if (!session_->library().running()) return;
  mpi().free_comm(comm_);
  mpi().free_comm(inside_);
  if (node_) mpi().free_comm(*node_);
}

std::string MpiComm::name() const { return "MPI (" + session_->library().name() + ")"; }

void MpiComm::check_rank(int rank, const char* verb) const {
  require(rank >= 0 && rank < size_, std::string(verb) + ": there is no rank " + std::to_string(rank) +
                                         " among " + std::to_string(size_));
}

void MpiComm::check_ready(int root, const char* verb) const {
  check_rank(root, verb);
  session_->ready();
}

void MpiComm::check_offsets(std::span<const std::int64_t> offsets, const char* verb) const {
  require(offsets.size() == static_cast<std::size_t>(size_) + 1,
          std::string(verb) + ": " + std::to_string(size_) + " ranks need " + std::to_string(size_ + 1) +
              " offsets, not " + std::to_string(offsets.size()));
  require(offsets[0] >= 0 && std::is_sorted(offsets.begin(), offsets.end()),
          std::string(verb) + ": offsets begin at 0 or more and do not fall");
}

bool MpiComm::fits(std::span<const std::int64_t> offsets) {
  if (offsets.back() > options_.largest) return false;
  counts_.resize(size_);
  places_.resize(size_);
  for (int r = 0; r < size_; ++r) {
    counts_[r] = static_cast<int>(offsets[r + 1] - offsets[r]);
    places_[r] = static_cast<int>(offsets[r]);
  }
  return true;
}

template <class F>
void MpiComm::run(F&& post, const char* verb) {
  session_->check(post(one_.data()), verb);
  session_->wait(one_.data(), 1, verb);
}

void MpiComm::meet_and_merge(const Call& call, const void* mine, std::int64_t at, std::int64_t bytes,
                             std::int64_t total, void* all, std::int64_t from, std::int64_t wanted) {
  std::array<std::byte, kInline> together;
  std::fill_n(together.begin(), total, std::byte{});
  if (bytes > 0) std::memcpy(together.data() + at, mine, static_cast<std::size_t>(bytes));
  meet(call, together.data(), total, merge);
  if (wanted > 0) std::memcpy(all, together.data() + from, static_cast<std::size_t>(wanted));
}

void MpiComm::leave() noexcept {
  try {
    if (size_ > 1 && !session_->failed() && session_->library().running()) meet({Verb::end});
  } catch (...) {  // the other ranks have been told, or have failed
  }
}

int MpiComm::own_tag() {
  session_->ready();
  const int tag = own_tag_of(watch_->calls.begin({Verb::own_tag}).number);
  steps_[tag] = watch_->calls.topic();
  return tag;
}

void MpiComm::step(int tag) {
  session_->ready();
  const auto known = steps_.find(tag);
  watch_->calls.begin({.verb = Verb::messages,
                       .more = static_cast<std::uint64_t>(tag),
                       .topic = known == steps_.end() ? nullptr : known->second});
}

void MpiComm::barrier() { meet({Verb::barrier}); }

void MpiComm::broadcast(void* data, std::int64_t bytes, int root) {
  check_ready(root, "broadcast");
  require(bytes >= 0, "broadcast: a negative number of bytes");
  const Call call{.verb = Verb::broadcast, .root = root, .bytes = bytes};
  if (bytes <= kInline) {
    const bool here = rank_ == root;
    return meet_and_merge(call, data, 0, here ? bytes : 0, bytes, data, 0, here ? 0 : bytes);
  }
  meet(call);
  run([&](void* q) { return mpi().broadcast(data, bytes, root, comm_, q); }, "broadcast");
}

void MpiComm::all_gather(const void* mine, std::int64_t bytes, void* all) {
  session_->ready();
  require(bytes >= 0, "all_gather: a negative number of bytes");
  const Call call{.verb = Verb::all_gather, .bytes = bytes};
  const auto total = bytes * size_;
  if (total <= kInline) return meet_and_merge(call, mine, bytes * rank_, bytes, total, all, 0, total);
  meet(call);
  if (bytes * size_ <= options_.largest) {
    run([&](void* q) { return mpi().all_gather(mine, static_cast<int>(bytes), all, comm_, q); },
        "all_gather");
    return;
  }
  std::vector<std::int64_t> offsets(size_ + 1);
  for (int r = 0; r <= size_; ++r) offsets[r] = bytes * r;
  gather_to_all(mine, all, offsets);
}

void MpiComm::all_gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets) {
  session_->ready();
  check_offsets(offsets, "all_gather_v");
  const auto call = with_offsets(Verb::all_gather_v, -1, offsets);
  const auto first = offsets.front(), total = call.bytes;
  if (total <= kInline)
    return meet_and_merge(call, mine, offsets[rank_] - first, offsets[rank_ + 1] - offsets[rank_], total,
                          at(all, first), 0, total);
  meet(call);
  gather_to_all(mine, all, offsets);
}

void MpiComm::gather_to_all(const void* mine, void* all, std::span<const std::int64_t> offsets) {
  if (fits(offsets)) {
    run(
        [&](void* q) {
          return mpi().all_gather_v(mine, counts_[rank_], all, counts_.data(), places_.data(), comm_, q);
        },
        "all_gather_v");
    return;
  }
  std::vector<Message> sends, receives;
  for (int r = 0; r < size_; ++r) {
    sends.push_back(to(r, at(mine, 0), offsets[rank_ + 1] - offsets[rank_]));
    receives.push_back({r, at(all, offsets[r]), offsets[r + 1] - offsets[r]});
  }
  deliver(sends, receives, "all_gather_v");
}

void MpiComm::gather_v(const void* mine, void* all, std::span<const std::int64_t> offsets, int root) {
  check_ready(root, "gather_v");
  check_offsets(offsets, "gather_v");
  const auto call = with_offsets(Verb::gather_v, root, offsets);
  const auto first = offsets.front(), total = call.bytes;
  if (total <= kInline)
    return meet_and_merge(call, mine, offsets[rank_] - first, offsets[rank_ + 1] - offsets[rank_], total,
                          at(all, first), 0, rank_ == root ? total : 0);
  meet(call);
  if (fits(offsets)) {
    run(
        [&](void* q) {
          return mpi().gather_v(mine, counts_[rank_], all, counts_.data(), places_.data(), root, comm_, q);
        },
        "gather_v");
    return;
  }
  std::vector<Message> receives;
  for (int r = 0; rank_ == root && r < size_; ++r)
    receives.push_back({r, at(all, offsets[r]), offsets[r + 1] - offsets[r]});
  deliver({to(root, at(mine, 0), offsets[rank_ + 1] - offsets[rank_])}, receives, "gather_v");
}

void MpiComm::scatter_v(const void* all, std::span<const std::int64_t> offsets, void* mine, int root) {
  check_ready(root, "scatter_v");
  check_offsets(offsets, "scatter_v");
  const auto call = with_offsets(Verb::scatter_v, root, offsets);
  const auto first = offsets.front(), total = call.bytes;
  if (total <= kInline)
    return meet_and_merge(call, at(all, first), 0, rank_ == root ? total : 0, total, mine,
                          offsets[rank_] - first, offsets[rank_ + 1] - offsets[rank_]);
  meet(call);
  if (fits(offsets)) {
    run(
        [&](void* q) {
          return mpi().scatter_v(all, counts_.data(), places_.data(), mine, counts_[rank_], root, comm_, q);
        },
        "scatter_v");
    return;
  }
  std::vector<Message> sends;
  for (int r = 0; rank_ == root && r < size_; ++r)
    sends.push_back(to(r, at(all, offsets[r]), offsets[r + 1] - offsets[r]));
  deliver(sends, {{root, at(mine, 0), offsets[rank_ + 1] - offsets[rank_]}}, "scatter_v");
}

// Messages, not MPI_Alltoallv: only ranks that have something for one another talk, and each side alone can tell
// whether its sizes fit an int, which all would have to agree on.
void MpiComm::all_to_all_v(const void* send, std::span<const std::int64_t> send_offsets, void* receive,
                           std::span<const std::int64_t> receive_offsets) {
  session_->ready();
  check_offsets(send_offsets, "all_to_all_v");
  check_offsets(receive_offsets, "all_to_all_v");
  watch_->calls.begin({Verb::all_to_all_v});
  std::vector<Message> sends, receives;
  // Each rank begins with the rank after it, so that not all send to rank 0 first.
  for (int i = 1; i <= size_; ++i) {
    const int r = (rank_ + i) % size_;
    sends.push_back(to(r, at(send, send_offsets[r]), send_offsets[r + 1] - send_offsets[r]));
    receives.push_back({r, at(receive, receive_offsets[r]), receive_offsets[r + 1] - receive_offsets[r]});
  }
  deliver(sends, receives, "all_to_all_v");
}

void MpiComm::deliver(const std::vector<Message>& sends, const std::vector<Message>& receives,
                      const char* verb) {
  MpiRequests requests(mpi(), static_cast<int>(sends.size() + receives.size()));
  const auto number = watch_->calls.number();
  const int tag = delivery_tag(number);
  std::vector<int> peers;
  int n = 0;
  const Message* own = nullptr;
  for (const auto& m : receives)
    if (m.rank == rank_) own = &m;
    else if (m.bytes > 0) {
      peers.push_back(m.rank);
      session_->check(mpi().receive(m.data, m.bytes, m.rank, tag, inside_, requests.at(n++)), verb);
    }
  const int posted = n;
  for (const auto& m : sends)
    if (m.rank == rank_) {
      require(own && own->bytes == m.bytes, std::string(verb) +
                                                ": this rank gives itself another number of bytes "
                                                "than it takes");
      if (m.bytes > 0) std::memmove(own->data, m.data, m.bytes);
    } else if (m.bytes > 0) {
      peers.push_back(m.rank);
      session_->check(mpi().send(m.data, m.bytes, m.rank, tag, inside_, requests.at(n++)), verb);
    }
  try {
    watch_->wait(requests.data(), n, number, peers, verb);
  } catch (...) {
    mpi().cancel_all(requests.data(), posted);
    throw;
  }
}

template <class T>
void MpiComm::reduce_all(std::span<T> values, Reduce op, int type) {
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  const auto call = reduction_call(op, bytes, std::same_as<T, double> ? 'd' : 'l');
  if (bytes <= kInline) return meet(call, values.data(), bytes, combination<T>(op));
  meet(call);
  const auto most = static_cast<std::size_t>(options_.largest);
  const int operation = op == Reduce::sum   ? PENSTOCK_MPI_SUM
                        : op == Reduce::min ? PENSTOCK_MPI_MIN
                                            : PENSTOCK_MPI_MAX;
  for (std::size_t first = 0; first < values.size(); first += most) {
    const int n = static_cast<int>(std::min(most, values.size() - first));
    run([&](void* q) { return mpi().all_reduce(values.data() + first, n, type, operation, comm_, q); },
        "all_reduce");
  }
}

void MpiComm::all_reduce(std::span<double> values, Reduce op) { reduce_all(values, op, PENSTOCK_MPI_DOUBLE); }
void MpiComm::all_reduce(std::span<std::int64_t> values, Reduce op) {
  reduce_all(values, op, PENSTOCK_MPI_INT64);
}

void MpiComm::reduce_sum(std::span<double> values, int root) {
  check_ready(root, "reduce_sum");
  const auto bytes = static_cast<std::int64_t>(values.size_bytes());
  const Call call{.verb = Verb::reduce_sum, .root = root, .bytes = bytes, .type = 'd'};
  if (bytes <= kInline) {
    std::array<double, kInline / sizeof(double)> together;
    std::ranges::copy(values, together.begin());
    meet(call, together.data(), bytes, combination<double>(Reduce::sum));
    if (rank_ == root) std::copy_n(together.begin(), values.size(), values.begin());
    return;
  }
  meet(call);
  const auto most = static_cast<std::size_t>(options_.largest);
  std::vector<double> sums(rank_ == root ? values.size() : 0);
  for (std::size_t first = 0; first < values.size(); first += most) {
    const int n = static_cast<int>(std::min(most, values.size() - first));
    double* result = rank_ == root ? sums.data() + first : nullptr;
    run(
        [&](void* q) {
          return mpi().reduce(values.data() + first, result, n, PENSTOCK_MPI_DOUBLE, PENSTOCK_MPI_SUM, root,
                              comm_, q);
        },
        "reduce_sum");
  }
  std::copy(sums.begin(), sums.end(), values.begin());
}

void MpiComm::start_sum(std::span<double> values) {
  session_->ready();
  require(!summing_, "start_sum: the sum before has not been finished");
  require(values.size() <= static_cast<std::size_t>(options_.largest),
          "start_sum: too many values for one sum");
  summed_in_ =
      watch_->calls
          .begin(
              {.verb = Verb::start_sum, .bytes = static_cast<std::int64_t>(values.size_bytes()), .type = 'd'})
          .number;
  session_->check(mpi().all_reduce(values.data(), static_cast<int>(values.size()), PENSTOCK_MPI_DOUBLE,
                                   PENSTOCK_MPI_SUM, comm_, sum_.data()),
                  "start_sum");
  summing_ = true;
}

void MpiComm::finish_sum() {
  require(summing_, "finish_sum: no sum has been started");
  session_->ready();
  summing_ = false;
  watch_->wait(sum_.data(), 1, summed_in_, watch_->around(), "finish_sum");
}

std::vector<std::shared_ptr<void>> MpiComm::share(std::shared_ptr<void> mine) {
  if (size_ > 1)
    throw Error(Errc::not_accessible,
                "share: the ranks of " + name() + " are processes: none sees another's memory");
  return {std::move(mine)};
}

std::unique_ptr<Comm> MpiComm::split(int color, int key) {
  require(color >= 0, "split: a color is 0 or more, not " + std::to_string(color));
  struct Wish {
    int color, key;
  };
  const Wish wish{color, key};
  std::vector<Wish> wishes(static_cast<std::size_t>(size_));
  // This call notices a rank that has failed, for which MPI_Comm_split would wait for ever.
  all_gather(&wish, sizeof wish, wishes.data());
  std::vector<int> members;
  for (int r = 0; r < size_; ++r)
    if (wishes[r].color == color) members.push_back(r);
  std::ranges::stable_sort(members, {}, [&](int r) { return wishes[r].key; });
  for (auto& r : members) r = watch_->member(r);
  const std::uint64_t about[] = {watch_->id(), static_cast<std::uint64_t>(watch_->calls.number()),
                                 static_cast<std::uint64_t>(color)};
  PenstockMpiHandle part = 0;
  session_->check(mpi().split(comm_, color, key, &part), "split");
  return std::make_unique<MpiComm>(session_, part, options_, hash_bytes(about, sizeof about),
                                   std::move(members));
}

}  // namespace penstock
