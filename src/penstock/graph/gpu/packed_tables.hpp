#pragma once
#include <cstdint>
#include <vector>

#include "penstock/graph/gpu/packed_encode.hpp"

// Chooses the widths in which a graph's gaps are stored.
namespace penstock {

/// How many gaps take how many bits, apart for the lists of each mean width: of lists of level l, rounded to a whole number.
struct GapCounts {
  std::vector<std::int64_t> gaps = std::vector<std::int64_t>(kGapWidths * kGapWidths);
  std::vector<std::int64_t> lists = std::vector<std::int64_t>(kGapWidths);

  std::int64_t& at(int level, int width) { return gaps[std::size_t(level * kGapWidths + width)]; }
  void add(const GapCounts& more) {
    for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] += more.gaps[i];
    for (std::size_t i = 0; i < lists.size(); ++i) lists[i] += more.lists[i];
  }
};

/// The tables with which all gaps and the numbers of tables take the fewest bits: neighbouring levels share one. The last one has a
/// width of at least `widest`.
PackedCode choose_tables(const GapCounts& counts, int widest);

/// Some lists of a graph: those of each k-th group of 64 vertices, so that about kSampledGroups are looked at, or all.
/// Beside 4096 that costs at most 0.02 bits an edge, and takes a quarter of the time, which a first search waits for.
inline constexpr std::int64_t kSampledGroups = 1024;
struct PackedSample {
  PackedCode code;
  bool repeats = false;  // one of these lists has a column twice, or it was said before
  /// What the lists take, and the entries that they have; apart for lists above kPackedWhole.
  double bits = 0, long_bits = 0;
  Offset entries = 0, long_entries = 0, all_entries = 0;

  Offset all_looked() const { return entries + long_entries; }
  /// Words of all lists of the graph, about: those in groups, and those of long lists.
  std::int64_t list_words() const { return words(bits); }
  std::int64_t long_words() const { return words(long_bits); }
  /// Bytes of all packed lists of so many vertices, heads and bases included.
  std::int64_t bytes(std::int64_t vertices) const {
    const auto groups = (vertices + kPackedGroup - 1) / kPackedGroup;
    return 4 * (list_words() + long_words() + vertices) + 8 * groups;
  }
  /// Of so many bits of those that were looked at.
  std::int64_t words(double bits_of) const;
};
/// How the lists of rows [first, first + rows) are packed, wherever that is done. Any gap that the graph may have can be stored, also
/// one that no list has which is looked at. `repeats`: a list is known to have a column twice.
PackedSample sample_lists(const CsrView<One>& graph, std::int64_t first, std::int64_t rows,
                          bool repeats = false);

}  // namespace penstock
