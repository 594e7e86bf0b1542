#pragma once
#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/gpu/packed_form.hpp"

// The pieces in which a matrix goes to a device that packs its lists (pack_gpu.cpp): whole groups of 64 vertices, cut by the host,
// which looks at the offsets of each.
namespace penstock {

/// The lengths of lists travel in two bytes each, if those of a piece are below this; else its offsets do.
inline constexpr Offset kWideDegree = 0xffff;

/// Vertices [first, last) of the range, and the long ones among them: counted from the first, with the number of their parts before each.
struct HostPiece {
  std::int64_t first = 0, last = 0;
  Offset begin = 0, end = 0;
  bool narrow = true;  // no list has kWideDegree entries or more
  bool is_empty() const { return first == last; }
  std::vector<Index> longs = {};
  std::vector<Offset> parts = {0};
};

/// The lists of `vertices` vertices, whose entries are [begin, begin + edges) of the matrix.
struct HostLists {
  const Offset* offsets = nullptr;
  std::int64_t vertices = 0;
  Offset begin = 0, edges = 0;

  std::int64_t groups() const { return (vertices + kPackedGroup - 1) / kPackedGroup; }
  std::int64_t end_of(std::int64_t group) const { return std::min(vertices, (group + 1) * kPackedGroup); }

  /// The most entries of a group.
  std::int64_t largest_group() const {
    std::atomic<std::int64_t> most = 0;
    parallel_ranges(groups(), 4096, [&](std::int64_t g, std::int64_t last) {
      std::int64_t own = 0;
      for (; g < last; ++g) own = std::max(own, offsets[end_of(g)] - offsets[g * kPackedGroup]);
      auto held = most.load();
      while (own > held && !most.compare_exchange_weak(held, own)) {}
    });
    return most;
  }

  /// The entries of all lists that are cut, and their pieces.
  struct Cut {
    Offset entries = 0, pieces = 0;
  };
  Cut all_cut() const {
    std::atomic<Offset> entries = 0, pieces = 0;
    parallel_ranges(vertices, 1 << 16, [&](std::int64_t v, std::int64_t last) {
      Cut own;
      for (; v < last; ++v)
        if (const auto size = offsets[v + 1] - offsets[v]; size > kPackedWhole)
          own.entries += size, own.pieces += (size + kPackedPiece - 1) / kPackedPiece;
      if (own.entries > 0) entries += own.entries, pieces += own.pieces;
    });
    return {entries, pieces};
  }

  /// The next piece: as many groups as have at most so many entries and vertices, from piece.first on; one at least. Writes the length
  /// of each list; returns false if offsets descend.
  bool cut(HostPiece& piece, std::int64_t entries, std::int64_t most_vertices, std::uint16_t* degrees) const {
    const auto first = piece.first / kPackedGroup,
               most = std::min(groups(), first + most_vertices / kPackedGroup);
    auto low = std::min(groups(), first + 1), high = most;
    while (low < high) {
      const auto middle = low + (high - low + 1) / 2;
      if (offsets[std::min(vertices, middle * kPackedGroup)] - offsets[piece.first] <= entries) low = middle;
      else high = middle - 1;
    }
    piece.last = std::min(vertices, low * kPackedGroup);
    piece.begin = offsets[piece.first], piece.end = offsets[piece.last];
    return piece.begin >= begin && piece.end <= begin + edges && piece.end - piece.begin <= entries &&
           look_at(piece, degrees);
  }

 private:
  bool look_at(HostPiece& piece, std::uint16_t* degrees) const {
    constexpr std::int64_t kRange = 1 << 14;
    const auto count = piece.last - piece.first;
    std::vector<std::vector<Index>> found(std::size_t((count + kRange - 1) / kRange));
    std::atomic<bool> bad = false, wide = false;
    const auto* const at = offsets + piece.first;
    parallel_ranges(count, kRange, [&](std::int64_t first, std::int64_t last) {
      Offset least = 0, most = 0;
      for (auto i = first; i < last; ++i) {
        const auto size = at[i + 1] - at[i];
        least = std::min(least, size), most = std::max(most, size);
        degrees[i] = std::uint16_t(size);
      }
      if (least < 0) bad.store(true, std::memory_order_relaxed);
      if (most >= kWideDegree) wide.store(true, std::memory_order_relaxed);
      if (most <= kPackedWhole) return;
      auto& own = found[std::size_t(first / kRange)];
      for (auto i = first; i < last; ++i)
        if (at[i + 1] - at[i] > kPackedWhole) own.push_back(Index(i));
    });
    piece.narrow = !wide;
    for (const auto& own : found)
      for (const auto i : own) {
        piece.longs.push_back(i);
        piece.parts.push_back(piece.parts.back() + (at[i + 1] - at[i] + kPackedPiece - 1) / kPackedPiece);
      }
    return !bad;
  }
};

}  // namespace penstock
