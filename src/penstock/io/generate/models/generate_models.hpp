#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

// Models of graphs with structure, a file each: undirected, without self loops and multiple edges, rows sorted. They throw
// Error{invalid_argument} that names a bad option. The same graphs for any number of threads.
namespace penstock {

struct GeometricOptions {
  std::int64_t n = 0;
  double radius = 0;
  // Vertices are numbered as their points are drawn; otherwise by the cells of a grid, row by row of it.
  bool scramble = true;
  std::uint64_t seed = 0;
};

template <class V>
struct Geometric {
  Csr<V> graph;      // values are distances
  Array<double> xy;  // two a vertex
};

/// n points in the unit square, of which those within `radius` of one another are joined (Gilbert 1961).
template <class V>
Geometric<V> generate_geometric(const GeometricOptions& options);

/// Vertices come one by one, and each joins m of those before it by their degrees (Barabasi and Albert 1999). They begin
/// with a star of m + 1, as NetworkX's do.
Csr<One> generate_attachment(std::int64_t n, std::int64_t m, std::uint64_t seed);

/// Groups of these sizes, one behind the other; vertices of groups g and h are joined with probability p[g * groups + h]
/// (Holland, Laskey, Leinhardt 1983). p must be symmetric.
Csr<One> generate_blocks(const std::vector<std::int64_t>& sizes, const std::vector<double>& p,
                         std::uint64_t seed);

/// The same of equal groups, with two probabilities: any number of groups costs the same.
Csr<One> generate_planted(std::int64_t groups, std::int64_t size, double p_in, double p_out,
                          std::uint64_t seed);

/// A ring whose vertices are joined to their k nearest ones; each edge gets another end with probability p (Watts and
/// Strogatz 1998).
Csr<One> generate_small_world(std::int64_t n, std::int64_t k, double p, std::uint64_t seed);

}  // namespace penstock
