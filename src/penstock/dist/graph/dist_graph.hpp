#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/dist/graph/marks.hpp"
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {

/// The matrix with the owners of its rows as the owners of its columns, so that both ends of an edge are vertices of one
/// kind. Where they are so already, it is the matrix itself; else entries are copied, and ghosts are found again. Collective.
/// Throws
/// Error{invalid_argument} on all ranks unless it is square; errors begin with `algorithm`.
template <class V>
DistCsr<V> aligned(const DistCsr<V>& a, std::string_view algorithm);

/// The edges alone of a matrix; shares its arrays.
template <class V>
DistCsr<One> edges_of(const DistCsr<V>& a) {
  const auto bare = [](const Csr<V>& b) { return Csr<One>{b.rows, b.cols, b.indptr, b.indices, {}}; };
  return {a.comm, a.row_owners, a.col_owners, bare(a.local), bare(a.halo), a.plan, a.sums};
}

/// Every edge of an aligned matrix turned around, shared out by whole rows as its vertices are. Collective; each edge
/// travels once.
DistCsr<One> transpose(const DistCsr<One>& a);

/// Whether there are as many edges (j, i) as (i, j), for all i and j: sums of two 64-bit hashes are compared, and nothing
/// but these travels. A pattern that is not symmetric passes for one with a chance of 2^-128. Collective, the same answer on all
/// ranks.
bool has_symmetric_pattern(const DistCsr<One>& a);

/// What searches of one graph share on this rank: the edges, exchanges, memory. Used by one search at a time.
class DistGraph {
 public:
  explicit DistGraph(DistCsr<One> edges);  // aligned; collective

  const DistCsr<One>& edges() const { return a_; }
  Comm& comm() const { return *a_.comm; }
  const Ownership& owners() const { return *a_.row_owners; }
  std::int64_t vertices() const { return a_.rows(); }  // owned here
  std::int64_t ghosts() const { return a_.plan->ghosts(); }
  std::int64_t foreign() const { return a_.local.rows - vertices(); }  // rows that someone else owns
  bool any_foreign() const { return any_foreign_; }                    // on any rank
  std::int64_t all_edges() const { return all_edges_; }
  /// Edges out of a vertex that is owned here, wherever they are.
  Offset degree(Index v) const { return degrees_.data[v]; }
  /// Bits of the vertices owned here that have edges here.
  const std::vector<graph::Word>& has_edges() const { return has_edges_; }
  /// The numbers of owned columns, then of ghosts.
  GlobalIndex column(std::int64_t k) const { return columns_.data[k]; }

  Marks& columns() { return *column_marks_; }
  Marks& rows() { return *row_marks_; }  // of foreign rows; only where any_foreign()
  MarkTraffic traffic() const;           // of all searches

 private:
  DistCsr<One> a_;
  bool any_foreign_ = false;
  std::int64_t all_edges_ = 0;
  Array<Offset> degrees_;
  std::vector<graph::Word> has_edges_;
  Array<GlobalIndex> columns_;
  std::unique_ptr<Marks> column_marks_, row_marks_;
};

/// The numbers of a plan's ghosts. Collective.
Array<GlobalIndex> ghost_numbers(Comm& comm, const Ownership& of, const CommPlan& plan);

}  // namespace penstock
