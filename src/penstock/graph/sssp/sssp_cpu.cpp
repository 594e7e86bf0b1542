// Shortest paths by delta-stepping (Meyer, Sanders, J. Algorithms 2003): vertices wait in buckets by their distance so far.
// The first bucket is relaxed until it stays empty, and then is final. As in Zhang et al. (CGO 2020, "bucket fusion"), each
// thread has buckets of its own, and goes on with what it put into the current one as long as that is little. What is added:
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/sssp/sssp.hpp"
#include "penstock/graph/sssp/sssp_search.hpp"
#include "penstock/graph/sssp/sssp_tree.hpp"

namespace penstock {
namespace graph {
namespace {

/// The width of a bucket. Wider buckets relax edges more than once, narrower ones mean more rounds. A vertex with many edges
/// has light ones among them, so the width falls with the mean degree. Largest weight 255, in ms of one thread: R-MAT 18 (29
/// edges a vertex) took 22 with a width of 4, 24 with 13, 37 with 64; a road grid of 2000^2 (3 edges) took 183 with 64, 181
/// with 128, 198 with 1024. Two threads, uniform 18 (32 edges): 25 with 8, 24 with 16, 30 with 64. Weights with fractions are
/// similar.
double choose_delta(double largest, double mean, double degree) {
  if (!(largest > 0)) return 1;
  // Twice the mean is a bound, so that a few heavy edges do not make it wider.
  const double delta = std::min(largest, 2 * mean) / std::max(1.0, degree);
  return std::isfinite(delta) && delta > 0 ? delta : largest;
}

template <class T, class D>
Array<T> converted(const Array<D>& from) {
  if constexpr (std::is_same_v<T, D>) {
    return from;
  } else {
    const auto out = allocate<T>(from.size);
    parallel_ranges(from.size, detail::kDistancesAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        out.data[i] = from.data[i] == std::numeric_limits<D>::max() ? std::numeric_limits<T>::infinity()
                                                                    : static_cast<T>(from.data[i]);
    });
    return out;
  }
}

}  // namespace
}  // namespace graph

template <class V>
SsspResult<Distance<V>> sssp(const Csr<V>& a, const PathWeights& weights, std::span<const Index> sources,
                             const SsspOptions& options) {
  using T = Distance<V>;
  require(a.rows == a.cols, "sssp needs a square matrix");
  require(options.delta >= 0 && std::isfinite(options.delta), "sssp: delta must be positive and finite");
  require(options.limit >= 0, "sssp: limit must be zero or more");
  for (const auto s : sources)
    require(s >= 0 && s < a.rows, "sssp: source " + std::to_string(s) + " is outside a graph of " +
                                      std::to_string(a.rows) + " vertices");
  const CsrView<One> edges{
      .rows = a.rows, .cols = a.cols, .indptr = a.indptr.data, .indices = a.indices.data, .count = a.nnz()};
  const double degree = a.rows ? static_cast<double>(a.nnz()) / static_cast<double>(a.rows) : 0;
  const double delta =
      options.delta > 0 ? options.delta : graph::choose_delta(weights.largest, weights.mean, degree);
  std::optional<Array<T>> distances;
  /// Sums of whole numbers are exact in T up to this, and then the same as in T from the first to the last bit.
  constexpr double kExact = std::is_same_v<T, float> ? 0x1p24 : 0x1p31 - 1;
  const auto whole = [&]<class W>(const W* narrow) {
    const bool limited = options.limit <= kExact;
    const auto limit = static_cast<std::uint32_t>(limited ? options.limit : kExact);
    graph::PathSearch<std::uint32_t, W> search(edges, narrow, delta, limit, !limited);
    if (search.run(sources)) distances = graph::converted<T>(search.distances());
  };
  if constexpr (is_pattern<V>) {
    whole(static_cast<const One*>(nullptr));
  } else {
    std::visit(
        [&]<class A>(const A& narrow) {
          if constexpr (!std::is_same_v<A, std::monostate>) whole(narrow.data);
        },
        weights.whole);
    if (!distances) {
      const auto limit =
          static_cast<T>(std::min(options.limit, static_cast<double>(std::numeric_limits<T>::max())));
      graph::PathSearch<T, T> search(edges, a.values.data, delta, limit, false);
      search.run(sources);
      distances = search.distances();
    }
  }
  SsspResult<T> result{.distances = *distances, .predecessors = {}};
  if (options.predecessors)
    result.predecessors = graph::shortest_path_tree(a, sources, result.distances.span());
  return result;
}

#define X(V)                                                                                       \
  template SsspResult<Distance<V>> sssp(const Csr<V>&, const PathWeights&, std::span<const Index>, \
                                        const SsspOptions&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
