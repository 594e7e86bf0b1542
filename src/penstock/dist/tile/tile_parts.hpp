#pragma once
#include <algorithm>
#include <cstdint>

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

/// Says how many parts each product of the plan has, so that parts are about equally much work. The same on all ranks.
inline void cut_into_parts(MultiplyPlan& plan, double part_flops, bool sparse) {
  double flops = 0;
  for (const auto& p : plan.products) flops += p.flops;
  if (part_flops <= 0)
    part_flops = std::max(sparse ? kLeastSparsePart : kLeastPart, flops / (plan.ranks * kPartsOfRank));
  for (auto& p : plan.products)
    p.parts = static_cast<std::int32_t>(
        std::clamp(static_cast<std::int64_t>(p.flops / part_flops), std::int64_t{1}, kMostParts));
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
