#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"

// Packs neighbour lists in the memory of a device, while the columns come over the link once, in order: the same words, heads, bases and
// tables as pack_lists() makes.
namespace penstock {

struct PackGpuOptions {
  std::int64_t first = 0, count = -1;  // the vertices whose lists are packed; -1: all from `first` on
  std::int64_t memory = 0;             // bytes of the device that may be taken, what is returned included
  std::int64_t words = 0;              // bytes of it that the lists may keep, heads and bases aside; 0: all
  std::int64_t piece_bytes = 0;        // of columns that travel together; 0: what is fastest and fits
};

/// Where the seconds of packing went, on the thread that leads it.
struct PackSeconds {
  double prepare = 0;  // memory, and a look at the offsets
  double look = 0;     // at the offsets of each piece, which are made short on the way
  double send = 0;     // queueing copies, and locking pages
  double sample = 0;   // the lists that the tables are chosen by
  double wait = 0;     // until a piece is there and its bits are counted
  double finish = 0;   // the last bits
};

/// Packed lists in the memory of a device. Long lists are in a block of their own: words [0, long_words), the others follow.
struct PackedOnGpu {
  std::int64_t vertices = 0, first = 0;
  Offset edges = 0;
  Array<std::uint64_t> bases = {};
  Array<std::uint32_t> heads = {}, longs = {}, lists = {};  // the last two with more room than they take
  std::int64_t long_words = 0, list_words = 0;
  std::uint32_t tables[kPackedTables] = {};
  int table_bits = 0;
  bool repeats = false;
  double seconds = 0;           // from the first copy until all is packed
  std::int64_t link_bytes = 0;  // that were copied to the device
  PackSeconds parts = {};

  PackedListsView view() const;
  /// What PackedLists::bytes() says of the same lists, and what they take there.
  std::int64_t bytes() const { return head_bytes() + 4 * (long_words + list_words + kPackedPad); }
  std::int64_t head_bytes() const { return bases.bytes() + heads.bytes(); }
  std::int64_t word_bytes() const { return longs.bytes() + lists.bytes(); }
};

/// Packs on the stream's device, which may be the CPU, and waits. The host reads the arrays, which are those of the whole graph. Empty, with the reason in *why, where a
/// list does not ascend or has a column outside the graph, and where the memory does not suffice. Lists that have a column twice
/// may be met late: then the edges travel again.
std::optional<PackedOnGpu> pack_lists_on(const Array<const Offset>& offsets,
                                         const Array<const Index>& columns, Stream stream,
                                         const PackGpuOptions& options, std::string* why);
/// A copy in host memory.
PackedLists to_host(const PackedOnGpu& lists, Stream stream);

}  // namespace penstock
