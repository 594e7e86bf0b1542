// One-sided exchanges. A sender writes into the box that its receiver has for it, and behind that the exchange's number.
// The receiver watches its own memory for the number and copies out what came with it. Ranks of one node have their
// boxes in memory that they share: a message is a copy and a store there. Elsewhere it is MPI_Put, a flush, and
// MPI_Rget_accumulate of the number, in windows that are open to all from the beginning to the end.
//
// A box has room for two exchanges, in turn, so that a sender need not wait for a receiver that is still with the exchange
// before; the message before that must have been copied out. Where the receiver sends back in these exchanges, the
// sender knows: the receiver wrote its last message when it had finished with that one. Else the receiver says so.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "penstock/comm/mpi_comm.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLine = 64;  // of a cache
constexpr int kNoMessagesTag = 2;   // on inside_: nobody sends with it

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
std::atomic_ref<std::int64_t> number_at(std::byte* at) {
  return std::atomic_ref(*reinterpret_cast<std::int64_t*>(at));
}

/// A message. The receiver's box: a line with the number of the last exchange that came, and two places. The sender has a
/// line with the number of the last that has been copied out, which is written only where `told`.
struct Link {
  Message message;
  bool near = false;                    // shares memory with this rank
  bool told = false;                    // that it was copied out: nothing is sent back that says so
  std::int64_t here = 0;                // the line or box of this rank: where in its part of the window,
  std::byte* mine = nullptr;            // and where in this process
  std::int64_t there = 0;               // those of the other rank
  std::byte* theirs = nullptr;          // of a near one
  std::int64_t copied = 0;              // the last exchange that was copied out
  void* request = nullptr;              // of a far one: of the number that goes there,
  std::int64_t number = 0, before = 0;  // it, and what it takes the place of

  std::int64_t room() const { return whole_lines(message.bytes); }
  std::int64_t place(std::int64_t exchange) const { return kLine + exchange % 2 * room(); }
};

/// Of a line or a box in its window, and how long the message is.
struct Address {
  std::int64_t at, bytes;
};

class MpiPut final : public Exchange {
 public:
  MpiPut(std::shared_ptr<MpiSession> session, PenstockMpiHandle comm, std::vector<Link> sends,
         std::vector<Link> receives, PenstockMpiHandle near, PenstockMpiHandle far)
      : session_(std::move(session)),
        comm_(comm),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        near_(near),
        far_(far),
        numbers_(mpi(), number_requests(sends_, true)),
        receipts_(mpi(), number_requests(receives_, false)) {
    give_requests(sends_, numbers_, true);
    give_requests(receives_, receipts_, false);
  }
  ~MpiPut() override {
    auto& library = session_->library();
    if (library.running() && !end()) {  // MPI may write into these yet
      new std::vector<Link>(std::move(sends_));
      new std::vector<Link>(std::move(receives_));
    }
    library.windows().retire(near_);
    library.windows().retire(far_);
  }
  MpiPut(const MpiPut&) = delete;
  MpiPut& operator=(const MpiPut&) = delete;

  void start() override {
    session_->ready();
    ++exchange_;
    under_way_ = true;
    for (auto& s : sends_) {
      if (s.told) await_room(s);
      const auto* from = s.message.source(base_);
      if (s.near) {
        std::memcpy(s.theirs + s.place(exchange_), from, static_cast<std::size_t>(s.message.bytes));
        write_near(s);
      } else {
        session_->check(mpi().put(from, s.message.bytes, s.message.rank, s.there + s.place(exchange_), far_),
                        "MPI_Put");
      }
    }
  }
  void finish() override {
    if (numbers_.size() > 0) {
      for (const auto& s : sends_)
        if (!s.near) session_->check(mpi().window_flush(s.message.rank, far_), "MPI_Win_flush");
      for (auto& s : sends_)
        if (!s.near) write_far(s);
    }
    if (receipts_.size() > 0)  // of the exchange before
      session_->wait(receipts_.data(), receipts_.size(), kWhat);
    missing_ = receives_.size();
    session_->until([&](int* done) { return look(done); }, kWhat);
    under_way_ = false;
  }
  void rebase(const std::byte* base) override { base_ = base; }

 private:
  static constexpr const char* kWhat = "an exchange by MPI_Put";
  const PenstockMpi& mpi() const { return session_->verbs(); }
  /// Whether nothing is under way any more.
  bool end() noexcept {
    try {
      if (!under_way_ && receipts_.size() > 0) session_->wait(receipts_.data(), receipts_.size(), kWhat);
    } catch (const Error&) {
      return false;
    }
    return !under_way_ || numbers_.size() + receipts_.size() == 0;
  }
  static int number_requests(const std::vector<Link>& links, bool all) {
    int n = 0;
    for (const auto& l : links) n += !l.near && (all || l.told);
    return n;
  }
  static void give_requests(std::vector<Link>& links, MpiRequests& requests, bool all) {
    int n = 0;
    for (auto& l : links)
      if (!l.near && (all || l.told)) l.request = requests.at(n++);
  }

