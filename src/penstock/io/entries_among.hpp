#pragma once
#include <functional>
#include <optional>

#include "penstock/comm/comm.hpp"
#include "penstock/format/coo.hpp"
#include "penstock/io/rounds.hpp"

// A matrix whose entries the ranks find in any order, each some of them, such as those of its part of a text file. They are
// said twice, some at a time, and sent to whom they belong: for the lengths of rows, then for their entries.
namespace penstock {

/// Entries in hand; with `base` taken off, rows and columns lie in the matrix.
template <class V>
struct EntryChunk {
  std::int64_t size = 0, base = 0;
  CooIndices row, col;
  const V* values = nullptr;  // unused when V is One
};

/// A rank's next chunk, which stays as it is until the next call.
template <class V>
using NextChunk = std::function<Turn(EntryChunk<V>&)>;

/// How many entries come in each of the rows that this rank keeps by `p`, before equal ones are summed. Throws RoundsFailed
/// on all ranks where one's chunks end in failure. At most 2^31 - 1 rows. Collective.
Array<Offset> count_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                          const NextChunk<One>& next);

/// coo_to_csr() of the entries of all ranks, bit for bit, as far as this rank keeps them. `lengths`, from count_among(), is
/// used up; beside it and the result a rank needs a few MB. Throws Error{invalid_argument} on all ranks where other entries
/// come than were counted, else as count_among(). Collective.
template <class V>
Csr<V> assemble_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                      const Array<Offset>& lengths, const NextChunk<V>& next);

}  // namespace penstock
