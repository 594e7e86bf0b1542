#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/solver/multigrid/rank_rows.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"

namespace penstock {

/// Vertices that stand for `block` rows each: an entry is the Frobenius norm of a block. Columns ascend.
template <class T>
Csr<T> condensed(const Csr<T>& a, std::int64_t block);

/// Which entries join a row with another strongly: those with s_ij >= strength * min(m_i, m_j), where s_ij is
/// |a_ij| / sqrt(a_ii a_jj) and m_i the largest s of row i. It is symmetric, and does not change where A is scaled.
template <class T>
struct Strength {
  double threshold = 0;        // the square of `strength`
  Array<const T> inverse;      // of the diagonal; zero for a row whose diagonal entry is zero
  Array<const float> largest;  // the square of m

  StrengthView<T> view() const { return {threshold, inverse.data, largest.data}; }
  double square(std::int64_t i, std::int64_t j, T a) const { return view().square(i, j, a); }
  bool operator()(std::int64_t i, std::int64_t j, T a) const { return view()(i, j, a); }
};

/// `inverse` has an entry for each column of A; `largest` has one for each row.
template <class T>
Strength<T> strength_of(const Csr<T>& a, Array<const T> inverse, double strength);

/// The pattern of the strong entries beside the diagonal.
template <class T>
Csr<One> strong_graph(const Csr<T>& a, const Strength<T>& strong);

/// For each vertex of an undirected graph whether it is in a maximal set of which no two are nearer than three edges (Bell,
/// Dalton and Olson 2012). Priorities are hashes of `seed`. Vertices without edges are not in it. The same for any number of threads
/// and of ranks: `rows` says which vertices this one has. Collective.
Array<const std::uint8_t> distance_2_independent_set(const Csr<One>& graph, std::uint64_t seed,
                                                     const RankRows& rows = {});

struct Aggregates {
  std::int64_t count = 0;                // on all ranks
  Array<const Index> of;                 // of each vertex here; -1: it has no edges, and no aggregate
  std::vector<GlobalIndex> starts = {};  // the first whose centre each rank has; count at the end
};

/// Aggregates around the vertices of such a set: its neighbours, and then the vertices beside them. They may cross ranks, and are
/// numbered as their centres are ordered: the same for any number of ranks that have ranges of vertices. Collective.
Aggregates aggregate(const Csr<One>& graph, std::uint64_t seed, const RankRows& rows = {});

}  // namespace penstock
