#pragma once
#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// The truss number of every entry of the simple, symmetric `a`: the largest k such that the edge is in a subgraph in which
/// every edge is in at least k - 2 triangles. It is the same for (i, j) and (j, i), and at least 2. The result depends on the
/// graph alone, not on the number of threads.
Array<Index> truss_numbers(const CsrView<One>& a);

namespace graph {

/// Edges by number: those above the diagonal, row by row.
struct NumberedEdges {
  Array<Offset> of_entry;  // the edge that each entry of the matrix stands for
  Array<Index> from, to;   // its ends, from < to
  std::int64_t size() const { return from.size; }
};
NumberedEdges number_edges(const CsrView<One>& a);

/// How many triangles each edge is in.
Array<Index> triangles_of_edges(const CsrView<One>& a, const NumberedEdges& edges);

}  // namespace graph
}  // namespace penstock
