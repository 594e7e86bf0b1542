#include "penstock/graph/sample/walks_gpu.hpp"

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/atomics.hpp"
#include "penstock/graph/sample/ids_gpu.hpp"
#include "penstock/graph/sample/walk_steps.hpp"

namespace penstock::graph {
namespace {

/// The starts as a device reads them.
template <class Id>
Array<Index> starts_on(const Id* starts, std::int64_t n, bool on_host, std::int64_t vertices, Stream stream) {
  const auto ids = ids_on(starts, n, on_host, vertices, "starts", stream);
  const auto narrow = scratch<Index>(n, stream);
  each(n, NarrowIds<Id>{ids.data, narrow.data}, stream);
  return narrow;
}

}  // namespace

EdgeFilter DeviceGraph::filter(std::int64_t steps) const {
  constexpr std::int64_t kStepsShare = 4;
  const std::lock_guard guard(lock_);
  steps_ += steps;
  if (words_.size == 0 && steps_ >= edges.size / kStepsShare) {
    const auto words = EdgeFilter::words_for(edges.size);
    const auto bytes = words * static_cast<std::int64_t>(sizeof(std::uint32_t));
    if (where.is_gpu() && bytes > device_memory(where).free / 2) return {};
    const UseDevice use(where);
    const OwnedStream stream(where);
    const auto made = allocate<std::uint32_t>(words, device_place(where));
    fill_async(made.data, 0, made.bytes(), stream);
    each_atomic<FillFilter>(edges.size, stream, offsets.data, rows, edges.data, made.data,
                            static_cast<std::uint64_t>(words - 1));
    synchronize(stream);
    words_ = made;
  }
  return {words_.data, static_cast<std::uint64_t>(words_.size - 1)};
}

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
  const auto filter = options.q != 1 ? a.filter(n * options.length) : EdgeFilter{};
  const auto walk = [&]<class V>(const V* weights) {
    constexpr bool kWeighted = !is_pattern<V>;
    a.note_queued();
    const auto go = [&]<bool kBiased>() {
      const auto rules =
          walk_rules<kWeighted, kBiased>(a.offsets.data, a.edges.data, weights, a.largest.data, options);
      each(n, WalkAlone<V, kWeighted, kBiased>{rules, filter, from.data, out}, stream);
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
