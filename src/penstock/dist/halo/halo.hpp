#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/core/choice.hpp"
#include "penstock/dist/share/comm_plan.hpp"

namespace penstock {

/// What one exchange cost this rank, summed up over all since the last look.
struct HaloTimes {
  double pack = 0, copy = 0, wait = 0;  // seconds: gathering entries; over the host link; for the ranks
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
  virtual const void* ghosts() const = 0;  // plan.ghosts() entries, by owner; stays where it is
  const HaloTimes& times() const { return times_; }
  void clear_times() { times_ = {}; }

 protected:
  HaloTimes times_;
};

struct HaloContext {
  std::shared_ptr<Comm> comm;
  std::shared_ptr<const CommPlan> plan;
  std::int64_t entry_bytes = 8;
  Where where = {};  // of x and the ghosts: the CPU, or this rank's GPU
};

/// By name, out of halos(where); "auto" is the choice of choose_halo(). Collective. Throws Error{invalid_argument}
/// that lists the names, Error{not_compiled} or Error{not_accessible} with the remedy where this strategy cannot work here.
std::unique_ptr<Halo> make_halo(std::string_view strategy, const HaloContext& context);
std::vector<Choice> halos(Where where = {});                // the list, without "auto"
void require_halo(std::string_view strategy, Where where);  // throws where it is neither of these nor "auto"

/// The strategy that an exchange of this plan takes least time with: every one that could win is made and timed on the
/// plan itself, the slowest rank counts. Costs a few dozen exchanges, of x where a rank of the CPU gives it (null: of
/// zeros, which take as much memory). The same answer on all ranks. Collective.
std::string_view choose_halo(const HaloContext& context, const void* x = nullptr);

}  // namespace penstock
