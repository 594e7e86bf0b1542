#pragma once
#include <span>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/share/ownership.hpp"

namespace penstock {

/// Which rank needs which entries of which other rank's vector: a star forest, as plain data. It holds no buffers and sends nothing; the
/// strategies in dist/halo/halo_*.cpp carry it out, forward (owners to ghosts) or backward (ghosts added up at owners).
struct CommPlan {
  std::int64_t owned = 0;                      // entries of the vector here
  std::vector<int> send_ranks, receive_ranks;  // ascending, never this rank
  /// Where each rank of the two lists begins, in entries.
  std::vector<std::int64_t> send_offsets{0}, receive_offsets{0};
  Array<const Index> send_indices;  // owned entries to pack, by rank, in the order of the receiver's ghosts
  std::int64_t sent() const { return send_offsets.back(); }
  std::int64_t ghosts() const { return receive_offsets.back(); }
};

/// From the entries that this rank needs and does not own: `ghosts`, ordered by owner, then number, without repetition.
/// One exchange of counts, one of numbers. Collective.
CommPlan plan_exchange(Comm& comm, const Ownership& of, std::span<const GlobalIndex> ghosts);

}  // namespace penstock
