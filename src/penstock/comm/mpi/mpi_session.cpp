// How a rank waits over MPI. MPI itself knows no failed rank, no Ctrl-C and no timeout, so a wait here is a loop of
// MPI_Testall: without pause at first, then yielding the CPU, and every few turns a look at what other ranks say. A rank that
// fails sends its last words to all others (kFailureTag). A rank that has waited for a while sends a note of its call to those
// that it waits for (kNoteTag), so that ranks in different calls are told instead of waiting for ever.
#include "penstock/comm/mpi/mpi_session.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "penstock/comm/mpi/mpi_watch.hpp"
#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr int kFailureTag = 1, kNoteTag = 2;
/// A rank that waits asks the others after so many seconds, then after twice as long each time, up to the second number.
constexpr double kAsksAfter = 0.1, kAsksAtLeast = 2.0;
/// Turns of a wait before it yields the CPU. A turn is one MPI_Testall, 0.1 to 0.5 us: some 50 us, which covers the latency of
/// a network. Where ranks share CPUs, the rank that is waited for needs this CPU, and a wait yields from its first turn on.
constexpr long kTurnsBeforeYielding = 200;
/// Turns between two looks at failures, the clock and Ctrl-C, once the wait yields.
constexpr long kTurnsBetweenLooks = 64;

/// The last words of a rank.
struct Failure {
  std::int32_t code = 0;
  std::int32_t own = 0;  // 1: the reason is the sender's own, and the text says so
  char text[1016] = {};
};

void put_text(char* to, std::size_t room, const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), room - 1));
}

}  // namespace

struct MpiSession::Note {
  std::uint64_t comm = 0;
  std::int64_t number = 0;  // 0: this note says that yours has been read
  std::uint64_t now = 0;
  std::int64_t rank = 0;  // the sender's rank in that communicator
  char text[480] = {};
};

struct MpiSession::Sent {
  Sent(const PenstockMpi& mpi, const Note& n) : note(n), request(mpi, 1) {}
  Note note;
  MpiRequests request;
};

MpiSession::~MpiSession() {
  // MPI may still read notes that have not gone: their memory is never freed.
  for (auto& s : sent_) {
    int gone = 0;
    if (!library_.running() || verbs().test_all(s->request.data(), 1, &gone) != 0 || !gone)
      static_cast<void>(s.release());
  }
}

MpiSession::MpiSession(const MpiLibrary& library, PenstockMpiHandle comm, double timeout)
    : library_(library), timeout_(timeout) {
  int neighbors = 1;
  check(verbs().duplicate(comm, &control_), "MPI_Comm_dup");
  check(verbs().rank_and_size(control_, &rank_, &size_), "MPI_Comm_rank");
  unread_.resize(static_cast<std::size_t>(size_));
  check(verbs().ranks_of_node(control_, &neighbors), "MPI_Comm_split_type");
  // All CPUs of the machine count, not those of this process: launchers bind each rank to a few of them.
  const bool crowded = neighbors > sysconf(_SC_NPROCESSORS_ONLN);
  turns_before_yielding_ = crowded ? 0 : kTurnsBeforeYielding;
}

void MpiSession::ready() const {
  if (!failure_.empty()) throw Error(failure_code_, failure_);
  if (!library_.running()) throw Error(Errc::comm, "MPI has been finalized: its communicators are gone");
}

void MpiSession::look() {
  ready();
  poll_interrupt();
  heed_failures();
  read_notes();
}

void MpiSession::wait(void* requests, int n, const char* verb) {
  until([&](int* done) { return verbs().test_all(requests, n, done); }, verb);
}

void MpiSession::Patience::next() {
  if (++turns_ <= session_.turns_before_yielding_) return;
  if (turns_ % kTurnsBetweenLooks == 0 || end_ == 0) {
    session_.look();
    const double time = now();
    if (end_ == 0) began_ = time, end_ = time + session_.timeout_, asks_after_ = time + kAsksAfter;
    if (in_) in_->watch->compare();
    if (in_ && time > asks_after_) {
      in_->watch->ask(in_->number, in_->peers);
      asks_after_ = time + std::min(time - began_, kAsksAtLeast);
    }
    if (time > end_) {
      const auto seconds = std::to_string(session_.timeout_);
      throw Error(Errc::comm, "rank " + std::to_string(session_.rank_) + " of " +
                                  std::to_string(session_.size_) + ": nothing has come for " +
                                  seconds.substr(0, seconds.find('.') + 2) + " s in " + verb_ +
                                  ": another rank is stuck, or made other calls (a longer time: "
                                  "PENSTOCK_COMM_TIMEOUT, in seconds)");
    }
  }
  sched_yield();
}

