#include "penstock/comm/mpi_session.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr int kFailureTag = 1;
constexpr int kFailureBytes = 1024;
// A turn is one MPI_Testall, 0.1 to 0.5 us: some 50 us, which covers the latency of a network. Where ranks share CPUs
// the one that is waited for needs this CPU: then none.
constexpr long kTurnsBeforeYielding = 200;
constexpr long kTurnsBetweenLooks = 64;  // at failures, the clock and Ctrl-C, while yielding

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

MpiSession::MpiSession(const MpiLibrary& library, PenstockMpiHandle comm, double timeout)
    : library_(library), timeout_(timeout) {
  int neighbors = 1;
  check(verbs().duplicate(comm, &control_), "MPI_Comm_dup");
  check(verbs().rank_and_size(control_, &rank_, &size_), "MPI_Comm_rank");
  check(verbs().ranks_of_node(control_, &neighbors), "MPI_Comm_split_type");
  const bool crowded = neighbors > sysconf(_SC_NPROCESSORS_ONLN);  // all CPUs: launchers bind a rank to some
  turns_before_yielding_ = crowded ? 0 : kTurnsBeforeYielding;
}

void MpiSession::ready() const {
  if (!failure_.empty()) throw Error(Errc::comm, failure_);
  if (!library_.running()) throw Error(Errc::comm, "MPI has been finalized: its communicators are gone");
}

void MpiSession::look() {
  ready();
  poll_interrupt();
  heed_failures();
}

void MpiSession::wait(void* requests, int n, const char* what) {
  until([&](int* done) { return verbs().test_all(requests, n, done); }, what);
}

void MpiSession::Patience::next() {
  if (++turns_ <= session_.turns_before_yielding_) return;
  if (turns_ % kTurnsBetweenLooks == 0 || end_ == 0) {
    session_.look();
    const double time = now();
    if (end_ == 0) end_ = time + session_.timeout_;
    if (time > end_) {
      const auto seconds = std::to_string(session_.timeout_);
      throw Error(Errc::comm, "rank " + std::to_string(session_.rank_) + " of " +
                                  std::to_string(session_.size_) + ": nothing has come for " +
                                  seconds.substr(0, seconds.find('.') + 2) + " s in " + what_ +
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
  char text[kFailureBytes];
  MpiRequests request(verbs(), 1);
  check(verbs().receive(text, kFailureBytes, from, kFailureTag, control_, request.data()), "MPI_Irecv");
  for (int done = 0; !done;) check(verbs().test_all(request.data(), 1, &done), "MPI_Irecv");
  text[kFailureBytes - 1] = 0;
  failed_rank_ = from;
  library_.spoil();
  failure_ = "rank " + std::to_string(from) + " of " + std::to_string(size_) + " failed: " + text;
  throw Error(Errc::comm, failure_);
}

void MpiSession::fail(const std::string& why) noexcept {
  try {
    library_.spoil();
    if (!failure_.empty() || !library_.running()) return;  // the others know
    failure_ = "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + " failed: " + why;
    static char text[kFailureBytes];  // outlives sends that nobody receives
    std::memset(text, 0, sizeof text);
    std::memcpy(text, why.data(), std::min(why.size(), sizeof text - 1));
    MpiRequests requests(verbs(), size_);
    for (int r = 0; r < size_; ++r)
      if (r != rank_) verbs().send(text, kFailureBytes, r, kFailureTag, control_, requests.at(r));
    // Messages this small leave at once, whether the other side looks or not; some transports want a push.
    const double end = now() + 1;
    for (int done = 0; !done && now() < end; sched_yield())
      if (verbs().test_all(requests.data(), size_, &done) != 0) break;
  } catch (...) {  // no memory: MPI_Abort or the end of this process says it
  }
}

}  // namespace penstock
