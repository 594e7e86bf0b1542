#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"

// Packs neighbour lists in the memory of a device, while the columns come over the link once, in order: the same words, heads, bases and
// tables as pack_lists() makes.
namespace penstock {

struct PackedSample;

/// Lengths of all edges of a graph: whole numbers of 1, 2 or 4 bytes each, beside the columns. Each is packed as what it exceeds the
/// least one, in so many bits, at most kLengthBits.
struct PackLengths {
  Array<const std::byte> values = {};
  int entry_bytes = 0;  // 0: edges have none
  std::uint32_t least = 1;
  int bits = 0;

  bool any() const { return entry_bytes > 0; }
};

struct PackGpuOptions {
  std::int64_t first = 0, count = -1;  // the vertices whose lists are packed; -1: all from `first` on
  std::int64_t memory = 0;             // bytes of the device that may be taken, what is returned included
  std::int64_t words = 0;              // bytes of it that the lists may keep, heads and bases aside; 0: all
  bool leaves_sample = false;          // if not all fit, less of them, as packed_near_room() says
  std::int64_t piece_bytes = 0;        // of columns that travel together; 0: what is fastest and fits
  PackLengths lengths = {};            // they travel with the columns
  bool far = false;                    // lists that exceed `words` come back to host memory, pinned for a GPU
  std::shared_ptr<const PackedSample> sample = {};  // sample_lists() of the vertices, if the caller has it
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

/// Packed lists in the memory of a device. Words [0, long_words) are those of long lists, list_words follow. All are on the device,
/// each of the two in a block of its own; or those from near_words on are in host memory, and the end of the first block is filled, so
/// that the second one follows it.
struct PackedOnGpu {
  std::int64_t vertices = 0, first = 0;
  Offset edges = 0;
  Array<std::uint64_t> bases = {};
  Array<std::uint32_t> heads = {}, longs = {}, lists = {};  // the last two with more room than they take
  std::int64_t long_words = 0, list_words = 0, near_words = 0;
  std::int64_t near_vertices = 0;                      // the first ones, whose lists are on the device
  std::optional<Array<const std::uint32_t>> far = {};  // in host memory, kPackedPad more
  std::uint32_t tables[kPackedTables] = {};
  int table_bits = 0;
  bool repeats = false;
  bool lengths = false;  // as of PackedLists
  int length_bits = 0;
  std::uint32_t length_least = 1;
  double seconds = 0;           // from the first copy until all is packed
  std::int64_t link_bytes = 0;  // that were copied to the device
  PackSeconds parts = {};

  PackedListsView view() const;
  /// What PackedLists::bytes() says of the same lists, and what they take there.
  std::int64_t bytes() const { return head_bytes() + 4 * (words() + kPackedPad); }
  std::int64_t words() const { return long_words + list_words; }
  std::int64_t far_bytes() const { return far ? 4 * (words() - near_words) : 0; }
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
