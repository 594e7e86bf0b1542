// One hop on a device: vertices draw edges, a thread each; then edges are followed, a thread each, and what they lead to is
// numbered in the order of the edges, as one thread would. Which thread comes first does not matter: a slot of the table keeps
// the smallest position.
#include "penstock/graph/sample/neighbours_gpu.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/atomics.hpp"
#include "penstock/graph/sample/choices_gpu.hpp"
#include "penstock/graph/sample/ids_gpu.hpp"

namespace penstock::graph {
namespace {

// Up to so many edges, a hop takes memory for all that it may draw, and the host waits once, for all counts. Beyond, it asks
// first how many there are.
constexpr std::int64_t kUnaskedEdges = 1 << 22;

}  // namespace

void require_hop_room(std::int64_t edges, std::int64_t bytes, Where gpu) {
  if (!gpu.is_gpu()) return;
  if (const auto free = device_memory(gpu).free; bytes > free)
    throw Error(
        Errc::out_of_memory,
        "a hop of " + std::to_string(edges) + " edges takes " + std::to_string(bytes) + " bytes on GPU " +
            std::to_string(gpu.gpu) + ", and " + std::to_string(free) +
            " are free there: give smaller fanouts or fewer seeds, or seeds in host memory and a matrix that "
            "the CPU reads");
}

template <class Id>
void DeviceTable::add_seeds(const Id* ids, std::int64_t n, bool on_host, std::int64_t first_seed,
                            std::int64_t expected) {
  if (n == 0) return;
  require(
      !is_capturing(stream_),
      "neighbors waits for what it has drawn, which a stream that is being captured cannot: sample before "
      "the capture");
  const auto there = ids_on(ids, n, on_host, universe_, "seeds", stream_);
  const auto slots = reserve(std::max(n, std::min(expected - size_, kUnaskedEdges)));
  grow(size_ + n);
  each(n, PlaceSeeds<Id>{there.data, size_, first_seed, vertices_.data, seeds_.data}, stream_);
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

/// The most vertices that there may be after so many are found.
std::int64_t DeviceTable::most_of(std::int64_t more) const {
  return disjoint_ ? size_ + more : std::min(size_ + more, std::max(universe_, size_));
}
/// Slots are taken to two thirds at most, so that the searches are short.
std::int64_t DeviceTable::slots_for(std::int64_t more) const {
  const auto most = most_of(more);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most + most / 2 + 64)));
}

std::int64_t DeviceTable::bytes_for(std::int64_t more) const {
  constexpr auto kSlot = static_cast<std::int64_t>(sizeof(TableSlot));
  constexpr auto kNumber = static_cast<std::int64_t>(sizeof(std::int64_t));
  const auto slots = slots_for(more);
  return (slots > slots_.size ? slots * kSlot : 0) + most_of(more) * (disjoint_ ? 2 : 1) * kNumber;
}

TableSlots DeviceTable::reserve(std::int64_t more) {
  const auto capacity = slots_for(more);
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

namespace {

/// Numbers what edges lead to that are drawn already.
HopEdges follow(const DeviceGraph& a, const HopRows& hop, const DrawnEdges& drawn, DeviceTable& to) {
  const auto stream = to.stream();
  const auto total = drawn.edges.size;
  if (total == 0) return {};
  const HopEdges out{scratch<std::int64_t>(total, stream), scratch<std::int64_t>(total, stream), drawn.edges};
  const auto found = scratch<Index>(total, stream);
  const auto of = scratch<std::int64_t>(to.disjoint() ? total : 0, stream);
  const auto table = to.reserve(total);
  each_atomic<FollowEdges>(total, stream, hop, static_cast<const Offset*>(drawn.starts.data), a.edges.data,
                           table, to.size(), out.rows.data, out.edges.data, out.columns.data, of.data,
                           found.data);
  to.number(total, drawn.starts.data + hop.rows, found.data, of.data, out.columns.data);
  return out;
}

}  // namespace

HopEdges sample_hop_on(const DeviceGraph& a, const DeviceTable& from, std::int64_t first, std::int64_t last,
                       DeviceTable& to, const HopOptions& options, const DeviceTimes& times) {
  const auto stream = to.stream();
  const auto count = last - first;
  if (count == 0) return {};
  HopRows hop{.vertices = from.vertices() + first,
              .seeds = from.disjoint() ? from.seeds() + first : nullptr,
              .first = first,
              .rows = count,
              .indptr = a.offsets.data,
              .fanout = options.fanout,
              .replace = options.replace,
              .seed = options.seed,
              .relation = options.relation};
  if (options.weighted || times) {
    hop.all_given = true;
    const auto drawn = choose_edges(a, hop, options.weighted, times, stream);
    return follow(a, hop, drawn, to);
  }
  const auto starts = scratch<Offset>(count + 1, stream);
  each(count + 1, CountDrawn{hop, starts.data}, stream);
  prefix_sums(starts.data, count + 1, stream);
  const auto* const edges = starts.data + count;
  const bool unasked = options.fanout >= 0 && options.fanout <= kUnaskedEdges / count;
  const auto most = unasked ? options.fanout * count : fetch(edges, stream);
  if (most == 0) return {};
  const bool scans = options.replace || options.fanout <= DrawEdges::kDrawnScanned;
  if (!unasked) {
    // Edges, their ends, ranks, what they lead to and the seeds of that; and what is taken of each vertex.
    constexpr std::int64_t kNumber = sizeof(std::int64_t);
    const auto each_edge = (to.disjoint() ? 5 : 4) * kNumber + static_cast<std::int64_t>(sizeof(Index)) +
                           (scans ? 0 : 2 * kNumber);
    require_hop_room(most, most * each_edge + to.bytes_for(most), stream.where);
  }
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
