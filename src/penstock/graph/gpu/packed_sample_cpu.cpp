// Chooses how a graph's lists are packed by some of them (packed_tables.hpp), so that the edges need not be read once for the choice and
// once for the bits.
#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>

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
    count();
    if (sees_repeats_ && !out_.repeats) out_.repeats = true, count();
    measure();
    return out_;
  }

 private:
  static std::int64_t stride_of(std::int64_t vertices) {
    return std::max<std::int64_t>(1, vertices / kPackedGroup / kSampledGroups);
  }
  static constexpr std::int64_t kShares = 64;  // of the groups, whose sums are added at the end

  static std::uint32_t step_of(bool repeats) { return repeats ? 0 : 1; }

  void count() {
    const auto step = step_of(out_.repeats);
    std::vector<GapCounts> shares(kShares);
    std::atomic<bool> repeats = false;
    parallel_for(kShares, [&](std::int64_t share) {
      auto& own = shares[at(share)];
      std::vector<Index> scratch;
      PieceGaps gaps;
      const auto all = groups_.walked();
      for (auto i = all * share / kShares; i < all * (share + 1) / kShares; ++i)
        groups_.each_list(groups_.number(i), scratch, [&](Index, std::span<const Index> list) {
          if (std::adjacent_find(list.begin(), list.end()) != list.end()) {
            repeats.store(true, std::memory_order_relaxed);
            if (step == 1) return;
          }
          ListGroups::each_piece(list, [&](std::span<const Index> piece) {
            gaps.measure(piece, step);
            ++own.lists[at(gaps.level)];
            for (int k = 0; k < gaps.count; ++k) ++own.at(gaps.level, gaps.bits[k]);
          });
        });
      poll_interrupt();
    });
    for (std::size_t i = 1; i < shares.size(); ++i) shares[0].add(shares[i]);
    sees_repeats_ = repeats;
    const int widest = int(std::bit_width(std::uint64_t(std::max<std::int64_t>(0, cols_ - 1))));
    out_.code = choose_tables(shares[0], groups_.walked() < groups_.count() ? widest : 0);
    out_.code.step = step;
  }

  void measure() {
    std::int64_t bits = 0, long_bits = 0;
    groups_.each([&](std::int64_t group, std::vector<Index>& scratch) {
      std::int64_t own = 0, own_long = 0, entries = 0, long_entries = 0;
      groups_.each_list(group, scratch, [&](Index v, std::span<const Index> list) {
        const bool is_long = list.size() > kPackedWhole;
        std::int64_t of_list = 0;
        ListGroups::each_piece(list, [&](std::span<const Index> piece) {
          const auto size = size_of_part(out_.code, {piece.data(), int(piece.size()), v, false}, cols_);
          of_list += is_long ? (size.bits + 31) / 32 * 32 + 32 : size.bits;
        });
        (is_long ? own_long : own) += of_list;
        own += is_long ? kLongBits : 0;
        (is_long ? long_entries : entries) += std::ssize(list);
      });
      const std::lock_guard lock(adding_);
      bits += (own + 31) / 32 * 32, long_bits += own_long;
      out_.entries += entries, out_.long_entries += long_entries;
    });
    out_.bits = double(bits), out_.long_bits = double(long_bits);
  }

  ListGroups groups_;
  std::int64_t cols_;
  PackedSample out_;
  bool sees_repeats_ = false;
  std::mutex adding_;
};

}  // namespace

std::int64_t PackedSample::words(double bits_of) const {
  const auto looked = entries + long_entries;
  return looked > 0 ? std::int64_t(bits_of / 32 * (double(all_entries) / double(looked))) : 0;
}

PackedSample sample_lists(const CsrView<One>& graph, std::int64_t first, std::int64_t rows, bool repeats) {
  return Sampler(graph, first, rows, repeats).run();
}

std::int64_t estimate_packed(const CsrView<One>& graph) {
  const auto sample = sample_lists(graph, 0, graph.rows);
  const auto groups = (graph.rows + kPackedGroup - 1) / kPackedGroup;
  return 4 * (sample.list_words() + sample.long_words() + graph.rows) + 8 * groups;
}

}  // namespace penstock
