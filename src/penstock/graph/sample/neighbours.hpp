#pragma once
#include <cstdint>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/sample/vertex_table.hpp"

namespace penstock::graph {

struct PackedRows;

struct HopOptions {
  std::int64_t fanout = -1;  // edges drawn of a vertex; -1: all
  bool replace = false;      // one edge may be drawn several times
  bool weighted = false;     // as likely as their values, which must be finite and not negative
  std::uint64_t seed = 0, relation = 0;
};

/// Edges are used for a seed if their time is not later than the seed's. Empty: always.
struct HopTimes {
  std::span<const std::int64_t> edges = {}, seeds = {};
};

struct HopEdges {
  Array<std::int64_t> rows, columns;  // numbers of the vertices in their tables
  Array<std::int64_t> edges;          // positions in the matrix's entries
};

/// Draws edges of the vertices [first, last) of `from`, whose ends are added to `to` (which may be the same table). What is
/// drawn of a vertex depends on the seed, the relation and the vertex's number alone. Without replacement, all subsets of
/// `fanout` edges are equally likely (Floyd's method: Bentley, Floyd 1987); weighted ones are drawn one after the other
/// (Efraimidis, Spirakis 2006). A vertex with fewer edges gives them all, in order.
///
/// With `lists`, the packed form of `a`, whose rows then ascend, columns of `a` are not read, and values only for weights: lists are
/// decoded of the vertices alone of which edges are drawn. What is drawn is the same.
template <class V>
HopEdges sample_hop(const Csr<V>& a, const VertexTable& from, std::int64_t first, std::int64_t last,
                    VertexTable& to, const HopOptions& options, const HopTimes& times,
                    const PackedRows* lists = nullptr);

}  // namespace penstock::graph
