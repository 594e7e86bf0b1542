// Exchanges between threads. Sender and receiver of a message share a Link, which they find once. In every round one of the
// two copies from the sender's memory to the receiver's; which one depends on the kind of exchange. Counters of rounds say
// how far each side is, so that no side takes a lock.
#include "penstock/comm/thread_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::thread_comm {
namespace {

/// One message between two ranks, for as many rounds as there are. A side begins the next round only after `done` has
/// reached this one.
struct alignas(64) Link {
  Source source;
  int from = 0;
  std::byte* target = nullptr;
  std::int64_t entry_bytes = 0;
  std::atomic<std::int64_t> sender_at = 0, receiver_at = 0, claimed = 0, done = 0;  // rounds

  template <std::int64_t B>
  void gather() const {
    for (std::int64_t i = 0; i < source.count; ++i)
      std::memcpy(target + i * B, source.base + source.indices[i] * B, B);
  }
  void carry() const {
    if (source.bytes == 0) return;
    if (!source.indices)
      return void(std::memcpy(target, source.base, static_cast<std::size_t>(source.bytes)));
    if (entry_bytes == 4) return gather<4>();
    if (entry_bytes == 8) return gather<8>();
    const auto b = entry_bytes;
    for (std::int64_t i = 0; i < source.count; ++i)
      std::memcpy(target + i * b, source.base + source.indices[i] * b, static_cast<std::size_t>(b));
  }
};

using Links = std::vector<std::shared_ptr<Link>>;

/// Who copies a message: the sender, once the receiver's memory may be written (put); the receiver, once the sender's data
/// are there (neighborhood); or whichever of the two claims it first (persistent, indexed): so ranks that exchange with
/// each other copy at the same time, one message each.
class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(std::shared_ptr<Member> me, Verb verb, Links sends, Links receives, Call call)
      : me_(std::move(me)),
        verb_(verb),
        sends_(std::move(sends)),
        receives_(std::move(receives)),
        call_(std::move(call)) {}

  ~ThreadExchange() override {
    if (!under_way_) return;
    me_->fate().fail(me_->first_rank, "it left an exchange before the end");
    me_->fate().settle();
  }

  void start() override {
    require(!under_way_, "this exchange has been started: finish() it first");
    me_->check();
    number_ = me_->begin(call_);
    ++round_;
    under_way_ = true;
    if (verb_ == Verb::put) {
      for (const auto& link : receives_) announce(link->receiver_at, link->from);
      for (const auto& link : sends_) pending_.push_back(link.get());
    } else if (verb_ == Verb::neighborhood) {
      for (const auto& link : sends_) announce(link->sender_at, link->source.to);
      for (const auto& link : receives_) pending_.push_back(link.get());
    } else {
      for (const auto& link : receives_) announce(link->receiver_at, link->from);
      for (const auto& link : sends_) announce(link->sender_at, link->source.to);
      for (const auto& link : receives_) pending_.push_back(link.get());
    }
    copy_pending();
  }

  void finish() override {
    require(under_way_, "this exchange has not been started: start() it first");
    auto& bell = me_->seat(me_->rank).bell;
    if (either()) {
      copy_pending();
      for (const auto& link : sends_)
        if (can_copy(*link)) carry(*link, peer(*link));
    }
    while (!pending_.empty()) {
      me_->wait(
          bell,
          [&] {
            return std::any_of(pending_.begin(), pending_.end(), [&](Link* l) { return can_copy(*l); });
          },
          [&](int r) {
            return std::any_of(pending_.begin(), pending_.end(), [&](Link* l) { return peer(*l) == r; });
          },
          number_, name(verb_));
      copy_pending();
    }
    for (const auto* links : {&receives_, &sends_}) {
      for (const auto& link : *links) {
        const auto ready = [&] { return link->done.load(std::memory_order_acquire) >= round_; };
        me_->wait(
            bell, ready, [&](int r) { return r == peer(*link) && !ready(); }, number_, name(verb_));
      }
    }
    under_way_ = false;
  }

  void rebase(const std::byte* base) override {
    require(!under_way_, "this exchange is under way: finish() it before rebase()");
    // The receiver reads the base only after this side has begun the next round.
    for (const auto& link : sends_) {
      auto& s = link->source;
      if (s.from_base >= 0) s.base = base + s.from_base;
    }
  }

