// One-sided exchanges. A sender writes into the box that its receiver has for it, and behind that how many pieces it has
// written. The receiver watches its own memory for the count and copies out what came with it. Ranks of one node have
// their boxes in memory that they share: there a message is copies and a store. Elsewhere it is MPI_Put, a flush, and
// MPI_Rget_accumulate of the count. The windows are open to all from the beginning to the end.
//
// All waits but the flush have a limit and notice failures. The flush takes as long as the network does. Where the network
// cannot write memory, it takes until the target calls MPI: a target that waits does so, and a rank that fails ends the job.
//
// A box has two places, so that a sender need not wait for a receiver that is still with the exchange before.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/comm/mpi/mpi_link.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

using Links = std::vector<MpiLink>;
constexpr int kNoMessagesTag = 3;  // no message on inside_ has this tag

/// Where the other end of a message is, and how long the message is for it.
struct End {
  std::int64_t at, bytes;
};

class MpiPut final : public Exchange {
 public:
  MpiPut(std::shared_ptr<MpiWatch> watch, Call round, PenstockMpiHandle comm, Links sends, Links receives,
         PenstockMpiHandle near, PenstockMpiHandle far)
      : watch_(std::move(watch)),
        session_(watch_->shared_session()),
        round_(std::move(round)),
        comm_(comm),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        near_(near),
        far_(far),
        counts_(mpi(), far_ones(sends_, true)),
        receipts_(mpi(), far_ones(receives_, false)) {
    give_requests(sends_, counts_, true);
    give_requests(receives_, receipts_, false);
    for (const auto* links : {&sends_, &receives_})
      for (const auto& l : *links) peers_.push_back(l.message.rank);
  }
  ~MpiPut() override {
    auto& library = session_->library();
    if (library.running() && !end()) {  // MPI may still write into these: they are never freed
      new Links(std::move(sends_));
      new Links(std::move(receives_));
    }
    library.windows().retire(near_);
    library.windows().retire(far_);
  }
  MpiPut(const MpiPut&) = delete;
  MpiPut& operator=(const MpiPut&) = delete;

  void start() override {
    session_->ready();
    number_ = watch_->calls.begin(round_).number;
    ++exchange_;
    under_way_ = true;
    for (auto& s : sends_)
      if (s.near) write(s);
      else put(s);
  }
  void finish() override {
    if (counts_.size() > 0) {
      for (const auto& s : sends_)
        if (!s.near) session_->check(mpi().window_flush(s.message.rank, far_), "MPI_Win_flush");
      for (auto& s : sends_)
        if (!s.near) tell_far(s);
    }
    if (receipts_.size() > 0)  // receipts for the exchange before this one
      watch_->wait(receipts_.data(), receipts_.size(), number_, peers_, kWhat);
    watch_->until([&](int* done) { return move(done); }, number_, peers_, kWhat);
    under_way_ = false;
  }
  void rebase(const std::byte* base) override { base_ = base; }

 private:
  static constexpr const char* kWhat = "an exchange by MPI_Put";
  const PenstockMpi& mpi() const { return session_->verbs(); }
  static int far_ones(const Links& links, bool all) {
    return static_cast<int>(
        std::ranges::count_if(links, [&](const MpiLink& l) { return !l.near && (all || l.told); }));
  }
  static void give_requests(Links& links, MpiRequests& requests, bool all) {
    int n = 0;
    for (auto& l : links)
      if (!l.near && (all || l.told)) l.request = requests.at(n++);
  }
  /// Whether all that was started is done.
  bool end() noexcept {
    try {
      if (!under_way_ && receipts_.size() > 0) session_->wait(receipts_.data(), receipts_.size(), kWhat);
    } catch (const Error&) {
      return false;
    }
    return !under_way_ || counts_.size() + receipts_.size() == 0;
  }

  int sync() { return far_ ? mpi().window_sync(far_) : 0; }
  /// Calls MPI, which moves what is under way only when it is called.
  int progress() {
    int found = 0, from = 0;
    return mpi().probe_any(kNoMessagesTag, comm_, &found, &from);
  }
  bool moved(const MpiLink& l) const { return l.moved == exchange_ * l.pieces; }

