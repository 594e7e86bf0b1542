#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/core/choice.hpp"
#include "penstock/dist/share/comm_plan.hpp"

namespace penstock {

/// What exchanges have cost this rank since the times were last cleared.
struct HaloTimes {
  /// Seconds of gathering entries, of copies over the host link, and of waiting for ranks.
  double pack = 0, copy = 0, wait = 0;
  std::int64_t sent_bytes = 0, received_bytes = 0, messages = 0, exchanges = 0;  // messages sent
};

/// Brings entries of x from their owners: begin() reads the owned part and posts, end() returns when the ghosts are
/// readable in ghosts(). Between the two, x must stay as it is and other work may go on. Every strategy leaves the same
/// bits. Entries are bytes: float, double, or rows of a dense matrix. x and the ghosts are in the memory of `where`.
class Halo {
 public:
  virtual ~Halo() = default;
  virtual void begin(const void* x, Stream stream) = 0;
  virtual void end(Stream stream) = 0;
  virtual const void* ghosts() const = 0;  // plan.ghosts() entries, by owner; always at the same address
  const HaloTimes& times() const { return times_; }
  void clear_times() { times_ = {}; }

 protected:
  HaloTimes times_;
};

struct HaloContext {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<const CommPlan> plan;
  std::int64_t entry_bytes = 8;
  Where where = {};  // whose memory has x and the ghosts: the CPU's, or that of this rank's GPU
};

/// Makes a strategy by its name, one of halos(where), or "auto" for the choice of choose_halo(). Collective. Throws
/// Error{invalid_argument} that lists the names, Error{not_compiled} or Error{not_accessible} with the remedy where this
/// strategy cannot work here.
std::unique_ptr<Halo> make_halo(std::string_view strategy, const HaloContext& context);
std::vector<Choice> halos(Where where = {});                // the list, without "auto"
void require_halo(std::string_view strategy, Where where);  // throws unless it is one of these or "auto"

/// The fastest strategy for this plan: every one that could be it is made and timed with the plan itself, by the slowest rank.
/// This costs a few dozen exchanges, of x where it is given on the CPU (null: of zeros, which take as much memory). The same answer on all ranks. Collective.
std::string_view choose_halo(const HaloContext& context, const void* x = nullptr);

}  // namespace penstock
