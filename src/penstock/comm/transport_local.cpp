// A transport between threads of one process: the rank that calls get() or put() copies, and words are atomics in the owner's
// memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"

namespace penstock {
namespace {

// Numbers are added under locks, one block at a time: 32 KB take some 3 us, a lock 20 ns. The blocks of an arena share 64
// locks.
constexpr std::int64_t kBlock = 32 << 10;
constexpr std::size_t kLocks = 64;

struct LocalArena {
  explicit LocalArena(std::int64_t bytes) : memory(reuse<std::byte>(bytes)) {}
  std::mutex& lock(std::int64_t offset) { return locks[static_cast<std::size_t>(offset / kBlock) % kLocks]; }

  Array<std::byte> memory;
  std::array<std::mutex, kLocks> locks;
};
/// The arenas of all ranks. They stay as long as one of the ranks may ask for them.
using LocalArenas = std::vector<std::shared_ptr<LocalArena>>;

class LocalTransport final : public Transport {
 public:
  LocalTransport(std::shared_ptr<Comm> comm, LocalArenas arenas, std::int64_t bytes)
      : comm_(std::move(comm)), arenas_(std::move(arenas)), bytes_(bytes), rank_(comm_->rank()) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(arenas_.size()); }
  std::string name() const override { return "local"; }
  std::byte* arena() override { return at({rank_, 0}); }
  std::int64_t arena_bytes() const override { return bytes_; }
  Comm& comm() override { return *comm_; }

  // Nothing else moves bytes between threads, so the copy is made at once.
  Ticket get(void* to, RemotePtr from, std::int64_t bytes) override {
    check(from, bytes, 1, "get");
    if (bytes > 0) std::memcpy(to, at(from), static_cast<std::size_t>(bytes));
    return ++given_;
  }
  Ticket put(const void* from, RemotePtr to, std::int64_t bytes) override {
    check(to, bytes, 1, "put");
    if (bytes > 0) std::memcpy(at(to), from, static_cast<std::size_t>(bytes));
    return ++given_;
  }
  bool gets_rows() const override { return true; }
  Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                  std::span<const std::int32_t> rows) override {
    require_rows(*this, from, row_bytes, rows, "get_rows");
    heed();
    for (std::size_t n = 0; n < rows.size();) {
      auto end = n + 1;  // rows side by side are one copy
      while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
      const auto first = rows[n] * row_bytes;
      std::memcpy(static_cast<std::byte*>(to) + first, at({from.rank, from.offset + first}),
                  (end - n) * static_cast<std::size_t>(row_bytes));
      n = end;
    }
    return ++given_;
  }
  Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) override {
    require_ranges(*this, from, ranges, "get_ranges");
    heed();
    for (const auto& r : ranges)
      if (r.bytes > 0)
        std::memcpy(static_cast<std::byte*>(to) + r.here, at({from.rank, from.offset + r.there}),
                    static_cast<std::size_t>(r.bytes));
    return ++given_;
  }
  void wait(Ticket ticket) override {
    require_ticket(ticket, given_);
    heed();
  }
  bool test(Ticket ticket) override {
    wait(ticket);
    return true;
  }

  std::int64_t fetch_add(RemotePtr counter, std::int64_t value) override {
    return word(counter, "fetch_add").fetch_add(value, std::memory_order_acq_rel);
  }
  std::int64_t compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) override {
    word(at, "compare_swap").compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
    return expected;  // the value before, whether it was exchanged or not
  }
  std::int64_t load(RemotePtr at) override { return word(at, "load").load(std::memory_order_acquire); }
  void store(RemotePtr at, std::int64_t value) override {
    word(at, "store").store(value, std::memory_order_release);
  }

  void accumulate(RemotePtr to, const double* from, std::int64_t count) override { add(to, from, count); }
  void accumulate(RemotePtr to, const float* from, std::int64_t count) override { add(to, from, count); }

  void clear(std::int64_t bytes) override {
    check({rank_, 0}, bytes, 1, "clear");
    std::memset(at({rank_, 0}), 0, static_cast<std::size_t>(bytes));
  }
  void barrier() override { comm_->barrier(); }

 private:
  LocalArena& arena(int rank) const { return *arenas_[static_cast<std::size_t>(rank)]; }
  std::byte* at(RemotePtr p) const { return arena(p.rank).memory.data + p.offset; }
  void heed() { comm_->wait({}); }  // throws where a rank has failed
  void check(RemotePtr at, std::int64_t bytes, std::int64_t alignment, const char* verb) {
    require_in_arena(*this, at, bytes, alignment, verb);
    heed();
  }
  std::atomic_ref<std::int64_t> word(RemotePtr word, const char* verb) {
    check(word, sizeof(std::int64_t), sizeof(std::int64_t), verb);
    return std::atomic_ref(*reinterpret_cast<std::int64_t*>(at(word)));
  }

  template <class T>
  void add(RemotePtr to, const T* from, std::int64_t count) {
    constexpr std::int64_t kEach = sizeof(T);
    const auto end = to.offset + require_numbers(*this, to, count, kEach, "accumulate");
    heed();
    // Numbers and blocks start at multiples of a number's size: none lies in two blocks.
    while (to.offset < end) {
      const auto n = (std::min(end, (to.offset / kBlock + 1) * kBlock) - to.offset) / kEach;
      const std::lock_guard guard(arena(to.rank).lock(to.offset));
      auto* sums = reinterpret_cast<T*>(at(to));
      for (std::int64_t i = 0; i < n; ++i) sums[i] += from[i];
      from += n, to.offset += n * kEach;
    }
  }

  std::shared_ptr<Comm> comm_;
  LocalArenas arenas_;
  std::int64_t bytes_;
  int rank_;
  Ticket given_ = 0;
};

}  // namespace

std::shared_ptr<Transport> make_local_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                                std::int64_t zeroed) {
  if (!comm->one_process())
    throw Error(Errc::not_accessible,
                "transport 'local' is for ranks that are threads of one process, and these speak "
                "by " +
                    comm->name() + ": choose mpi_rma or auto");
  auto mine = std::make_shared<LocalArena>(bytes);
  // The owner writes the zeros, so that the pages lie in the memory near its processor.
  if (zeroed > 0) std::memset(mine->memory.data, 0, static_cast<std::size_t>(zeroed));
  LocalArenas arenas;
  for (const auto& a : comm->share(std::move(mine)))
    arenas.push_back(std::static_pointer_cast<LocalArena>(a));
  const auto [least, most] =
      std::minmax_element(arenas.begin(), arenas.end(),
                          [](const auto& x, const auto& y) { return x->memory.size < y->memory.size; });
  require_equal_arenas((*least)->memory.size, (*most)->memory.size);
  return std::make_shared<LocalTransport>(std::move(comm), std::move(arenas), bytes);
}

}  // namespace penstock
