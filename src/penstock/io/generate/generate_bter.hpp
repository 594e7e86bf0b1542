#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Number of vertices of each degree 0, 1, ..., following P(d) ~ exp(-(log d / alpha)^delta) for 1 <= d <=
/// max_degree, with alpha and delta such that the mean is `average` and max_degree is reached by 0.001
/// vertices on average. The counts are rounded from the cumulative distribution and sum to `vertices`. (Kolda
/// et al. 2014, section 5.)
std::vector<std::int64_t> ideal_degrees(std::int64_t vertices, double average, std::int64_t max_degree);

/// Mean clustering of each degree: c(d) = max_clustering exp(-xi (d - 2)) for d >= 2, xi such that the
/// global clustering (triangles over wedges) is `global`, at most max_clustering.
std::vector<double> ideal_clustering(std::span<const std::int64_t> degrees, double max_clustering,
                                     double global);

struct BterOptions {
  // Vertex numbers are shuffled; otherwise they ascend by degree, with 1 and 0 at the end.
  bool scramble = true;
  std::uint64_t seed = 0;
};

/// An undirected graph without self loops, in which degrees[d] vertices have about degree d and a clustering of about
/// clustering[d].
Csr<One> generate_bter(std::span<const std::int64_t> degrees, std::span<const double> clustering,
                       const BterOptions& options = {});

}  // namespace penstock
