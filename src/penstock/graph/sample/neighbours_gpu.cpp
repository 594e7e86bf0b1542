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

template <class Id>
void DeviceTable::add_seeds(const Id* ids, std::int64_t n, bool on_host, std::int64_t first_seed) {
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
  const auto slots = reserve(n);
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

void DeviceTable::number(std::int64_t n, const Index* found, const std::int64_t* of, std::int64_t* numbers) {
  if (n == 0) return;
  const auto ranks = scratch<Offset>(n + 1, stream_);
  each(n + 1, IsFresh{slots_.data, numbers, size_, n, ranks.data}, stream_);
  prefix_sums(ranks.data, n + 1, stream_);
  const auto fresh = fetch(ranks.data + n, stream_);
  grow(size_ + fresh);
  each(n, PlaceFresh{slots_.data, numbers, ranks.data, found, of, size_, vertices_.data, seeds_.data},
       stream_);
  each(n, NumbersOfSlots{slots_.data, numbers}, stream_);
  size_ += fresh;
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
  const auto total = fetch(starts.data + count, stream);
  if (total == 0) return {};
  const bool scans = options.replace || options.fanout <= DrawEdges::kDrawnScanned;
  constexpr std::int64_t kEdgeBytes = 11 * sizeof(std::int64_t), kTakenBytes = 2 * sizeof(std::int64_t);
  require_room("a hop of " + std::to_string(total) + " edges",
               total * (kEdgeBytes + (scans ? 0 : kTakenBytes)), stream);
  const HopEdges out{scratch<std::int64_t>(total, stream), scratch<std::int64_t>(total, stream),
                     scratch<std::int64_t>(total, stream)};
  if (options.fanout >= 0) {
    const auto taken = scratch<std::int64_t>(scans ? 0 : 2 * total, stream);
    if (!scans) fill_async(taken.data, 0xff, taken.bytes(), stream);
    each(count, DrawEdges{hop, starts.data, taken.data, out.edges.data}, stream);
  }
  const auto found = scratch<Index>(total, stream);
  const auto of = scratch<std::int64_t>(to.disjoint() ? total : 0, stream);
  const auto table = to.reserve(total);
  each_atomic<FollowEdges>(total, stream, hop, starts.data, a.edges.data, table, to.size(), out.rows.data,
                           out.edges.data, out.columns.data, of.data, found.data);
  to.number(total, found.data, of.data, out.columns.data);
  return out;
}

template void DeviceTable::add_seeds(const std::int32_t*, std::int64_t, bool, std::int64_t);
template void DeviceTable::add_seeds(const std::int64_t*, std::int64_t, bool, std::int64_t);

}  // namespace penstock::graph
