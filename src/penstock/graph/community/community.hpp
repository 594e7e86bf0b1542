#pragma once
// Communities of a graph whose edges are weighted and undirected: a symmetric matrix, duplicates adding up. An entry (v, v)
// of weight w adds 2 w to the degree of v, as one of NetworkX's self loops does. No result depends on the number of threads.
// Of packed lists all edges weigh 1, and results are those of a pattern whose rows ascend.
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

struct PackedLists;

struct CommunityOptions {
  double resolution = 1;    // not negative; larger ones make smaller communities
  double threshold = 1e-7;  // a level, or an iteration, that gains less than this modularity is the last one
  int levels = 0;           // at most so many; 0: as many as there are
  int iterations = 1;       // of Leiden's method, each beginning with the result of the one before
  std::uint64_t seed = 0;
};

struct Communities {
  Array<Index> labels;                       // one a vertex, numbered in the order of their first vertices
  std::vector<std::vector<Index>> by_level;  // the same after each level, where they were asked for
};

/// Throws Error{invalid_argument} that names the first weight which is negative, infinite or NaN.
template <class V>
void require_community_weights(const Csr<V>& a);

/// By the method of Louvain (Blondel et al. 2008). `a` is symmetric, its weights are not negative.
template <class V>
Communities louvain(const Csr<V>& a, const CommunityOptions& options, bool by_level);
Communities louvain(const PackedLists& lists, const CommunityOptions& options, bool by_level);

/// By the method of Leiden (Traag, Waltman, van Eck 2019): every community is connected by edges of positive weight.
template <class V>
Communities leiden(const Csr<V>& a, const CommunityOptions& options);
Communities leiden(const PackedLists& lists, const CommunityOptions& options);

/// Label propagation (Raghavan, Albert, Kumara 2007): vertices take the label that weighs most among their neighbours, until
/// each has such a one, or for so many passes. A vertex keeps its label where no other weighs more.
template <class V>
Array<Index> label_propagation(const Csr<V>& a, int passes, std::uint64_t seed);
Array<Index> label_propagation(const PackedLists& lists, int passes, std::uint64_t seed);

/// The modularity of a partition (Newman, Girvan 2004; Reichardt, Bornholdt 2006), from the edges alone and independent of the
/// functions above; 0 where there is no weight. Labels are at least 0 and below `a.rows`.
template <class V>
double modularity(const Csr<V>& a, std::span<const Index> labels, double resolution);
double modularity(const PackedLists& lists, std::span<const Index> labels, double resolution);

/// The parts into which edges of positive weight connect the vertices of each community, numbered in the order of their first
/// vertices.
template <class V>
Array<Index> connected_parts(const CsrView<V>& a, std::span<const Index> labels);
Array<Index> connected_parts(const PackedLists& lists, std::span<const Index> labels);

}  // namespace penstock
