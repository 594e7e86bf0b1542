#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/coo.hpp"
#include "penstock/format/csr.hpp"

// Changes of a graph's edges, as sorted runs: each batch is sorted once, and runs of about the same length are merged, as in a
// log-structured merge-tree (O'Neil, Cheng, Gawlick, O'Neil 1996), so that an edge is moved O(log) times. A removed edge stays in
// a run as a mark (a tombstone; GraphBLAS calls it a zombie) until the run meets the matrix.
namespace penstock {

/// An edge and what became of it: row << 32 | column << 1 | whether it was removed.
using EdgeKey = std::uint64_t;
constexpr EdgeKey edge_key(std::uint64_t row, std::uint64_t column, bool removed) {
  return row << 32 | column << 1 | EdgeKey(removed);
}
constexpr Index row_of(EdgeKey k) { return Index(k >> 32); }
constexpr Index column_of(EdgeKey k) { return Index((k & 0xFFFFFFFFU) >> 1); }
constexpr bool is_removed(EdgeKey k) { return (k & 1) != 0; }
/// What orders edges: removed and added ones of the same ends are the same edge.
constexpr EdgeKey edge_of(EdgeKey k) { return k >> 1; }

/// Each edge once, in ascending order.
template <class V>
struct Delta {
  Array<const EdgeKey> keys;
  Array<const V> values;  // one an edge, whatever it is of removed ones; empty when V is One

  std::int64_t size() const { return keys.size; }
};

struct DeltaOptions {
  std::int64_t vertices = 0;
  bool remove = false;
  bool mirror = false;  // the edge (j, i) behind each (i, j)
};

/// A batch. Where it has an edge twice, the last one counts, also of an edge and a mirror. Throws Error{invalid_argument} that
/// names the first end outside the vertices.
template <class V>
Delta<V> make_delta(const CooView<V>& edges, const DeltaOptions& options);

/// Both, of which the newer one counts where both have an edge.
template <class V>
Delta<V> merge(const Delta<V>& older, const Delta<V>& newer);

/// The edges at which keep is true, one byte an edge.
template <class V>
Delta<V> filter(const Delta<V>& d, std::span<const std::uint8_t> keep);

/// The same changes of the reversed edges.
template <class V>
Delta<V> transpose(const Delta<V>& d);

/// For each edge of `keys`, whether the matrix has it after the deltas, of which the first is the newest. Rows of the matrix
/// ascend; edges beyond its rows are not in it.
template <class V>
Array<std::uint8_t> has_edges(const Csr<V>& base, const std::vector<Delta<V>>& deltas,
                              std::span<const EdgeKey> keys);

/// Throws Error{invalid_argument} unless keys ascend and lie within so many vertices.
void check_keys(std::span<const EdgeKey> keys, std::int64_t vertices);

}  // namespace penstock
