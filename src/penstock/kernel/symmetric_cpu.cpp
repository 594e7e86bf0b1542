#include "penstock/kernel/symmetric.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/transpose.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSamples = 1024;
constexpr Offset kLongRow = 4096;  // longer ones cost too much to look through
constexpr std::int64_t kBlockCost = 64 << 10;

/// Whether one of some entries has no partner.
bool a_sample_is_alone(const Csr<One>& a) {
  const auto indptr = a.indptr.span();
  for (std::int64_t s = 0; s < std::min(kSamples, a.nnz()); ++s) {
    const auto k = s * (a.nnz() / kSamples) + s * (a.nnz() % kSamples) / kSamples;
    const auto row = std::upper_bound(indptr.begin(), indptr.end(), k) - indptr.begin() - 1;
    const auto column = a.indices.data[k];
    const auto first = a.indptr.data[column], last = a.indptr.data[column + 1];
    if (last - first > kLongRow) continue;
    const auto* const end = a.indices.data + last;
    if (std::find(a.indices.data + first, end, static_cast<Index>(row)) == end) return true;
  }
  return false;
}

}  // namespace

bool has_symmetric_pattern(const Csr<One>& a) {
  if (a.rows != a.cols || a_sample_is_alone(a)) return false;
  const auto turned = transpose(a);
  const auto blocks = row_blocks(a.indptr.span(), {.budget = kBlockCost});
  std::atomic<bool> same = true;
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& b = blocks[static_cast<std::size_t>(i)];
    if (!same.load(std::memory_order_relaxed)) return;
    const auto differs = [&] { same.store(false, std::memory_order_relaxed); };
    const auto ends = b.first_row + 1;
    if (!std::equal(a.indptr.data + ends, a.indptr.data + ends + b.rows, turned.indptr.data + ends))
      return differs();
    const auto* const mine = a.indices.data + b.first_nnz;
    const auto* const other = turned.indices.data + b.first_nnz;
    if (std::equal(mine, mine + b.nnz, other)) return;
    std::vector<Index> row;
    for (auto r = b.first_row; r < b.first_row + b.rows; ++r) {
      const auto first = a.indptr.data[r], last = a.indptr.data[r + 1];
      if (std::equal(a.indices.data + first, a.indices.data + last, turned.indices.data + first)) continue;
      row.assign(a.indices.data + first, a.indices.data + last);
      if (std::is_sorted(row.begin(), row.end())) return differs();  // sorted, and yet not the same
      std::sort(row.begin(), row.end());
      if (!std::equal(row.begin(), row.end(), turned.indices.data + first)) return differs();
    }
  });
  return same;
}

}  // namespace penstock
