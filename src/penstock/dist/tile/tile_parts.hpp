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

/// How many of the parts that are left a rank takes at once: many while there are many, as each costs a claim and a product of
/// its own; few at the end, so that all are done at about the same time (guided self-scheduling: Polychronopoulos and Kuck, IEEE
/// Transactions on Computers, 1987). A thief, whose tiles are elsewhere, takes half as many.
constexpr std::int64_t parts_at_once(std::int64_t left, int ranks, bool own) {
  const std::int64_t sharers = std::clamp(ranks, 2, 4) * (own ? 1 : 2);
  return std::max<std::int64_t>(left / sharers, 1);
}

}  // namespace penstock
