#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "penstock/core/array.hpp"
#include "penstock/core/choice.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// How alike two vertices are by the neighbours that they share.
enum class Measure { common_neighbors, jaccard, overlap, cosine, adamic_adar, resource_allocation };

/// In the order of the enumeration.
inline constexpr std::array kMeasures{
    Choice{"common_neighbors", "how many neighbours are shared"},
    Choice{"jaccard", "the shared ones by those of either"},
    Choice{"overlap", "the shared ones by those of the vertex that has fewer"},
    Choice{"cosine", "the shared ones by the root of the product of the degrees"},
    Choice{"adamic_adar", "the sum of 1 / log(degree) over the shared ones"},
    Choice{"resource_allocation", "the sum of 1 / degree over the shared ones"},
};

/// Throws Error{invalid_argument} with the choices where there is none of that name.
Measure measure_named(std::string_view name);

/// For each pair (u[i], v[i]) the sum of `weight` over the neighbours that both have, in ascending order, the two themselves
/// left out; their number if `weight` is empty. Rows of `a` ascend strictly.
Array<double> shared_sums(const CsrView<One>& a, std::span<const Index> u, std::span<const Index> v,
                          std::span<const double> weight);

/// The measure of each pair; 0 where nothing is shared. `a` is simple and symmetric.
Array<double> similarity(const CsrView<One>& a, std::span<const Index> u, std::span<const Index> v,
                         Measure measure);

struct MostSimilar {
  Array<Index> vertices;  // k for each vertex that was asked for, the best first, -1 where there are fewer
  Array<double> scores;   // 0 where there are fewer
};

struct MostSimilarOptions {
  Measure measure = Measure::jaccard;
  std::int64_t k = 1;
  bool neighbours = true;  // false: not those that an edge joins with the vertex
};

/// For each vertex of `some` the k others that share neighbours with it and have the largest measure; of equal ones the smaller
/// number comes first. Scores have the bits of similarity(). `a` is simple and symmetric.
MostSimilar most_similar(const CsrView<One>& a, std::span<const Index> some,
                         const MostSimilarOptions& options);

namespace graph {

/// What a shared neighbour adds: one number a vertex, or none if each adds 1.
Array<double> shared_weights(const CsrView<One>& a, Measure measure);
/// The measure of two vertices of these degrees, from the sum over the neighbours that they share.
double measured(Measure measure, double sum, Offset degree_u, Offset degree_v);

}  // namespace graph
}  // namespace penstock
