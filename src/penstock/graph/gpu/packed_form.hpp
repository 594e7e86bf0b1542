#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

// Neighbour lists in a packed form, any of which can be read alone. The tiles of products (format/packed_view.hpp) are made to
// be read from end to end: there the place of a row is the sum of what lies before it in a tile, and the column where a row
// begins is as wide as the matrix, which widens its group. Here a list is found by two reads, and its first column is stored
// relative to its vertex.
//
// A vertex has a head of 32 bits: how many entries it has, and how many bits lie before its list since the first one of its 64
// vertices, whose word is a base of 64 bits. Columns ascend in a list. A list is
//
//   number of a table | width of the first column, 5 bits | first column - vertex, zigzag | chunks of 32 entries
//
// and a chunk holds the gaps to the column before (less 1, if no list has a column twice): two planes of a bit for each gap,
// which together say in which of the table's four widths it is stored; then the gaps, in their order. (The first chunk of a list
// has 31 gaps, since the first column is not one.) So a lane finds its gap by counting bits of the planes below its own, and all
// lanes of a warp do the same, however long the lists and wide the gaps. The tables are chosen for each graph, by counts. Where
// edges have lengths, those of a chunk's entries come behind its gaps, all in the same width, so that a lane knows where its own is.
//
// A list above kPackedWhole entries is cut into pieces of kPackedPiece, each of which is packed as a list. In its place are 96 bits: its size,
// and the word where its directory begins, which says for each piece how many words farther it begins.
//
// These functions are the only ones that know the form; the CPU and nvcc compile them. `ones(x)` counts bits.
namespace penstock {

inline constexpr int kPackedGroup = 64;    // vertices that share a base
inline constexpr int kPackedPiece = 1024;  // entries
inline constexpr int kPackedWhole = 1022;  // entries; longer lists are cut into pieces
inline constexpr int kPackedChunk = 32;    // entries
inline constexpr int kPackedTables = 8;    // at most
inline constexpr int kAtBits =
    22;  // of a head; 63 lists of 1022 gaps of 31 bits, their planes and widest lengths, take fewer
inline constexpr std::uint32_t kInPieces = 1023;  // in a head: the size is beside the list
inline constexpr int kLongBits = 96;
inline constexpr int kLengthBits = 16;         // of an edge's length, less the least one; at most
inline constexpr std::int64_t kPackedPad = 2;  // words behind the last one that reads may touch

/// An upper bound of the pieces of all lists that are cut: each has fewer than two for kPackedWhole entries.
constexpr std::int64_t most_packed_pieces(Offset edges) { return 2 * (edges / kPackedWhole) + 1; }

struct PackedListsView {
  std::int64_t vertices = 0;
  std::uint32_t first =
      0;  // the number of the first vertex in the graph: first columns are relative to numbers there
  const std::uint64_t* bases = nullptr;  // for each 64 vertices a word
  const std::uint32_t* heads = nullptr;  // null: there is no packed form
  // Words [0, near_words) are at `near`, and all that `near` has not are at `far`, where positions count from the same start.
  const std::uint32_t* near = nullptr;
  const std::uint32_t* far = nullptr;
  std::int64_t near_words = 0;               // a list is near as a whole, or not at all
  std::uint32_t tables[kPackedTables] = {};  // four widths each, a byte a width, the first one the lowest
  int table_bits = 0;
  std::uint32_t step = 1;  // what is added to each gap
  bool all_near = false;  // `far` is in the same memory as `near`: lists above kPackedWhole entries are apart
  int length_bits = 0;    // that an entry's length takes in its list; 0: all edges have the least one
  std::uint32_t length_least = 1;
};

/// The number of `width` bits (at most 32) that begins at bit `at`. Reads one word, and the next one if it goes on there.
template <class At>
constexpr std::uint32_t bits_at(const std::uint32_t* words, At at, int width) {
  const auto* w = words + (at >> 5);
  const int skip = int(at & 31);
  std::uint64_t both = w[0];
  if (skip + width > 32) both |= std::uint64_t(w[1]) << 32;
  return std::uint32_t(both >> skip & ((std::uint64_t(1) << width) - 1));
}

constexpr std::uint32_t zigzag(std::int64_t x) { return std::uint32_t(x < 0 ? -2 * x - 1 : 2 * x); }
constexpr std::uint32_t unzigzag(std::uint32_t z) { return (z >> 1) ^ (0u - (z & 1)); }  // modulo 2^32

/// Entries [begin, end) of a vertex's list. `at` is the bit where its head, or the directory of its pieces, begins.
struct PackedList {
  const std::uint32_t* words = nullptr;
  std::int64_t at = 0;
  Offset begin = 0, end = 0;
  Index vertex = 0;
  bool in_pieces = false, near = true;

