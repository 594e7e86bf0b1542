#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/dist/tile/plan_multiply.hpp"

// Parts of a product of tiles, which ranks can take from one another while its owner works on the rest: ranges of rows of the
// left factor with equally many entries. A counter for each product says how many of its parts have been taken.
namespace penstock {

/// Operations of a part, at least, with a dense and with a sparse B: 1 to 2 ms, next to which a claim and a piece of a sum
/// that is sent are short.
constexpr double kLeastPart = 2e6, kLeastSparsePart = 5e5;
/// Parts of an average rank's work.
constexpr double kPartsOfRank = 64;
constexpr std::int64_t kMostParts = 256;  // of a product
/// Most over mean of the ranks' work from which on products are cut. Below it whole products are taken: SpGEMM took 5 to 8 %
/// longer in parts, and less is waited for.
constexpr double kWorthCutting = 1.5;
/// Bytes of a dense tile of B that each part may read again, since they stay in a cache; of a larger one, each of its rows is
/// read so often by a part, on average, that it may come from memory once.
constexpr double kStaysNear = 1 << 20, kReadsOfPart = 16;

/// Most over mean of what ranks have to do by the plan.
inline double imbalance(const MultiplyPlan& plan) {
  std::vector<double> of(static_cast<std::size_t>(plan.ranks));
  double all = 0;
  for (const auto& p : plan.products) of[static_cast<std::size_t>(p.owner)] += p.flops, all += p.flops;
  return all > 0 ? *std::max_element(of.begin(), of.end()) * plan.ranks / all : 1;
}

/// Says how many parts each product of the plan has, so that parts are about equally much work. The same on all ranks.
/// `part_flops` > 0: so much, whatever it costs. `dense_word`: bytes of a number of a dense B; 0: B is sparse.
inline void cut_into_parts(MultiplyPlan& plan, double part_flops, std::int64_t dense_word) {
  const bool chosen = part_flops <= 0;
  if (chosen) {
    if (imbalance(plan) < kWorthCutting) return;
    double flops = 0;
    for (const auto& p : plan.products) flops += p.flops;
    part_flops = std::max(dense_word ? kLeastPart : kLeastSparsePart, flops / (plan.ranks * kPartsOfRank));
  }
  for (auto& p : plan.products) {
    auto parts = p.flops / part_flops;
    const auto of_b = static_cast<double>(p.of_b);
    if (chosen && dense_word && of_b > kStaysNear)
      parts = std::min(parts, p.flops / 2 * static_cast<double>(dense_word) / of_b / kReadsOfPart);
    p.parts =
        static_cast<std::int32_t>(std::clamp(static_cast<std::int64_t>(parts), std::int64_t{1}, kMostParts));
  }
}

/// Rows [first, end) of a tile that are its parts [first, end) of `parts`, by row offsets, which begin with 0, of the rows in `rows`.
inline Span rows_of_parts(const Offset* indptr, Span rows, Span which, std::int64_t parts) {
  const auto entries = indptr[rows.end] - indptr[rows.first];
  const auto cut = [&](std::int64_t n) {
    if (n == parts) return rows.end;
    const auto upto = indptr[rows.first] + entries / parts * n + entries % parts * n / parts;
    return static_cast<std::int64_t>(std::lower_bound(indptr + rows.first, indptr + rows.end, upto) - indptr);
  };
  return {cut(which.first), cut(which.end)};
}

/// How many of the `left` parts of a product with so many parts its owner takes at once. While no rank is `idle` that is a half,
/// and then the rest: each run of parts reads B's tile again, and nobody waits. Else as many as each of the sharers would
/// get, and so ever fewer, which are done at about the same time (guided self-scheduling: Polychronopoulos and Kuck, IEEE
/// Transactions on Computers, 1987).
constexpr std::int64_t parts_for_owner(std::int64_t left, std::int64_t parts, std::int64_t idle) {
  if (idle == 0) return 2 * left > parts ? (left + 1) / 2 : left;
  return std::max<std::int64_t>(left / std::min<std::int64_t>(idle + 1, 4), 1);
}
/// The same of a thief, whose results must travel: half as many as its share.
constexpr std::int64_t parts_for_thief(std::int64_t left, std::int64_t idle) {
  return std::max<std::int64_t>(left / (2 * std::clamp<std::int64_t>(idle + 1, 2, 4)), 1);
}

}  // namespace penstock