void MpiSession::heed_failures() {
  int found = 0, from = -1;
  check(verbs().probe_any(kFailureTag, control_, &found, &from), "MPI_Iprobe");
  if (!found) return;
  Failure told;
  MpiRequests request(verbs(), 1);
  check(verbs().receive(&told, sizeof told, from, kFailureTag, control_, request.data()), "MPI_Irecv");
  for (int done = 0; !done;) check(verbs().test_all(request.data(), 1, &done), "MPI_Irecv");
  told.text[sizeof told.text - 1] = 0;
  library_.spoil();
  if (told.own) {
    failed_rank_ = from;
    failure_ = "rank " + std::to_string(from) + " of " + std::to_string(size_) + " failed: " + told.text;
  } else {
    failure_ = told.text;
  }
  failure_code_ = static_cast<Errc>(told.code);
  throw Error(failure_code_, failure_);
}

void MpiSession::read_notes() {
  std::erase_if(sent_, [&](const auto& s) {
    int gone = 0;
    check(verbs().test_all(s->request.data(), 1, &gone), "MPI_Isend");
    return gone != 0;
  });
  for (int found = 1, from = -1;;) {
    check(verbs().probe_any(kNoteTag, control_, &found, &from), "MPI_Iprobe");
    if (!found) return;
    Note note;
    MpiRequests request(verbs(), 1);
    check(verbs().receive(&note, sizeof note, from, kNoteTag, control_, request.data()), "MPI_Irecv");
    for (int done = 0; !done;) check(verbs().test_all(request.data(), 1, &done), "MPI_Irecv");
    if (note.number == 0) {
      unread_[static_cast<std::size_t>(from)] = false;
      continue;
    }
    post(from, Note{});
    note.text[sizeof note.text - 1] = 0;
    for (auto* w : watches_)
      if (w->id() == note.comm) w->heard(static_cast<int>(note.rank), {note.number, note.now, note.text});
  }
}

void MpiSession::post(int to, const Note& note) {
  auto& s = *sent_.emplace_back(std::make_unique<Sent>(verbs(), note));
  check(verbs().send(&s.note, sizeof s.note, to, kNoteTag, control_, s.request.data()), "MPI_Isend");
}

void MpiSession::send_note(int to, std::uint64_t comm, int as, std::int64_t number, std::uint64_t now,
                           const std::string& text) {
  if (unread_[static_cast<std::size_t>(to)]) return;
  Note note{.comm = comm, .number = number, .now = now, .rank = as};
  put_text(note.text, sizeof note.text, text);
  post(to, note);
  unread_[static_cast<std::size_t>(to)] = true;
}

void MpiSession::tell_all(Errc code, bool mine, const std::string& why) noexcept {
  try {
    static Failure told;  // lives longer than sends that nobody receives
    told = {.code = static_cast<std::int32_t>(code), .own = mine};
    put_text(told.text, sizeof told.text, why);
    MpiRequests requests(verbs(), size_);
    for (int r = 0; r < size_; ++r)
      if (r != rank_) verbs().send(&told, sizeof told, r, kFailureTag, control_, requests.at(r));
    // Messages this small leave at once, whether the receiver looks for them or not; some transports must be called for it.
    const double end = now() + 1;
    for (int done = 0; !done && now() < end; sched_yield())
      if (verbs().test_all(requests.data(), size_, &done) != 0) break;
  } catch (...) {  // no memory for the messages: MPI_Abort or the end of this process tells the others
  }
}

void MpiSession::fail(const std::string& why) noexcept {
  library_.spoil();
  if (failed() || !library_.running()) return;  // the others have been told
  try {
    failure_ = "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " failed: " + why;
  } catch (...) {
    return;
  }
  tell_all(Errc::comm, true, why);
}

void MpiSession::give_up(Errc code, const std::string& why) {
  ready();
  spoil(code, why);
  tell_all(code, false, why);
  throw Error(code, why);
}

void MpiSession::spoil(Errc code, const std::string& why) {
  library_.spoil();
  failure_ = why, failure_code_ = code;
}

}  // namespace penstock
