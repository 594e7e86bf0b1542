// Edges by weights or times on a device. They are listed for all vertices of a hop; then those of each vertex that count are sorted,
// or their weights are added up.
#include "penstock/graph/sample/choices_gpu.hpp"

#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/choice_steps.hpp"

namespace penstock::graph {
namespace {

/// Edges from which those of each vertex are drawn.
struct ListedEdges {
  Array<Offset> starts;
  Array<std::int64_t> edges;
};

// Of an edge that is looked at: its number, marks, and for weights keys and positions twice.
constexpr std::int64_t kLookedBytes = 24, kWeighedBytes = 56;

ListedEdges list_edges(const HopRows& hop, bool weighted, const DeviceTimes& times, Stream stream) {
  ListedEdges out{scratch<Offset>(hop.rows + 1, stream), {}};
  each(hop.rows + 1, CountEdges{hop, out.starts.data}, stream);
  prefix_sums(out.starts.data, hop.rows + 1, stream);
  const auto total = fetch(out.starts.data + hop.rows, stream);
  if (total == 0) return out;
  require_hop_room(total, total * (weighted ? kWeighedBytes : kLookedBytes), stream.where);
  out.edges = scratch<std::int64_t>(total, stream);
  each(total, ListEdges{hop, out.starts.data, out.edges.data}, stream);
  if (!times) return out;
  const auto ranks = scratch<Offset>(total + 1, stream);
  each(total + 1,
       IsInTime{hop, out.starts.data, out.edges.data, times.edges.data, times.seeds.data, total, ranks.data},
       stream);
  prefix_sums(ranks.data, total + 1, stream);
  const ListedEdges kept{scratch<Offset>(hop.rows + 1, stream),
                         scratch<std::int64_t>(fetch(ranks.data + total, stream), stream)};
  each(total, KeepMarked{ranks.data, out.edges.data, kept.edges.data}, stream);
  each(hop.rows + 1, RanksOfStarts{ranks.data, out.starts.data, kept.starts.data}, stream);
  return kept;
}

/// As if the listed edges were the graph.
DrawnEdges draw_alike(HopRows hop, const ListedEdges& listed, Stream stream) {
  hop.vertices = nullptr;
  hop.indptr = listed.starts.data;
  DrawnEdges out{scratch<Offset>(hop.rows + 1, stream), {}};
  each(hop.rows + 1, CountDrawn{hop, out.starts.data}, stream);
  prefix_sums(out.starts.data, hop.rows + 1, stream);
  const auto total = fetch(out.starts.data + hop.rows, stream);
  out.edges = scratch<std::int64_t>(total, stream);
  if (hop.fanout >= 0) {
    const bool scans = hop.replace || hop.fanout <= DrawEdges::kDrawnScanned;
    const auto taken = scratch<std::int64_t>(scans ? 0 : 2 * total, stream);
    if (!scans) fill_async(taken.data, 0xff, taken.bytes(), stream);
    each(hop.rows, DrawEdges{hop, out.starts.data, taken.data, out.edges.data}, stream);
  }
  each(total, FromListed{hop, out.starts.data, listed.edges.data, out.edges.data}, stream);
  return out;
}

DrawnEdges draw_smallest_keys(const HopRows& hop, const ListedEdges& listed, const EdgeValues& weights,
                              Stream stream) {
  const auto n = listed.edges.size;
  const auto* const starts = listed.starts.data;
  Buffers<std::int64_t> positions(n, stream);
  {
    Buffers<std::uint64_t> keys(n, stream);
    each(n, KeyByWeight{hop, starts, listed.edges.data, weights, keys.first.data, positions.first.data},
         stream);
    sort_pairs(keys, positions, 64, stream);
    synchronize(stream);
  }
  {
    Buffers<std::uint32_t> keys(n, stream);
    each(n, RowsOfPositions{starts, hop.rows, positions.first.data, keys.first.data}, stream);
    sort_pairs(keys, positions, bits_below(hop.rows), stream);
    synchronize(stream);
  }
  const auto ranks = scratch<Offset>(n + 1, stream);
  fill_async(ranks.data, 0, ranks.bytes(), stream);
  each(n, MarkSmallest{hop, starts, positions.first.data, listed.edges.data, weights, ranks.data}, stream);
  prefix_sums(ranks.data, n + 1, stream);
  const DrawnEdges out{scratch<Offset>(hop.rows + 1, stream),
                       scratch<std::int64_t>(fetch(ranks.data + n, stream), stream)};
  each(n, KeepMarked{ranks.data, listed.edges.data, out.edges.data}, stream);
  each(hop.rows + 1, RanksOfStarts{ranks.data, starts, out.starts.data}, stream);
  synchronize(stream);
  return out;
}

DrawnEdges draw_by_sums(const HopRows& hop, const ListedEdges& listed, const EdgeValues& weights,
                        Stream stream) {
  const auto* const starts = listed.starts.data;
  const auto sums = scratch<double>(listed.edges.size, stream);
  each(listed.edges.size, TakeWeights{listed.edges.data, weights, sums.data}, stream);
  each(hop.rows, SumWeights{starts, sums.data}, stream);
  require(find_first(hop.rows, IsTooMuch{starts, sums.data}, stream) == kNone,
          "the weights of a row add up to more than a float64 holds: scale them");
  DrawnEdges out{scratch<Offset>(hop.rows + 1, stream), {}};
  each(hop.rows + 1, CountByWeight{hop, starts, sums.data, out.starts.data}, stream);
  prefix_sums(out.starts.data, hop.rows + 1, stream);
  const auto total = fetch(out.starts.data + hop.rows, stream);
  out.edges = scratch<std::int64_t>(total, stream);
  each(total, DrawByWeight{hop, starts, out.starts.data, sums.data, listed.edges.data, out.edges.data},
       stream);
  return out;
}

void require_weights(const DeviceGraph& a, const HopRows& hop, const ListedEdges& listed,
                     const EdgeValues& weights, Stream stream) {
  const auto bad = find_first(listed.edges.size, HasBadWeight{listed.edges.data, weights}, stream);
  if (bad == kNone) return;
  const auto e = fetch(listed.edges.data + bad, stream);
  std::vector<Offset> starts(at(hop.rows + 1));
  copy_async(starts.data(), listed.starts.data, listed.starts.bytes(), stream);
  synchronize(stream);
  const auto row = row_of_entry(starts.data(), hop.rows, bad);
  const auto w = weights.single ? static_cast<double>(fetch(weights.single + e, stream))
                                : fetch(weights.real + e, stream);
  throw Error(Errc::invalid_argument, "the edge " + std::to_string(fetch(hop.vertices + row, stream)) +
                                          " -> " + std::to_string(fetch(a.edges.data + e, stream)) +
                                          " has weight " + std::to_string(w) +
                                          ": weighted sampling needs finite weights of zero or more");
}

}  // namespace

DrawnEdges choose_edges(const DeviceGraph& a, const HopRows& hop, bool weighted, const DeviceTimes& times,
                        Stream stream) {
  const auto listed = list_edges(hop, weighted, times, stream);
  if (listed.edges.size == 0) {
    DrawnEdges none{scratch<Offset>(hop.rows + 1, stream), {}};
    fill_async(none.starts.data, 0, none.starts.bytes(), stream);
    return none;
  }
  if (!weighted) return draw_alike(hop, listed, stream);
  EdgeValues weights;
  if (const auto* some = std::get_if<Array<const float>>(&a.weights)) weights.single = some->data;
  if (const auto* some = std::get_if<Array<const double>>(&a.weights)) weights.real = some->data;
  if (weights.single || weights.real) require_weights(a, hop, listed, weights, stream);
  return hop.replace && hop.fanout >= 0 ? draw_by_sums(hop, listed, weights, stream)
                                        : draw_smallest_keys(hop, listed, weights, stream);
}

}  // namespace penstock::graph
