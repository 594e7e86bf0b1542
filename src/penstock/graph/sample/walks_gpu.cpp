#include "penstock/graph/sample/walks_gpu.hpp"

#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/walk_steps.hpp"

namespace penstock::graph {
namespace {

/// The starts as a device reads them.
template <class Id>
Array<Index> starts_on(const Id* starts, std::int64_t n, bool on_host, std::int64_t vertices, Stream stream) {
  Array<Id> copy;
  if (on_host) {
    copy = scratch<Id>(n, stream);
    copy_async(copy.data, starts, copy.bytes(), stream);
    starts = copy.data;
  }
  const auto bad = find_first(n, IsOutside<Id>{starts, vertices}, stream);
  if (bad != kNone)
    throw Error(Errc::invalid_argument,
                "starts[" + std::to_string(bad) + "]=" + std::to_string(fetch(starts + bad, stream)) +
                    " is outside a graph of " + std::to_string(vertices) + " vertices");
  const auto narrow = scratch<Index>(n, stream);
  each(n, NarrowIds<Id>{starts, narrow.data}, stream);
  return narrow;
}

}  // namespace

template <class Id>
void random_walks_on(const DeviceGraph& a, const Id* starts, std::int64_t n, bool on_host,
                     const WalkOptions& options, Index* out, Stream stream) {
  if (n == 0) return;
  require(!is_capturing(stream),
          "random_walks looks at its starts first, which a stream that is being captured cannot: walk before "
          "the capture");
  require(a.rows == a.cols, "random_walks: the matrix is not square");
  require(!options.weighted || std::holds_alternative<std::monostate>(a.weights) || a.largest.size == a.rows,
          "walks: weighted ones need the largest weight of each row");
  const auto from = starts ? starts_on(starts, n, on_host, a.rows, stream) : Array<Index>{};
  const auto walk = [&]<class V>(const V* weights) {
    constexpr bool kWeighted = !is_pattern<V>;
    const auto go = [&]<bool kBiased>() {
      const auto rules =
          walk_rules<kWeighted, kBiased>(a.offsets.data, a.edges.data, weights, a.largest.data, options);
      each(n, WalkAlone<V, kWeighted, kBiased>{rules, from.data, out}, stream);
    };
    if (is_biased(options)) go.template operator()<true>();
    else go.template operator()<false>();
  };
  const auto* floats = std::get_if<Array<const float>>(&a.weights);
  const auto* doubles = std::get_if<Array<const double>>(&a.weights);
  // Weights that are not read make no other walks: one kernel serves.
  if (!options.weighted || (!floats && !doubles)) walk(static_cast<const One*>(nullptr));
  else if (floats) walk(floats->data);
  else walk(doubles->data);
}

template void random_walks_on(const DeviceGraph&, const std::int32_t*, std::int64_t, bool, const WalkOptions&,
                              Index*, Stream);
template void random_walks_on(const DeviceGraph&, const std::int64_t*, std::int64_t, bool, const WalkOptions&,
                              Index*, Stream);

}  // namespace penstock::graph
