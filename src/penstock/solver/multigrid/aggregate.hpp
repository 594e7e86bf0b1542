#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Which entries join a row with another strongly: those with s_ij >= strength * min(m_i, m_j), where s_ij is
/// |a_ij| / sqrt(a_ii a_jj) and m_i the largest s of row i. It is symmetric, and does not change where A is scaled.
template <class T>
struct Strength {
  double threshold = 0;        // the square of `strength`
  Array<const T> inverse;      // of the diagonal; zero for a row whose diagonal entry is zero
  Array<const float> largest;  // the square of m

  double square(std::int64_t i, std::int64_t j, T a) const {
    const auto v = static_cast<double>(a);
    return v * static_cast<double>(inverse.data[i]) * (v * static_cast<double>(inverse.data[j]));
  }
  bool operator()(std::int64_t i, std::int64_t j, T a) const {
    const auto s = square(i, j, a);
    return s > 0 && s >= threshold * static_cast<double>(std::min(largest.data[i], largest.data[j]));
  }
};

template <class T>
Strength<T> strength_of(const Csr<T>& a, Array<const T> inverse, double strength);

/// The pattern of the strong entries beside the diagonal.
template <class T>
Csr<One> strong_graph(const Csr<T>& a, const Strength<T>& strong);

/// For each vertex of an undirected graph whether it is in a maximal set of which no two are nearer than three edges (Bell,
/// Dalton and Olson 2012). Priorities are hashes of `seed`. Vertices without edges are not in it. The same for any number of threads.
Array<const std::uint8_t> distance_2_independent_set(const Csr<One>& graph, std::uint64_t seed);

struct Aggregates {
  std::int64_t count = 0;
  Array<const Index> of;  // of each vertex; -1: it has no edges, and no aggregate
};

/// Aggregates around the vertices of such a set: its neighbours, and then the vertices beside them.
Aggregates aggregate(const Csr<One>& graph, std::uint64_t seed);

}  // namespace penstock