  /// Writes as many pieces as there is room for.
  void write(MpiLink& s) {
    const auto all = exchange_ * s.pieces, most = s.told ? std::min(all, s.counted() + 2) : all;
    while (s.moved < most) {
      std::memcpy(s.theirs + s.place(), s.message.source(base_) + s.offset(), s.bytes());
      ++s.moved;
      tell_near(s);
    }
  }
  void put(MpiLink& s) {
    const auto room = [&] { return !s.told || s.moved < s.counted() + 2; };
    if (!room())
      watch_->until(
          [&](int* done) {
            const int code = sync();
            *done = room();
            return code != 0 || *done ? code : progress();
          },
          number_, peers_, kWhat);
    session_->check(
        mpi().put(s.message.source(base_), s.message.bytes, s.message.rank, s.there + s.place(), far_),
        "MPI_Put");
    ++s.moved;
  }
  void take(MpiLink& r) {
    const auto come = std::min(r.counted(), exchange_ * r.pieces);
    if (r.moved == come) return;
    session_->check(mpi().window_sync(r.near ? near_ : far_), "MPI_Win_sync");
    while (r.moved < come) {
      std::memcpy(r.message.data + r.offset(), r.mine + r.place(), r.bytes());
      ++r.moved;
      if (r.told && r.near) tell_near(r);
    }
    if (r.told && !r.near) tell_far(r);
  }
  void tell_near(const MpiLink& l) {
    session_->check(mpi().window_sync(near_), "MPI_Win_sync");
    MpiLink::word(l.theirs).store(l.moved, std::memory_order_release);
  }
  void tell_far(MpiLink& l) {
    l.count = l.moved;
    session_->check(
        mpi().fetch_op(&l.count, &l.before, PENSTOCK_MPI_REPLACE, l.message.rank, l.there, far_, l.request),
        "MPI_Rget_accumulate");
  }
  /// Moves what can be moved by now. True when all has been moved and all counts have gone.
  int move(int* done) {
    if (const int code = sync(); code != 0) return code;
    bool all = true;
    for (auto& r : receives_)
      if (!moved(r)) take(r), all = all && moved(r);
    for (auto& s : sends_)
      if (!moved(s)) write(s), all = all && moved(s);
    int gone = 1;
    if (counts_.size() > 0)
      if (const int code = mpi().test_all(counts_.data(), counts_.size(), &gone); code != 0) return code;
    *done = all && gone;
    return *done ? 0 : progress();
  }

  std::shared_ptr<MpiWatch> watch_;
  std::shared_ptr<MpiSession> session_;
  Call round_;  // what a round is in the list of this rank's calls
  std::vector<int> peers_;
  std::int64_t number_ = 0;  // the number of that call
  PenstockMpiHandle comm_;
  Links sends_, receives_;
  PenstockMpiHandle near_, far_;
  MpiRequests counts_, receipts_;
  const std::byte* base_ = nullptr;
  std::int64_t exchange_ = 0;
  bool under_way_ = false;
};

}  // namespace

std::unique_ptr<Exchange> MpiComm::put(std::vector<Message> sends, std::vector<Message> receives) {
  sends = tidy_messages(std::move(sends), size_, "put");
  receives = tidy_messages(std::move(receives), size_, "put");
  meet_node();
  auto round = begin_exchange(Verb::put);
  // Parts of the windows over ranks of this node (1) and over all (0): lines of sends and boxes of receives.
  std::int64_t bytes[2] = {0, 0};
  const auto link = [&](const std::vector<Message>& messages, const std::vector<Message>& back, bool boxes) {
    Links made;
    for (const auto& m : messages) {
      const bool answered = std::ranges::find(back, m.rank, &Message::rank) != back.end();
      auto& l = made.emplace_back(m, shares_memory_with(m.rank), answered);
      l.here = bytes[l.near];
      bytes[l.near] += boxes ? l.box_bytes() : MpiLink::kLine;
    }
    return made;
  };
  auto out = link(sends, receives, false), in = link(receives, sends, true);
  std::vector<std::int64_t> agreed{-bytes[0], -bytes[1]};
  std::ranges::copy(windows_given_up(), std::back_inserter(agreed));
  all_reduce(agreed, Reduce::min);
  free_windows(std::span(agreed).subspan(2));

  PenstockMpiHandle windows[2] = {0, 0};
  for (const int near : {0, 1}) {
    if (agreed[static_cast<std::size_t>(near)] == 0) continue;  // no rank has any
    void* memory = nullptr;
    windows[near] = open_window(bytes[near] + MpiLink::kLine, near == 1, &memory);
    auto* base = static_cast<std::byte*>(memory);
    const auto odd = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) % MpiLink::kLine);
    const auto first = (MpiLink::kLine - odd) % MpiLink::kLine;
    std::memset(
        base, 0,
        static_cast<std::size_t>(bytes[near] + MpiLink::kLine));  // pages come into being, near this rank
    session_->check(mpi().window_sync(windows[near]), "MPI_Win_sync");
    for (auto* links : {&out, &in})
      for (auto& l : *links)
        if (l.near == (near == 1)) l.here += first, l.mine = base + l.here;
  }
  const auto tell = [&](const Links& mine, Links& theirs) {
    std::vector<End> ends(mine.size()), heard(theirs.size());
    std::vector<Message> told, asked;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      ends[i] = {mine[i].here, mine[i].message.bytes};
      told.push_back({mine[i].message.rank, reinterpret_cast<std::byte*>(&ends[i]), sizeof(End)});
    }
    for (std::size_t i = 0; i < theirs.size(); ++i)
      asked.push_back({theirs[i].message.rank, reinterpret_cast<std::byte*>(&heard[i]), sizeof(End)});
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
  return std::make_unique<MpiPut>(watch_, std::move(round), inside_, std::move(out), std::move(in),
                                  windows[1], windows[0]);
}

}  // namespace penstock
