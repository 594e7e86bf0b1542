// How the ranks of an MPI communicator meet. Every collective call begins with a meeting: messages along a hypercube. A
// message carries a hash of the calls of all ranks that its sender has heard of so far, and with it up to 4 KB of data. So a
// call of few bytes is done when its ranks have met, in as many messages as MPI would take. Larger data follow by MPI's own
// collectives, once it is known that all ranks have made the same call. Where ranks have made different calls, all ranks
// are told at the end of the meeting, with the calls of two of them; nothing is under way then, and they can go on.
#include <algorithm>
#include <bit>
#include <cstring>

#include "penstock/comm/mpi/mpi_comm.hpp"
#include "penstock/comm/reason.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

/// The head of each message: the least and the greatest hash among the ranks that it speaks for, and which ranks have these.
struct Heard {
  std::uint64_t least = 0, most = 0;
  std::uint64_t least_before = 0, most_before = 0;  // hashes of the calls before this one
  std::int32_t least_rank = 0, most_rank = 0;
  std::int64_t bytes = 0;  // bytes of data that follow: none where ranks differ
  bool same() const { return least == most; }
};
static_assert(sizeof(Heard) == 48);

void take_in(Heard& mine, const Heard& other) {
  if (other.least < mine.least || (other.least == mine.least && other.least_rank < mine.least_rank))
    mine.least = other.least, mine.least_rank = other.least_rank;
  if (other.most > mine.most || (other.most == mine.most && other.most_rank < mine.most_rank))
    mine.most = other.most, mine.most_rank = other.most_rank;
  mine.least_before = std::min(mine.least_before, other.least_before);
  mine.most_before = std::max(mine.most_before, other.most_before);
}

/// The last calls of a rank, as it tells others.
struct Past {
  static constexpr std::int64_t kCalls = 12;
  struct One {
    std::int64_t number = 0;
    std::uint64_t now = 0;
    char text[240] = {};
  };
  char last[1000] = {};
  One calls[kCalls];
};

Past past_of(const Calls& calls) {
  Past out;
  const auto put = [](char* to, std::size_t room, const std::string& text) {
    std::memcpy(to, text.data(), std::min(text.size(), room - 1));
  };
  put(out.last, sizeof out.last, calls.last().call.text());
  for (std::int64_t i = 0; i < Past::kCalls; ++i)
    if (const auto* e = calls.find(calls.number() - i)) {
      auto& one = out.calls[e->number % Past::kCalls];
      one.number = e->number, one.now = e->now;
      put(one.text, sizeof one.text, e->call.text());
    }
  return out;
}

/// The text of the first call that differs, among those that both ranks have kept.
std::string first_difference(int rank, const Past& a, int other, const Past& b) {
  std::int64_t first = 0;
  for (const auto& x : a.calls) {
    const auto& y = b.calls[x.number % Past::kCalls];
    if (x.number > 0 && x.number == y.number && x.now != y.now && (first == 0 || x.number < first))
      first = x.number;
  }
  if (first == 0) return disagreement(rank, a.last, other, b.last);
  const auto at = static_cast<std::size_t>(first % Past::kCalls);
  return disagreement(rank, a.calls[at].text, other, b.calls[at].text);
}

}  // namespace

const std::size_t MpiComm::kMeetBytes = sizeof(Heard) + kInline;

