#pragma once
#include <functional>
#include <optional>

#include "penstock/comm/comm.hpp"
#include "penstock/format/coo.hpp"
#include "penstock/io/rounds.hpp"

// Makes a matrix whose entries the ranks find in any order, each rank some of them, such as those of its part of a text file.
// Every rank gives its entries twice, in chunks, and they are sent to the rank that keeps them: the first time to count
// the entries of each row, the second time to write them.
namespace penstock {

/// Some entries. `base` is the number of the first row and column: it is subtracted from all of them.
template <class V>
struct EntryChunk {
  std::int64_t size = 0, base = 0;
  CooIndices row, col;
  const V* values = nullptr;  // unused when V is One
};

/// Gives a rank's next chunk, which stays valid until the next call.
template <class V>
using NextChunk = std::function<Turn(EntryChunk<V>&)>;

/// How many entries come in each of the rows that this rank keeps by `p`, before equal ones are summed. If the chunks of one
/// rank end in failure, all ranks throw RoundsFailed. At most 2^31 - 1 rows. Collective.
Array<Offset> count_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                          const NextChunk<One>& next);

/// The rows that this rank keeps of what coo_to_csr() makes of the entries of all ranks, bit for bit. `lengths` comes from
/// count_among() and is overwritten; beside it and the result a rank needs a few MB. All ranks throw Error{invalid_argument}
/// if other entries come than were counted; other errors are those of count_among(). Collective.
template <class V>
Csr<V> assemble_among(Comm& comm, const Partition& p, const KeptRows& keep, Mirror mirror,
                      const Array<Offset>& lengths, const NextChunk<V>& next);

}  // namespace penstock
