#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/graph/rows.hpp"

// Packed lists as searches on the CPU read them (graph/rows.hpp). A list is decoded gap by gap where it is read, and no further
// than it is read. Ends ascend.
namespace penstock::graph {

struct PackedRows {
  std::int64_t rows = 0, cols = 0;
  Offset edges = 0;
  PackedListsView lists;

  Offset nnz() const { return edges; }
};

inline PackedRows rows_of(const PackedLists& p) { return {p.vertices, p.vertices, p.edges, p.view()}; }

inline EdgeRange range_of(const PackedRows& a, std::int64_t v) {
  return {0, packed_degree(a.lists, Index(v))};
}
inline void prefetch_range(const PackedRows& a, Index v) {
  __builtin_prefetch(a.lists.heads + v);
  __builtin_prefetch(a.lists.bases + v / kPackedGroup);
}
inline void prefetch_list(const PackedRows& a, Index v) {
  __builtin_prefetch(a.lists.near + (packed_place(a.lists, v) >> 5));
}

namespace detail {

/// At least 57 bits from bit `at` on. Reads 8 bytes; behind the last word is as much (kPackedPad).
inline std::uint64_t window(const std::uint32_t* words, std::int64_t at) {
  std::uint64_t x;
  std::memcpy(&x, reinterpret_cast<const char*>(words) + (at >> 3), sizeof x);
  return x >> (at & 7);
}

/// f(u) for `count` entries, at most a piece of v's list, which begins at a bit. Returns whether f did.
template <class F>
bool any_of_piece(const PackedListsView& p, const std::uint32_t* words, std::int64_t bit, Index v, int count,
                  F& f) {
  const auto start = packed_start(p, words, bit, v);
  std::uint32_t column = start.first;
  if (f(Index(column))) return true;
  auto at = start.at;
  for (int left = count - 1, gaps = std::min(left, kPackedChunk - 1); left > 0;
       left -= gaps, gaps = std::min(left, kPackedChunk)) {
    auto low = std::uint32_t(window(words, at) & ((std::uint64_t(1) << gaps) - 1));
    auto high = std::uint32_t(window(words, at + gaps) & ((std::uint64_t(1) << gaps) - 1));
    at += 2 * gaps;
    for (int i = 0; i < gaps; ++i, low >>= 1, high >>= 1) {
      const int width = table_width(start.table, (low & 1) | (high & 1) << 1);
      column += std::uint32_t(window(words, at) & ((std::uint64_t(1) << width) - 1)) + p.step;
      at += width;
      if (f(Index(column))) return true;
    }
    at = next_chunk(p, at, gaps + (left == count - 1));
  }
  return false;
}

}  // namespace detail

template <class F>
bool any_end(const PackedRows& a, std::int64_t v, F&& f) {
  const auto list = packed_list(a.lists, Index(v));
  for (Offset begin = 0; begin < list.end; begin += kPackedPiece) {
    const auto count = int(std::min<Offset>(kPackedPiece, list.end - begin));
    if (detail::any_of_piece(a.lists, list.words, piece_place(list, begin / kPackedPiece), list.vertex, count,
                             f))
      return true;
  }
  return false;
}

/// `first` is a multiple of kPackedPiece.
template <class F>
void each_edge(const PackedRows& a, std::int64_t v, Offset first, Offset last, F&& f) {
  const auto list = packed_list(a.lists, Index(v));
  for (auto k = first; k < last;) {
    const auto count = int(std::min<Offset>(kPackedPiece, last - k));
    const auto step = [&](Index u) { return f(u, k++), false; };
    detail::any_of_piece(a.lists, list.words, piece_place(list, k / kPackedPiece), list.vertex, count, step);
  }
}

/// Calls f(i, u) for each i: entry places[i] of v's list leads to u. Places ascend, and may repeat. Of a piece no more is decoded
/// than up to the last of them that is in it.
template <class F>
void ends_at(const PackedRows& a, std::int64_t v, std::span<const Offset> places, F&& f) {
  const auto list = packed_list(a.lists, Index(v));
  for (std::size_t i = 0; i < places.size();) {
    const auto piece = places[i] / kPackedPiece;
    auto k = piece * kPackedPiece;
    const auto count = int(std::min<Offset>(kPackedPiece, list.end - k));
    const auto step = [&](Index u) {
      for (; i < places.size() && places[i] == k; ++i) f(i, u);
      ++k;
      return i == places.size() || places[i] / kPackedPiece != piece;
    };
    detail::any_of_piece(a.lists, list.words, piece_place(list, piece), list.vertex, count, step);
  }
}

inline bool same_lists(const PackedRows& a, const PackedRows& b) { return a.lists.near == b.lists.near; }

/// About twice those of a matrix: R-MAT 20 and a uniform graph of 2^18 vertices, both of 16 edges a vertex.
constexpr ReadCost read_cost(const PackedRows&) { return {14, 2.4, 3}; }

}  // namespace penstock::graph