void MpiComm::meet(const Call& call, void* data, std::int64_t bytes, Combine combine) {
  session_->ready();
  const auto& e = watch_->calls.begin(call);
  const auto number = e.number;
  Heard heard{e.now, e.now, e.before, e.before, rank_, rank_, bytes};
  auto* const mine = out_.data() + sizeof heard;
  if (bytes > 0) std::memcpy(mine, data, static_cast<std::size_t>(bytes));
  MpiRequests both(mpi(), 2);
  const auto swap = [&](int with, bool sends, bool receives) {
    if (receives)
      session_->check(mpi().receive(in_.data(), static_cast<std::int64_t>(in_.size()), with, kMeetTag,
                                    inside_, both.at(0)),
                      "MPI_Irecv");
    if (sends) {
      std::memcpy(out_.data(), &heard, sizeof heard);
      const auto size = static_cast<std::int64_t>(sizeof heard) + (heard.same() ? bytes : 0);
      session_->check(mpi().send(out_.data(), size, with, kMeetTag, inside_, both.at(1)), "MPI_Isend");
    }
    const int peers[] = {with};
    watch_->wait(both.data(), 2, number, peers, penstock::name(call.verb));
    if (!receives) return;
    Heard other;
    std::memcpy(&other, in_.data(), sizeof other);
    const auto* theirs = in_.data() + sizeof other;
    if (!sends) {  // at the end of the meeting the message holds the result
      heard = other;
      if (heard.same() && bytes > 0) std::memcpy(mine, theirs, static_cast<std::size_t>(bytes));
      return;
    }
    take_in(heard, other);
  };
  const auto add = [&](int with) {
    if (!heard.same() || bytes == 0) return;
    // The lower ranks' part comes first: both sides get the same bits.
    const auto* theirs = in_.data() + sizeof heard;
    if (with < rank_) combine(theirs, mine, mine, bytes);
    else combine(mine, theirs, mine, bytes);
  };
  const int whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_))), over = size_ - whole;
  try {
    if (rank_ >= whole) {  // another rank speaks for this one
      swap(rank_ - whole, true, false);
      swap(rank_ - whole, false, true);
    } else {
      if (rank_ < over) {
        hear(rank_ + whole, number, call.verb);
        Heard other;
        std::memcpy(&other, in_.data(), sizeof other);
        take_in(heard, other);
        add(rank_ + whole);
      }
      for (int step = 1; step < whole; step *= 2) {
        swap(rank_ ^ step, true, true);
        add(rank_ ^ step);
      }
      if (rank_ < over) swap(rank_ + whole, true, false);
    }
  } catch (const std::exception& error) {
    if (session_->library().running()) mpi().cancel_all(both.at(0), 1);
    if (call.verb != Verb::end) session_->fail(reason_of(error));  // the others cannot meet without this rank
    throw;
  }
  if (!heard.same())
    refuse(std::min(heard.least_rank, heard.most_rank), std::max(heard.least_rank, heard.most_rank),
           heard.least_before == heard.most_before);
  if (bytes > 0) std::memcpy(data, mine, static_cast<std::size_t>(bytes));
}

void MpiComm::hear(int from, std::int64_t number, Verb verb) {
  MpiRequests request(mpi(), 1);
  session_->check(mpi().receive(in_.data(), static_cast<std::int64_t>(in_.size()), from, kMeetTag, inside_,
                                request.data()),
                  "MPI_Irecv");
  const int peers[] = {from};
  try {
    watch_->wait(request.data(), 1, number, peers, penstock::name(verb));
  } catch (...) {
    if (session_->library().running()) mpi().cancel_all(request.data(), 1);
    throw;
  }
}

void MpiComm::refuse(int a, int b, bool can_go_on) {
  auto mine = past_of(watch_->calls);
  Past of[2];
  MpiRequests requests(mpi(), size_ + 1);
  int n = 0;
  for (const int i : {0, 1}) {
    const int who = i == 0 ? a : b;
    if (who == rank_) of[i] = mine;
    else
      session_->check(mpi().receive(&of[i], sizeof(Past), who, kTextTag, inside_, requests.at(n++)),
                      "MPI_Irecv");
  }
  const int receives = n;
  for (int r = 0; (rank_ == a || rank_ == b) && r < size_; ++r)
    if (r != rank_)
      session_->check(mpi().send(&mine, sizeof mine, r, kTextTag, inside_, requests.at(n++)), "MPI_Isend");
  try {
    session_->wait(requests.data(), n, "a disagreement");
  } catch (...) {
    if (session_->library().running()) mpi().cancel_all(requests.data(), receives);
    throw;
  }
  const bool ended = is_end(of[0].last) || is_end(of[1].last);
  const auto text =
      can_go_on || ended ? disagreement(a, of[0].last, b, of[1].last) : first_difference(a, of[0], b, of[1]);
  const auto code = ended ? Errc::comm : Errc::invalid_argument;
  if (can_go_on && !ended) watch_->calls.refuse();
  else session_->spoil(code, text);
  throw Error(code, text);
}

}  // namespace penstock
