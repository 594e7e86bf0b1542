#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "penstock/core/array.hpp"
#include "penstock/graph/gpu/packed_form.hpp"

namespace penstock {

/// The neighbour lists of a graph in their packed form (packed_form.hpp), in host memory. Lists above kPackedWhole entries come
/// first, so that a prefix of the words holds those that most searches read.
struct PackedLists {
  std::int64_t vertices = 0, first = 0;  // the lists are those of `vertices` vertices from `first` on
  Offset edges = 0;
  Array<const std::uint64_t> bases;  // one for each 64 vertices, and the number of words
  Array<const std::uint32_t> heads;
  Array<const std::uint32_t> words;     // and kPackedPad more
  Array<const std::int64_t> long_ends;  // the word behind each list above kPackedWhole
  std::uint32_t tables[kPackedTables] = {};
  int table_bits = 0;
  bool repeats = false;  // a list has a column twice
  bool sorted = true;    // the lists ascended as they were given
  bool lengths =
      false;  // edges have lengths (sssp/packed_lengths.hpp): the least one, and what more in so many bits
  int length_bits = 0;
  std::uint32_t length_least = 1;
  double seconds = 0;  // that packing took

  PackedListsView view() const;
  /// All bytes, and those beside the lists: heads and bases.
  std::int64_t bytes() const { return bases.bytes() + heads.bytes() + words.bytes(); }
  std::int64_t head_bytes() const { return bases.bytes() + heads.bytes(); }
  /// The words of the largest prefix that ends between two lists and has at most `room` bytes, its pad included.
  std::int64_t prefix(std::int64_t room) const;
};

/// Packs the lists of a square matrix, which may be in any order (they are sorted) and have entries more than once; or those of
/// rows [first, first + count), -1 being all from `first` on. The result is the same for any number of threads. Throws
/// Error{invalid_argument} for offsets or columns outside the matrix.
PackedLists pack_lists(const CsrView<One>& graph, std::int64_t first = 0, std::int64_t count = -1);

/// For lists that come from elsewhere. Throws Error{invalid_argument} with what is wrong: sizes, which takes no time; or anything that
/// would lead a reader beyond the words or the vertices, which decodes all lists.
void check_sizes(const PackedLists& lists);
void check_packed(const PackedLists& lists);
/// Throws Error{invalid_argument} unless the lists are those of the graph: of each `stride`-th vertex. The lists have been checked.
void check_lists_of(const PackedLists& lists, const CsrView<One>& graph, std::int64_t stride = 1);

struct CountOnes {
  constexpr int operator()(std::uint32_t x) const { return std::popcount(x); }
};

/// Calls f(column, length) for each entry of v's list, in ascending order, until it returns true. Returns whether it did.
template <class F>
bool each_packed_edge(const PackedListsView& p, Index v, F&& f) {
  const PackedList list = packed_list(p, v);
  for (Offset begin = 0; begin < list.end; begin += kPackedPiece) {
    const auto count = int(std::min<Offset>(kPackedPiece, list.end - begin));
    auto start = packed_start(p, list.words, piece_place(list, begin / kPackedPiece), v);
    std::uint32_t column = start.first;
    for (int base = 0; base < count; base += kPackedChunk) {
      const int skip = base == 0, entries = std::min(kPackedChunk, count - base);
      const auto chunk = packed_chunk(list.words, start.at, entries - skip);
      const auto end = chunk_end(chunk, start.table, CountOnes{});
      for (int i = 0; i < entries; ++i) {
        if (i >= skip) column += packed_gap(list.words, chunk, start.table, i - skip, CountOnes{}) + p.step;
        if (f(Index(column), packed_length(p, list.words, end, i))) return true;
      }
      start.at = next_chunk(p, end, entries);
    }
  }
  return false;
}
template <class F>
bool each_packed(const PackedListsView& p, Index v, F&& f) {
  return each_packed_edge(p, v, [&](Index u, std::uint32_t) { return f(u); });
}

/// The lists as they were packed: ascending columns of all vertices.
void unpack_lists(const PackedLists& lists, Offset* offsets, Index* columns);

}  // namespace penstock
