#pragma once
#include <cstdint>
#include <vector>

#include "penstock/graph/gpu/packed_form.hpp"

// Chooses the widths in which a graph's gaps are stored.
namespace penstock {

inline constexpr int kGapWidths = 32;  // a gap takes 0 to 31 bits

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

struct GapTables {
  std::uint32_t tables[kPackedTables] = {};
  int table_bits = 0;
  int table_of[kGapWidths] = {};  // of lists of each level
};
/// The tables with which all gaps and the numbers of tables take the fewest bits: neighbouring levels share one.
GapTables choose_tables(const GapCounts& counts);

}  // namespace penstock