  /// What others have put into this rank's memory.
  std::int64_t number_here(const Link& l) const { return number_at(l.mine).load(std::memory_order_acquire); }
  int sync() { return far_ ? mpi().window_sync(far_) : 0; }
  /// MPI works at what is under way only when it is called.
  int progress() {
    int found = 0, from = 0;
    return mpi().probe_any(kNoMessagesTag, comm_, &found, &from);
  }
  void await_room(const Link& s) {
    if (number_here(s) + 2 >= exchange_) return;
    session_->until(
        [&](int* done) {
          const int code = sync();
          *done = number_here(s) + 2 >= exchange_;
          return code != 0 || *done ? code : progress();
        },
        kWhat);
  }
  void write_near(const Link& l) {
    session_->check(mpi().window_sync(near_), "MPI_Win_sync");
    number_at(l.theirs).store(exchange_, std::memory_order_release);
  }
  void write_far(Link& l) {
    l.number = exchange_;
    session_->check(
        mpi().fetch_op(&l.number, &l.before, PENSTOCK_MPI_REPLACE, l.message.rank, l.there, far_, l.request),
        "MPI_Rget_accumulate");
  }
  /// Copies out what has come since the last look. Done when all has come and all numbers have gone.
  int look(int* done) {
    if (const int code = sync(); code != 0) return code;
    for (auto& r : receives_) {
      if (r.copied == exchange_ || number_here(r) < exchange_) continue;
      take(r);
    }
    int gone = 1;
    if (numbers_.size() > 0)
      if (const int code = mpi().test_all(numbers_.data(), numbers_.size(), &gone); code != 0) return code;
    *done = gone && missing_ == 0;
    return *done ? 0 : progress();
  }
  void take(Link& r) {
    session_->check(mpi().window_sync(r.near ? near_ : far_), "MPI_Win_sync");
    std::memcpy(r.message.data, r.mine + r.place(exchange_), static_cast<std::size_t>(r.message.bytes));
    r.copied = exchange_;
    --missing_;
    if (!r.told) return;
    if (r.near) write_near(r);
    else write_far(r);
  }

  std::shared_ptr<MpiSession> session_;
  PenstockMpiHandle comm_;
  std::vector<Link> sends_, receives_;
  PenstockMpiHandle near_, far_;
  MpiRequests numbers_, receipts_;
  const std::byte* base_ = nullptr;
  std::int64_t exchange_ = 0;
  std::size_t missing_ = 0;
  bool under_way_ = false;
};

}  // namespace

std::unique_ptr<Exchange> MpiComm::put(std::vector<Message> sends, std::vector<Message> receives) {
  sends = tidy_messages(std::move(sends), size_, "put");
  receives = tidy_messages(std::move(receives), size_, "put");
  meet_node();
  // Parts of the windows over ranks of this node (1) and over all (0): lines of sends and boxes of receives.
  std::int64_t bytes[2] = {0, 0};
  const auto link = [&](const std::vector<Message>& messages, const std::vector<Message>& back, bool boxes) {
    std::vector<Link> made;
    for (const auto& m : messages) {
      Link l{.message = m, .near = shares_memory_with(m.rank)};
      l.told = std::ranges::find(back, m.rank, &Message::rank) == back.end();
      l.here = bytes[l.near];
      bytes[l.near] += kLine + (boxes ? 2 * l.room() : 0);
      made.push_back(l);
    }
    return made;
  };
  auto out = link(sends, receives, false), in = link(receives, sends, true);
  std::int64_t agreed[3] = {-bytes[0], -bytes[1], first_window_used()};
  all_reduce(agreed, Reduce::min);
  free_windows_before(agreed[2]);

  PenstockMpiHandle windows[2] = {0, 0};
  for (const int near : {0, 1}) {
    if (agreed[near] == 0) continue;  // nobody's
    void* memory = nullptr;
    windows[near] = open_window(bytes[near] + kLine, near == 1, &memory);
    auto* base = static_cast<std::byte*>(memory);
    const auto odd = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) % kLine);
    const auto first = (kLine - odd) % kLine;
    std::memset(base, 0,
                static_cast<std::size_t>(bytes[near] + kLine));  // pages come into being, near this rank
    session_->check(mpi().window_sync(windows[near]), "MPI_Win_sync");
    for (auto* links : {&out, &in})
      for (auto& l : *links)
        if (l.near == (near == 1)) l.here += first, l.mine = base + l.here;
  }
  const auto tell = [&](const std::vector<Link>& mine, std::vector<Link>& theirs) {
    std::vector<Address> places(mine.size()), heard(theirs.size());
    std::vector<Message> told, asked;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      places[i] = {mine[i].here, mine[i].message.bytes};
      told.push_back({mine[i].message.rank, reinterpret_cast<std::byte*>(&places[i]), sizeof(Address)});
    }
    for (std::size_t i = 0; i < theirs.size(); ++i)
      asked.push_back({theirs[i].message.rank, reinterpret_cast<std::byte*>(&heard[i]), sizeof(Address)});
    deliver(told, asked, "put");
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      auto& l = theirs[i];
      const auto [rank, data, n, from] = l.message;
      require(heard[i].bytes == n, [&] {
        return "put: " + std::to_string(n) + " bytes here are " + std::to_string(heard[i].bytes) +
               " on rank " + std::to_string(rank) + ", at the other end of the message";
      });
      l.there = heard[i].at;
      if (!l.near) continue;
      void* part = nullptr;
      session_->check(mpi().window_peer(in_node_[static_cast<std::size_t>(rank)], windows[1], &part),
                      "MPI_Win_shared_query");
      l.theirs = static_cast<std::byte*>(part) + l.there;
    }
  };
  tell(in, out);
  tell(out, in);
  return std::make_unique<MpiPut>(session_, inside_, std::move(out), std::move(in), windows[1], windows[0]);
}

}  // namespace penstock
