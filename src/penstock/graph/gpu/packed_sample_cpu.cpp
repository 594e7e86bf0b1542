// Chooses how a graph's lists are packed by some of them (packed_tables.hpp), so that the edges need not be read once for the choice and
// once for the bits.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "penstock/graph/gpu/packed_groups.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/graph/gpu/packed_tables.hpp"

namespace penstock {
namespace {

/// The counts of all gaps that are looked at. Sums of whole numbers are the same in any order.
class Sampler {
 public:
  Sampler(const CsrView<One>& graph, std::int64_t first, std::int64_t rows, bool repeats)
      : groups_(graph, first, rows, stride_of(rows)), cols_(graph.cols) {
    out_.repeats = repeats, out_.all_entries = groups_.entries();
  }

  PackedSample run() {
    if (!look()) {
      out_.repeats = true;
      look();
    }
    return out_;
  }

 private:
  static std::int64_t stride_of(std::int64_t vertices) {
    return std::max<std::int64_t>(1, vertices / kPackedGroup / kSampledGroups);
  }
  static constexpr std::int64_t kShares = 64;    // of the groups, whose sums are added at the end
  static constexpr std::int64_t kHalfWord = 16;  // bits that are lost where a word is not full

  /// Of lists up to kPackedWhole entries, or of longer ones.
  struct Part {
    GapCounts counts;
    std::int64_t first_bits = 0;
    Offset entries = 0;
  };
  struct Share {
    Part whole, longer;
    std::int64_t long_lists = 0;
    bool repeats = false;
  };

  void look_at(std::span<const Index> list, Index v, Share& own, PieceGaps& gaps) const {
    const bool is_long = list.size() > kPackedWhole;
    auto& part = is_long ? own.longer : own.whole;
    own.long_lists += is_long;
    part.entries += std::ssize(list);
    ListGroups::each_piece(list, [&](std::span<const Index> piece) {
      gaps.measure(piece, step());
      ++part.counts.lists[at(gaps.level)];
      for (int k = 0; k < gaps.count; ++k) ++part.counts.at(gaps.level, gaps.bits[k]);
      const auto first = zigzag(std::int64_t(piece[0]) - v);
      part.first_bits += 5 + first_width(std::uint32_t(width_code(first)));
    });
  }

  /// Returns false if a list has a column twice and the gaps are counted as if none had.
  bool look() {
    std::vector<Share> shares(kShares);
    parallel_for(kShares, [&](std::int64_t share) {
      auto& own = shares[at(share)];
      std::vector<Index> scratch;
      PieceGaps gaps;
      const auto all = groups_.walked();
      for (auto i = all * share / kShares; i < all * (share + 1) / kShares && !own.repeats; ++i)
        groups_.each_list(groups_.number(i), scratch, [&](Index v, std::span<const Index> list) {
          if (!out_.repeats && std::adjacent_find(list.begin(), list.end()) != list.end()) own.repeats = true;
          else look_at(list, v, own, gaps);
        });
      poll_interrupt();
    });
    if (std::any_of(shares.begin(), shares.end(), [](const Share& s) { return s.repeats; })) return false;
    Share sum;
    for (const auto& share : shares) {
      add(share.whole, sum.whole), add(share.longer, sum.longer);
      sum.long_lists += share.long_lists;
    }
    choose(sum);
    return true;
  }
  static void add(const Part& part, Part& sum) {
    sum.counts.add(part.counts);
    sum.first_bits += part.first_bits, sum.entries += part.entries;
  }

  void choose(const Share& sum) {
    auto counts = sum.whole.counts;
    counts.add(sum.longer.counts);
    const int widest = int(std::bit_width(std::uint64_t(std::max<std::int64_t>(0, cols_ - 1))));
    out_.code = choose_tables(counts, groups_.walked() < groups_.count() ? widest : 0);
    out_.code.step = step();
    const auto [bits, pieces] = bits_of(sum.whole);
    const auto [long_bits, long_pieces] = bits_of(sum.longer);
    out_.bits = double(bits + kLongBits * sum.long_lists + kHalfWord * groups_.walked());
    out_.long_bits = double(long_bits + (32 + kHalfWord) * long_pieces);
    out_.entries = sum.whole.entries, out_.long_entries = sum.longer.entries;
  }
  /// What pieces take, and how many there are.
  std::pair<std::int64_t, std::int64_t> bits_of(const Part& part) const {
    std::int64_t bits = part.first_bits, pieces = 0;
    for (int level = 0; level < kGapWidths; ++level) {
      pieces += part.counts.lists[at(level)];
      const auto table = out_.code.tables[out_.code.table_of[level]];
      for (int w = 0; w < kGapWidths; ++w)
        bits += part.counts.gaps[at(level * kGapWidths + w)] * (2 + stored_width(table, w));
    }
    return {bits + pieces * out_.code.table_bits, pieces};
  }
  std::uint32_t step() const { return out_.repeats ? 0 : 1; }

  ListGroups groups_;
  std::int64_t cols_;
  PackedSample out_;
};

}  // namespace

std::int64_t PackedSample::words(double bits_of) const {
  const auto looked = all_looked();
  return looked > 0 ? std::int64_t(bits_of / 32 * (double(all_entries) / double(looked))) : 0;
}

PackedSample sample_lists(const CsrView<One>& graph, std::int64_t first, std::int64_t rows, bool repeats) {
  return Sampler(graph, first, rows, repeats).run();
}

}  // namespace penstock
