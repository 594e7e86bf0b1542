// One hop on a device: vertices draw edges, a thread each; then edges are followed, a thread each, and what they lead to is
// numbered in the order of the edges, as one thread would. Which thread comes first does not matter: a slot of the table keeps
// the smallest position.
#include "penstock/graph/sample/neighbours_gpu.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/atomics.hpp"
#include "penstock/graph/sample/gather_steps.hpp"

namespace penstock::graph {
namespace {

// Up to so many edges, a hop takes memory for all that it may draw, and the host waits once, for all counts. Beyond, it asks
// first how many there are.
constexpr std::int64_t kUnaskedEdges = 1 << 22;

}  // namespace

template <class Id>
void DeviceTable::add_seeds(const Id* ids, std::int64_t n, bool on_host, std::int64_t first_seed,
                            std::int64_t expected) {
  if (n == 0) return;
  require(
      !is_capturing(stream_),
      "neighbors waits for what it has drawn, which a stream that is being captured cannot: sample before "
      "the capture");
  Array<Id> copy;
  if (on_host) {
    copy = scratch<Id>(n, stream_);
    copy_async(copy.data, ids, copy.bytes(), stream_);
    ids = copy.data;
  }
  const auto bad = find_first(n, IsOutside<Id>{ids, universe_}, stream_);
  if (bad != kNone)
    throw Error(Errc::invalid_argument,
                "seeds[" + std::to_string(bad) + "]=" + std::to_string(fetch(ids + bad, stream_)) +
                    " is outside a graph of " + std::to_string(universe_) + " vertices");
  const auto slots = reserve(std::max(n, std::min(expected - size_, kUnaskedEdges)));
  grow(size_ + n);
  each(n, PlaceSeeds<Id>{ids, size_, first_seed, vertices_.data, seeds_.data}, stream_);
  each_atomic<InsertVertices>(n, stream_, slots, vertices_.data, seeds_.data, size_);
  size_ += n;
}

void DeviceTable::grow(std::int64_t size) {
  const auto longer = [&](Array<std::int64_t>& some) {
    const auto more = scratch<std::int64_t>(size, stream_);
    if (size_ > 0)
      copy_async(more.data, some.data, size_ * static_cast<std::int64_t>(sizeof(std::int64_t)), stream_);
    some = more;
  };
  if (size == size_) return;
  longer(vertices_);
  if (disjoint_) longer(seeds_);
}

TableSlots DeviceTable::reserve(std::int64_t more) {
  auto most = size_ + more;
  if (!disjoint_) most = std::min(most, universe_);
  // Slots are taken to two thirds at most, so that the searches are short.
  const auto capacity =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most + most / 2 + 64)));
  const bool grows = capacity > slots_.size;
  if (grows) slots_ = scratch<TableSlot>(capacity, stream_);
  const TableSlots table{slots_.data, slots_.size - 1, universe_};
  if (grows) {
    each(capacity, FreeSlots{slots_.data}, stream_);
    each_atomic<InsertVertices>(size_, stream_, table, vertices_.data, seeds_.data, std::int64_t{0});
  }
  return table;
}

std::int64_t DeviceTable::number(std::int64_t most, const Offset* edges, const Index* found,
                                 const std::int64_t* of, std::int64_t* numbers) {
  const auto ranks = scratch<Offset>(most + 1, stream_);
  const auto counts = scratch<HopCounts>(1, stream_);
  each(most + 1, IsFresh{slots_.data, numbers, size_, edges, ranks.data}, stream_);
  prefix_sums(ranks.data, most + 1, stream_);
  each(1, TellCounts{edges, ranks.data + most, counts.data}, stream_);
  const auto [n, fresh] = fetch(counts.data, stream_);
  grow(size_ + fresh);
  each(n, PlaceFresh{slots_.data, numbers, ranks.data, found, of, size_, vertices_.data, seeds_.data},
       stream_);
  each(n, NumbersOfSlots{slots_.data, numbers}, stream_);
  size_ += fresh;
  return n;
}

HopEdges sample_hop_on(const DeviceGraph& a, const DeviceTable& from, std::int64_t first, std::int64_t last,
                       DeviceTable& to, const HopOptions& options) {
  const auto stream = to.stream();
  const auto count = last - first;
  if (count == 0) return {};
  const HopRows hop{.vertices = from.vertices() + first,
                    .seeds = from.disjoint() ? from.seeds() + first : nullptr,
                    .first = first,
                    .rows = count,
                    .indptr = a.offsets.data,
                    .fanout = options.fanout,
                    .replace = options.replace,
                    .seed = options.seed,
                    .relation = options.relation};
  const auto starts = scratch<Offset>(count + 1, stream);
  each(count + 1, CountDrawn{hop, starts.data}, stream);
  prefix_sums(starts.data, count + 1, stream);
  const auto* const edges = starts.data + count;
  const bool unasked = options.fanout >= 0 && options.fanout <= kUnaskedEdges / count;
  const auto most = unasked ? options.fanout * count : fetch(edges, stream);
  if (most == 0) return {};
  const bool scans = options.replace || options.fanout <= DrawEdges::kDrawnScanned;
  constexpr std::int64_t kEdgeBytes = 11 * sizeof(std::int64_t), kTakenBytes = 2 * sizeof(std::int64_t);
  if (!unasked)
    require_room("a hop of " + std::to_string(most) + " edges",
                 most * (kEdgeBytes + (scans ? 0 : kTakenBytes)), stream);
  HopEdges out{scratch<std::int64_t>(most, stream), scratch<std::int64_t>(most, stream),
               scratch<std::int64_t>(most, stream)};
  if (options.fanout >= 0) {
    const auto taken = scratch<std::int64_t>(scans ? 0 : 2 * most, stream);
    if (!scans) fill_async(taken.data, 0xff, taken.bytes(), stream);
    each(count, DrawEdges{hop, starts.data, taken.data, out.edges.data}, stream);
  }
  const auto found = scratch<Index>(most, stream);
  const auto of = scratch<std::int64_t>(to.disjoint() ? most : 0, stream);
  const auto table = to.reserve(most);
  each_atomic<FollowEdges>(most, stream, hop, starts.data, a.edges.data, table, to.size(), out.rows.data,
                           out.edges.data, out.columns.data, of.data, found.data);
  const auto total = to.number(most, edges, found.data, of.data, out.columns.data);
  for (auto* some : {&out.rows, &out.columns, &out.edges}) *some = some->slice(0, total);
  return out;
}

template void DeviceTable::add_seeds(const std::int32_t*, std::int64_t, bool, std::int64_t, std::int64_t);
template void DeviceTable::add_seeds(const std::int64_t*, std::int64_t, bool, std::int64_t, std::int64_t);

}  // namespace penstock::graph
