// A transport over MPI's passive-target windows: every rank's arena is open to all others from the beginning to the end.
//
// What MPI offers with a request (gets, fetch_add, load, store) is waited for as messages are: with a limit, and looking for
// failures. A put, a sum and a compare_swap end with MPI_Win_flush, which does neither: it takes as long as the network
// does, or, on networks that cannot write memory, until the target makes its next call to MPI. That is why claims are
// MPI_Rget_accumulate: 0.06 and 0.27 us among two ranks of one machine (Open MPI 5.0.11, MPICH 5.0.2; `penstock probe
// --mpi`), where MPI_Fetch_and_op with a flush of the caller's side, tried in its place, took 0.06 and 0.08.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kAlignment = 64;
/// Numbers in one MPI_Accumulate: counts are ints, and some MPIs copy all of the numbers.
constexpr std::int64_t kMostNumbers = 1 << 20;
/// Calls between two looks for failures of other ranks: a look is an MPI_Iprobe, which costs as much as a claim.
constexpr unsigned kCallsBetweenLooks = 64;
/// MPIs fetch each range by itself. Open MPI 5.0 over TCP sent 75 bytes for the request of a range, and 54 more than its own
/// for the answer.
constexpr std::int64_t kRangeBytes = 128;
/// Bytes in one block of a type of ranges, whose lengths are ints.
constexpr std::int64_t kMostOfARange = 1 << 30;

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::shared_ptr<Comm> comm, MpiComm& mine, std::int64_t bytes, std::int64_t zeroed)
      : comm_(std::move(comm)),
        session_(mine.session()),
        bytes_(bytes),
        rank_(mine.rank()),
        starts_(static_cast<std::size_t>(mine.size())),
        word_(mpi(), 1),
        slots_(mpi(), 0) {
    void* memory = nullptr;
    window_ = mine.passive_window(bytes + kAlignment, &memory);
    const auto odd = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) % kAlignment);
    const auto start = (kAlignment - odd) % kAlignment;
    memory_ = static_cast<std::byte*>(memory) + start;
    std::memset(memory_, 0, static_cast<std::size_t>(zeroed));
    check(mpi().window_sync(window_), "MPI_Win_sync");
    comm_->all_gather(&start, sizeof start, starts_.data());  // after this every rank's words are written
  }
  ~MpiTransport() override {
    auto& library = session_.library();
    if (library.running() && !session_.failed()) {
      int done = 0;
      mpi().window_flush_all(window_);
      if (slots_.size() > 0) mpi().test_all(slots_.data(), slots_.size(), &done);
    }
    library.windows().retire(window_);
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(starts_.size()); }
  std::string name() const override { return "mpi_rma"; }
  std::byte* arena() override { return memory_; }
  std::int64_t arena_bytes() const override { return bytes_; }
  Comm& comm() override { return *comm_; }

  Ticket get(void* to, RemotePtr from, std::int64_t bytes) override {
    begin(from, bytes, 1, "get");
    if (bytes == 0) return ++given_;
    const int s = slot();
    check(mpi().window_get(to, bytes, from.rank, offset(from), window_, slots_.at(s)), "MPI_Rget");
    under_way_.emplace(++given_, UnderWay{s, -1});
    return given_;
  }
  bool gets_rows() const override { return true; }
  Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                  std::span<const std::int32_t> rows) override {
    require_rows(*this, from, row_bytes, rows, "get_rows");
    heed();
    if (rows.empty()) return ++given_;
    const int s = slot();
    check(mpi().window_get_rows(to, row_bytes, rows.data(), static_cast<int>(rows.size()), from.rank,
                                offset(from), window_, slots_.at(s)),
          "MPI_Rget");
    under_way_.emplace(++given_, UnderWay{s, -1});
    return given_;
  }
  std::int64_t range_bytes() const override { return kRangeBytes; }
  Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) override {
    require_ranges(*this, from, ranges, "get_ranges");
    heed();
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> here, there;
    for (const auto& r : ranges)
      for (std::int64_t done = 0; done < r.bytes; done += kMostOfARange) {
        lengths.push_back(static_cast<std::int32_t>(std::min(kMostOfARange, r.bytes - done)));
        here.push_back(r.here + done), there.push_back(r.there + done);
      }
    if (lengths.empty()) return ++given_;
    const int s = slot();
    check(mpi().window_get_ranges(to, lengths.data(), here.data(), there.data(),
                                  static_cast<int>(lengths.size()), from.rank, offset(from), window_,
                                  slots_.at(s)),
          "MPI_Rget");
    under_way_.emplace(++given_, UnderWay{s, -1});
    return given_;
  }
  Ticket put(const void* from, RemotePtr to, std::int64_t bytes) override {
    begin(to, bytes, 1, "put");
    if (bytes == 0) return ++given_;
    const int s = slot();
    check(mpi().window_put(from, bytes, to.rank, offset(to), window_, slots_.at(s)), "MPI_Rput");
    under_way_.emplace(++given_, UnderWay{s, to.rank});
    return given_;
  }
  void wait(Ticket ticket) override {
    require_ticket(ticket, given_);
    heed();
    const auto found = under_way_.find(ticket);
    if (found == under_way_.end()) return;
    session_.wait(slots_.at(found->second.slot), 1, found->second.put_to < 0 ? "get" : "put");
    end(found);
  }
  bool test(Ticket ticket) override {
    require_ticket(ticket, given_);
    heed();
    const auto found = under_way_.find(ticket);
    if (found == under_way_.end()) return true;
    int done = 0;
    check(mpi().test_all(slots_.at(found->second.slot), 1, &done), "MPI_Test");
    if (done) end(found);
    return done != 0;
  }

  std::int64_t fetch_add(RemotePtr counter, std::int64_t value) override {
    return fetch(counter, value, PENSTOCK_MPI_SUM, "fetch_add");
  }
  std::int64_t compare_swap(RemotePtr at, std::int64_t expected, std::int64_t desired) override {
    begin(at, kWord, kWord, "compare_swap");
    check(mpi().window_sync(window_), "MPI_Win_sync");
    check(mpi().compare_swap(&desired, &expected, &before_, at.rank, offset(at), window_),
          "MPI_Compare_and_swap");
    flush(at.rank);
    return before_;
  }
  std::int64_t load(RemotePtr at) override { return fetch(at, 0, PENSTOCK_MPI_NO_OP, "load"); }
  void store(RemotePtr at, std::int64_t value) override { fetch(at, value, PENSTOCK_MPI_REPLACE, "store"); }

  void accumulate(RemotePtr to, const double* from, std::int64_t count) override {
    add(to, from, count, PENSTOCK_MPI_DOUBLE);
  }
  void accumulate(RemotePtr to, const float* from, std::int64_t count) override {
    add(to, from, count, PENSTOCK_MPI_FLOAT);
  }

  void clear(std::int64_t bytes) override {
    require_in_arena(*this, {rank_, 0}, bytes, 1, "clear");
    check(mpi().window_sync(window_), "MPI_Win_sync");  // so that no earlier write arrives later
    std::memset(memory_, 0, static_cast<std::size_t>(bytes));
    check(mpi().window_sync(window_), "MPI_Win_sync");
  }
  void barrier() override {
    session_.look();
    while (!under_way_.empty()) {
      const auto one = under_way_.begin();
      session_.wait(slots_.at(one->second.slot), 1, "barrier");
      release(one);
    }
    check(mpi().window_flush_all(window_), "MPI_Win_flush_all");
    check(mpi().window_sync(window_), "MPI_Win_sync");
    comm_->barrier();
    check(mpi().window_sync(window_), "MPI_Win_sync");
  }

 private:
  struct UnderWay {
    int slot;
    int put_to;  // the rank of a put; -1: a get
  };
  using Tickets = std::unordered_map<Ticket, UnderWay>;
  static constexpr std::int64_t kWord = sizeof(std::int64_t);

  const PenstockMpi& mpi() const { return session_.verbs(); }
  void check(int code, const char* verb) const { session_.check(code, verb); }
  std::int64_t offset(RemotePtr p) const { return starts_[static_cast<std::size_t>(p.rank)] + p.offset; }
  void heed() {
    if (++calls_ % kCallsBetweenLooks == 0) session_.look();
    else session_.ready();
  }
  void begin(RemotePtr at, std::int64_t bytes, std::int64_t alignment, const char* verb) {
    require_in_arena(*this, at, bytes, alignment, verb);
    heed();
  }
  /// Waits until what was put to that rank or added there is in its memory; this rank then sees what others did here.
  void flush(int rank) {
    check(mpi().window_flush(rank, window_), "MPI_Win_flush");
    check(mpi().window_sync(window_), "MPI_Win_sync");
  }

  std::int64_t fetch(RemotePtr at, std::int64_t value, int op, const char* verb) {
    begin(at, kWord, kWord, verb);
    check(mpi().window_sync(window_), "MPI_Win_sync");  // this rank's own writes come first
    value_ = value;
    check(mpi().fetch_op(&value_, &before_, op, at.rank, offset(at), window_, word_.data()),
          "MPI_Rget_accumulate");
    session_.wait(word_.data(), 1, verb);
    check(mpi().window_sync(window_), "MPI_Win_sync");
    return before_;
  }

  template <class T>
  void add(RemotePtr to, const T* from, std::int64_t count, int type) {
    constexpr std::int64_t kEach = sizeof(T);
    require_numbers(*this, to, count, kEach, "accumulate");
    heed();
    for (std::int64_t i = 0; i < count; i += kMostNumbers) {
      const int n = static_cast<int>(std::min(kMostNumbers, count - i));
      check(mpi().accumulate(from + i, n, type, to.rank, offset(to) + i * kEach, window_), "MPI_Accumulate");
    }
    flush(to.rank);
  }

  int slot() {
    if (free_.empty()) {
      const int had = slots_.size(), have = std::max(16, 2 * had);
      slots_.grow(have);
      for (int i = have - 1; i >= had; --i) free_.push_back(i);
    }
    const int found = free_.back();
    free_.pop_back();
    return found;
  }
  void release(Tickets::iterator one) {
    free_.push_back(one->second.slot);
    under_way_.erase(one);
  }
  void end(Tickets::iterator one) {
    const int put_to = one->second.put_to;
    release(one);
    if (put_to >= 0) flush(put_to);
  }

  std::shared_ptr<Comm> comm_;
  MpiSession& session_;
  std::int64_t bytes_;
  int rank_;
  std::vector<std::int64_t> starts_;  // where each rank's arena begins in its part of the window
  PenstockMpiHandle window_ = 0;
  std::byte* memory_ = nullptr;
  MpiRequests word_, slots_;
  std::int64_t value_ = 0, before_ = 0;  // of the operation on a word that is under way
  std::vector<int> free_;                // slots
  Tickets under_way_;
  Ticket given_ = 0;
  unsigned calls_ = 0;
};

}  // namespace

std::shared_ptr<Transport> make_mpi_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                              std::int64_t zeroed) {
  auto* mine = dynamic_cast<MpiComm*>(comm.get());
  if (!mine)
    throw Error(Errc::not_accessible, "transport 'mpi_rma' is for ranks of MPI, and these are " +
                                          comm->name() + ": choose local or auto");
  return std::make_shared<MpiTransport>(std::move(comm), *mine, bytes, zeroed);
}

}  // namespace penstock