  constexpr Offset size() const { return end - begin; }
};

constexpr std::int64_t packed_place(const PackedListsView& p, Index v) {
  return std::int64_t(p.bases[v / kPackedGroup]) * 32 + (p.heads[v] & ((1u << kAtBits) - 1));
}
constexpr const std::uint32_t* packed_words(const PackedListsView& p, std::int64_t at) {
  return at >> 5 < p.near_words ? p.near : p.far;
}
constexpr Offset packed_degree(const PackedListsView& p, Index v) {
  const std::uint32_t degree = p.heads[v] >> kAtBits;
  if (degree != kInPieces) return degree;
  const auto at = packed_place(p, v);
  return bits_at(packed_words(p, at), at, 32);
}
/// The same, but kInPieces where the size is beside a list that is not near: nothing is read over the link.
constexpr Offset packed_degree_near(const PackedListsView& p, Index v) {
  const std::uint32_t degree = p.heads[v] >> kAtBits;
  if (degree != kInPieces) return degree;
  const auto at = packed_place(p, v);
  return p.all_near || at >> 5 < p.near_words ? Offset(bits_at(packed_words(p, at), at, 32)) : degree;
}
constexpr PackedList packed_list(const PackedListsView& p, Index v) {
  const std::uint32_t degree = p.heads[v] >> kAtBits;
  const auto at = packed_place(p, v);
  const auto* words = packed_words(p, at);
  if (degree != kInPieces) return {words, at, 0, degree, v, false, p.all_near || words == p.near};
  const auto directory =
      std::int64_t(std::uint64_t(bits_at(words, at + 64, 32)) << 32 | bits_at(words, at + 32, 32)) * 32;
  const auto* lists = packed_words(p, directory);
  return {lists, directory, 0, Offset(bits_at(words, at, 32)), v, true, p.all_near || lists == p.near};
}
/// Whether v's list is not near, by its head alone. Where a part of the cut lists is near, all of them are said to be far.
constexpr bool packed_far(const PackedListsView& p, Index v) {
  if (p.all_near) return false;
  if (p.heads[v] >> kAtBits == kInPieces) return p.near_words < std::int64_t(p.bases[0]);  // they come first
  return packed_place(p, v) >> 5 >= p.near_words;
}
/// The bit where a piece begins: that of entries from number * kPackedPiece on.
constexpr std::int64_t piece_place(const PackedList& list, Offset number) {
  return list.in_pieces ? list.at + 32 * std::int64_t(list.words[(list.at >> 5) + number]) : list.at;
}

/// Where the chunks of a list (or a piece) begin, its first column, and its table.
struct PackedStart {
  std::int64_t at = 0;
  std::uint32_t first = 0, table = 0;
};
constexpr int first_width(std::uint32_t code) { return code == 31 ? 32 : int(code); }
constexpr PackedStart packed_start(const PackedListsView& p, const std::uint32_t* words, std::int64_t at,
                                   Index vertex) {
  const std::uint32_t both = bits_at(words, at, p.table_bits + 5);
  const std::uint32_t number = both & ((1u << p.table_bits) - 1);
  std::uint32_t table = p.tables[0];
  for (int i = 1; i < kPackedTables; ++i) table = number == std::uint32_t(i) ? p.tables[i] : table;
  const int width = first_width(both >> p.table_bits);
  at += p.table_bits + 5;
  return {at + width, p.first + std::uint32_t(vertex) + unzigzag(bits_at(words, at, width)), table};
}

/// The planes of a chunk of `gaps` gaps, and the bit where its gaps begin.
struct PackedChunk32 {
  std::int64_t at = 0;
  std::uint32_t low = 0, high = 0;
  int gaps = 0;
};
constexpr PackedChunk32 packed_chunk(const std::uint32_t* words, std::int64_t at, int gaps) {
  return {at + 2 * gaps, bits_at(words, at, gaps), bits_at(words, at + gaps, gaps), gaps};
}
constexpr int table_width(std::uint32_t table, unsigned which) { return int(table >> (8 * which) & 255); }
/// The bits of the first `gaps` gaps; `below` has ones at their places.
template <class Ones>
constexpr int packed_bits(const PackedChunk32& c, std::uint32_t table, std::uint32_t below, int gaps,
                          Ones ones) {
  const std::uint32_t low = c.low & below, high = c.high & below;
  const int three = ones(low & high), one = ones(low) - three, two = ones(high) - three;
  return (gaps - one - two - three) * table_width(table, 0) + one * table_width(table, 1) +
         two * table_width(table, 2) + three * table_width(table, 3);
}
/// Gap i of the chunk, as it is stored.
template <class Ones>
constexpr std::uint32_t packed_gap(const std::uint32_t* words, const PackedChunk32& c, std::uint32_t table,
                                   int i, Ones ones) {
  const unsigned which = (c.low >> i & 1) | (c.high >> i & 1) << 1;
  return bits_at(words, c.at + packed_bits(c, table, (1u << i) - 1, i, ones), table_width(table, which));
}
/// The bit behind the gaps of the chunk, where the lengths of its entries begin.
template <class Ones>
constexpr std::int64_t chunk_end(const PackedChunk32& c, std::uint32_t table, Ones ones) {
  return c.at + packed_bits(c, table, 0xffffffffu, c.gaps, ones);  // bits above the last gap are 0
}
/// The bit where the next chunk begins, if `end` is chunk_end() of one of so many entries: a gap each, and the first column.
constexpr std::int64_t next_chunk(const PackedListsView& p, std::int64_t end, int entries) {
  return end + std::int64_t(p.length_bits) * entries;
}
/// The length of an entry of the chunk.
constexpr std::uint32_t packed_length(const PackedListsView& p, const std::uint32_t* words, std::int64_t end,
                                      int entry) {
  if (p.length_bits == 0) return p.length_least;
  return p.length_least + bits_at(words, end + p.length_bits * entry, p.length_bits);
}

}  // namespace penstock