 private:
  bool either() const { return verb_ == Verb::persistent || verb_ == Verb::indexed; }
  int peer(const Link& link) const { return link.from == me_->rank ? link.source.to : link.from; }
  void announce(std::atomic<std::int64_t>& at, int to) {
    at.store(round_, std::memory_order_release);
    me_->seat(to).bell.ring();
  }
  void carry(Link& link, int other) {
    // A message that either side may copy is copied by the one that sets `claimed` to this round.
    auto before = round_ - 1;
    if (either() && !link.claimed.compare_exchange_strong(before, round_, std::memory_order_relaxed)) return;
    {
      const auto held = me_->copy();
      link.carry();
    }
    announce(link.done, other);
  }
  bool can_copy(const Link& link) const {
    const auto here = [&](const auto& at) { return at.load(std::memory_order_acquire) >= round_; };
    if (either()) return here(link.sender_at) && here(link.receiver_at);
    return here(verb_ == Verb::put ? link.receiver_at : link.sender_at);
  }
  void copy_pending() {
    std::size_t kept = 0;
    for (auto* link : pending_) {
      if (can_copy(*link)) carry(*link, peer(*link));
      else pending_[kept++] = link;
    }
    pending_.resize(kept);
  }

  std::shared_ptr<Member> me_;
  Verb verb_;
  Links sends_, receives_;
  std::vector<Link*> pending_;  // messages that this rank copies when the other side has come
  Call call_;                   // what a round is in the list of this rank's calls
  std::int64_t round_ = 0, number_ = 0;
  bool under_way_ = false;
};

template <class Items, class RankOf>
void require_once(const Member& me, Verb verb, const Items& items, const char* direction, RankOf&& rank_of) {
  std::vector<int> seen;
  for (const auto& item : items) {
    me.require_rank(rank_of(item), name(verb));
    require(item.bytes >= 0,
            std::string(name(verb)) + ": a message of " + std::to_string(item.bytes) + " bytes");
    seen.push_back(rank_of(item));
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end())
    throw Error(Errc::invalid_argument, std::string(name(verb)) + ": two messages " + direction + " rank " +
                                            std::to_string(*twice) + ", at most one is possible: join them");
}

}  // namespace

std::unique_ptr<Exchange> connect(std::shared_ptr<Member> me, Verb verb, std::int64_t entry_bytes,
                                  const std::vector<Source>& sends, const std::vector<Message>& receives) {
  me->check();
  require_once(*me, verb, sends, "to", [](const Source& s) { return s.to; });
  require_once(*me, verb, receives, "from", [](const Message& m) { return m.rank; });
  Links mine, others;
  for (const auto& s : sends) {
    mine.push_back(std::make_shared<Link>());
    mine.back()->source = s, mine.back()->from = me->rank, mine.back()->entry_bytes = entry_bytes;
  }
  me->bring({.verb = verb, .bytes = entry_bytes}, &mine);
  me->meet();
  const auto& calls = me->seat(me->rank).calls;  // only this rank writes them, so no lock is needed here
  Call round{
      .verb = Verb::exchange, .more = static_cast<std::uint64_t>(calls.number()), .topic = calls.topic()};
  std::string wrong;
  {
    const auto held = me->copy();
    for (const auto& m : receives) {
      const auto& theirs = *static_cast<const Links*>(me->brought(m.rank).data);
      const auto link =
          std::find_if(theirs.begin(), theirs.end(), [&](const auto& l) { return l->source.to == me->rank; });
      const auto sent = link == theirs.end() ? -1 : (*link)->source.bytes;
      if (sent == m.bytes) {
        (*link)->target = m.data;
        others.push_back(*link);
      } else if (wrong.empty()) {
        wrong = std::string(name(verb)) + ": rank " + std::to_string(me->rank) + " expects " +
                std::to_string(m.bytes) + " bytes from rank " + std::to_string(m.rank) + ", which sends " +
                (sent < 0 ? "nothing" : std::to_string(sent));
      }
    }
    for (int r = 0; r < me->size() && wrong.empty(); ++r) {
      const auto& theirs = *static_cast<const Links*>(me->brought(r).data);
      for (const auto& l : theirs) {
        const auto expected =
            std::any_of(receives.begin(), receives.end(), [&](const Message& m) { return m.rank == r; });
        if (l->source.to == me->rank && !expected)
          wrong = std::string(name(verb)) + ": rank " + std::to_string(r) + " sends " +
                  std::to_string(l->source.bytes) + " bytes to rank " + std::to_string(me->rank) +
                  ", which expects nothing";
      }
    }
  }
  if (!wrong.empty()) me->refuse(wrong);
  me->meet_again();
  return std::make_unique<ThreadExchange>(std::move(me), verb, std::move(mine), std::move(others),
                                          std::move(round));
}

}  // namespace penstock::thread_comm
