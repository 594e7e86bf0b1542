#pragma once
#include <chrono>
#include <string>
#include <thread>

#include "penstock/comm/comm.hpp"
#include "penstock/core/error.hpp"

namespace penstock {

/// Returns when done() says so. Throws Error{comm} when another rank has failed, and when nothing has come within
/// comm.timeout() seconds, with what was waited for.
template <class Done>
void wait_until(Comm& comm, Done&& done, std::string_view waited_for) {
  using Clock = std::chrono::steady_clock;
  constexpr int kSpins = 2000;  // some 20 us, enough for a neighbour that is about to arrive
  constexpr auto kLook = std::chrono::milliseconds(5);  // between two looks for failed ranks
  for (int i = 0; i < kSpins; ++i)
    if (done()) return;
  const auto start = Clock::now();
  auto looked = start;
  while (!done()) {
    std::this_thread::yield();
    const auto now = Clock::now();
    if (now - looked < kLook) continue;
    looked = now;
    comm.wait({});  // throws where a rank has failed
    if (std::chrono::duration<double>(now - start).count() > comm.timeout())
      throw Error(Errc::comm, "rank " + std::to_string(comm.rank()) + " has waited " +
                                  std::to_string(static_cast<long>(comm.timeout())) + " s for " +
                                  std::string(waited_for) +
                                  ": another rank has not come this far, or has ended");
  }
}

/// Waits for an event, as synchronize() does, of work that may wait for other ranks.
inline void synchronize_with(Comm& comm, Event event, std::string_view waited_for) {
  wait_until(
      comm, [&] { return is_done(event); }, waited_for);
}

/// Throws on all ranks where something is wrong on one of them: `why` says what, and is empty where nothing is wrong. `task` is
/// what errors begin with, `code` is their code. Collective.
void require_everywhere(Comm& comm, const std::string& why, std::string_view task,
                        Errc code = Errc::not_accessible);

}  // namespace penstock
