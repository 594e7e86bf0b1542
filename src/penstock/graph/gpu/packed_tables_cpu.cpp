// Chooses four widths for a set of gaps, and up to eight sets of lists with widths of their own, by dynamic programming over the
// counts of gaps by width: exact, and the same for any number of threads.
#include "penstock/graph/gpu/packed_tables.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace penstock {
namespace {

constexpr auto kNever = std::numeric_limits<std::int64_t>::max() / 4;
constexpr int kWidthsOfTable = 4;
using Counts = std::array<std::int64_t, kGapWidths>;

struct Widths {
  std::int64_t bits = 0;
  std::uint32_t table = 0;
};

/// cost[j][w]: the fewest bits of all gaps of at most w bits in j + 1 widths, the last of which is w, at least `widest`.
Widths best_widths(const Counts& counts, int widest) {
  std::int64_t cost[kWidthsOfTable][kGapWidths];
  int before[kWidthsOfTable][kGapWidths] = {};
  std::int64_t upto[kGapWidths + 1] = {};
  for (int w = 0; w < kGapWidths; ++w) {
    upto[w + 1] = upto[w] + counts[std::size_t(w)];
    if (counts[std::size_t(w)] > 0) widest = std::max(widest, w);
  }
  for (int w = 0; w < kGapWidths; ++w) cost[0][w] = upto[w + 1] * w;
  for (int j = 1; j < kWidthsOfTable; ++j)
    for (int w = 0; w < kGapWidths; ++w) {
      cost[j][w] = cost[j - 1][w], before[j][w] = -1;  // fewer widths
      for (int d = 0; d < w; ++d) {
        const auto bits = cost[j - 1][d] + (upto[w + 1] - upto[d + 1]) * w;
        if (bits < cost[j][w]) cost[j][w] = bits, before[j][w] = d;
      }
    }
  Widths out{.bits = cost[kWidthsOfTable - 1][widest]};
  int w = widest;
  for (int j = kWidthsOfTable - 1; j >= 0; --j) {
    out.table |= std::uint32_t(w) << (8 * j);
    if (j > 0 && before[j][w] >= 0) w = before[j][w];
  }
  return out;
}

}  // namespace

PackedCode choose_tables(const GapCounts& counts, int widest) {
  std::vector<Widths> of(kGapWidths * kGapWidths);  // of levels first to last
  for (int first = 0; first < kGapWidths; ++first) {
    Counts sum{};
    for (int last = first; last < kGapWidths; ++last) {
      for (int w = 0; w < kGapWidths; ++w)
        sum[std::size_t(w)] += counts.gaps[std::size_t(last * kGapWidths + w)];
      of[std::size_t(first * kGapWidths + last)] = best_widths(sum, last == kGapWidths - 1 ? widest : 0);
    }
  }
  std::int64_t lists = 0;
  for (const auto n : counts.lists) lists += n;

  // best[k][l]: the fewest bits of levels below l in k tables.
  std::vector<std::array<std::int64_t, kGapWidths + 1>> best(kPackedTables + 1);
  std::vector<std::array<int, kGapWidths + 1>> cut(kPackedTables + 1);
  for (auto& row : best) row.fill(kNever);
  best[0][0] = 0;
  for (std::size_t k = 1; k <= kPackedTables; ++k)
    for (std::size_t l = 0; l <= kGapWidths; ++l) {
      if (best[k - 1][l] < best[k][l]) best[k][l] = best[k - 1][l], cut[k][l] = int(l);
      for (std::size_t first = 0; first < l; ++first) {
        if (best[k - 1][first] >= kNever) continue;
        const auto bits = best[k - 1][first] + of[first * kGapWidths + l - 1].bits;
        if (bits < best[k][l]) best[k][l] = bits, cut[k][l] = int(first);
      }
    }
  PackedCode out;
  auto fewest = kNever;
  for (int bits = 0; (1 << bits) <= kPackedTables; ++bits) {
    const auto all = best[std::size_t(1) << bits][kGapWidths] + bits * lists;
    if (all < fewest) fewest = all, out.table_bits = bits;
  }
  int level = kGapWidths;
  for (int k = 1 << out.table_bits; k > 0; --k) {
    const int first = cut[std::size_t(k)][std::size_t(level)];
    if (first == level) continue;
    out.tables[k - 1] = of[std::size_t(first * kGapWidths + level - 1)].table;
    for (int l = first; l < level; ++l) out.table_of[l] = std::uint8_t(k - 1);
    level = first;
  }
  return out;
}

}  // namespace penstock
