#include "penstock/dist/share/comm_plan.hpp"

#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/reserve.hpp"

namespace penstock {
namespace {

/// Offsets in bytes of one item for each rank.
std::vector<std::int64_t> one_each(int ranks, std::int64_t bytes) {
  std::vector<std::int64_t> offsets(at(ranks) + 1);
  for (std::size_t r = 0; r < offsets.size(); ++r) offsets[r] = static_cast<std::int64_t>(r) * bytes;
  return offsets;
}

/// The ranks whose count is not 0, and the sums of their counts.
void keep_counted(const std::vector<std::int64_t>& counts, std::vector<int>& ranks,
                  std::vector<std::int64_t>& offsets) {
  for (std::size_t r = 0; r < counts.size(); ++r)
    if (counts[r] > 0) {
      ranks.push_back(static_cast<int>(r));
      offsets.push_back(offsets.back() + counts[r]);
    }
}

}  // namespace

CommPlan plan_exchange(Comm& comm, const Ownership& of, std::span<const GlobalIndex> ghosts) {
  const int ranks = comm.size(), me = comm.rank();
  require(of.ranks() == ranks, "exchange: entries are shared out among " + std::to_string(of.ranks()) +
                                   " ranks, but there are " + std::to_string(ranks));
  CommPlan plan;
  plan.owned = of.count(me);
  // Packing reads local numbers of 32 bits: an owner with more entries could be asked for numbers that do not fit.
  for (int r = 0; r < ranks; ++r)
    require(of.count(r) <= std::numeric_limits<Index>::max(),
            "exchange: rank " + std::to_string(r) + " has " + std::to_string(of.count(r)) +
                " entries, more than 2^31 - 1: use more ranks");
  const auto count = static_cast<std::int64_t>(ghosts.size());
  auto wanted = allocate_apart<Index>(of.is_listed() ? 0 : count);
  std::vector<std::int64_t> ask(at(ranks)), asked(at(ranks));
  int last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto g = ghosts[at(i)];
    require(g >= 0 && g < of.size(),
            "exchange: entry " + std::to_string(g) + " of " + std::to_string(of.size()));
    const int owner = of.owner(g);
    require(owner != me && owner >= last && (i == 0 || owner > last || g > ghosts[at(i) - 1]),
            "exchange: ghosts are ordered by owner, then number, none twice, none owned here; entry " +
                std::to_string(g) + " of rank " + std::to_string(owner) + " is not");
    last = owner;
    ++ask[at(owner)];
    if (!of.is_listed()) wanted.data[i] = static_cast<Index>(of.local(g));
  }
  const auto slots = one_each(ranks, sizeof(std::int64_t));
  comm.all_to_all_v(ask.data(), slots, asked.data(), slots);
  keep_counted(ask, plan.receive_ranks, plan.receive_offsets);
  keep_counted(asked, plan.send_ranks, plan.send_offsets);

  const auto item = of.is_listed() ? std::int64_t{sizeof(GlobalIndex)} : std::int64_t{sizeof(Index)};
  std::vector<std::int64_t> send(at(ranks) + 1), receive(at(ranks) + 1);
  for (std::size_t r = 0; r < at(ranks); ++r) {
    send[r + 1] = send[r] + ask[r] * item;
    receive[r + 1] = receive[r] + asked[r] * item;
  }
  auto indices = allocate_apart<Index>(plan.sent());
  if (of.is_listed()) {  // only their owners know at which places numbers are
    const auto numbers = allocate_apart<GlobalIndex>(plan.sent());
    comm.all_to_all_v(ghosts.data(), send, numbers.data, receive);
    for (std::int64_t i = 0; i < plan.sent(); ++i) {
      const auto place = of.owner(numbers.data[i]) == me ? of.local(numbers.data[i]) : -1;
      require(place >= 0, [&] {
        return "exchange: entry " + std::to_string(numbers.data[i]) + " is not listed on rank " +
               std::to_string(me);
      });
      indices.data[i] = static_cast<Index>(place);
    }
  } else {
    comm.all_to_all_v(wanted.data, send, indices.data, receive);
  }
  plan.send_indices = indices;
  return plan;
}

}  // namespace penstock
