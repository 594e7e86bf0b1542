#include "penstock/kernel/structure/symmetric.hpp"

#include <algorithm>
#include <atomic>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/structure/filter.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"
#include "penstock/kernel/structure/transpose.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsLookedAt = 1024;
constexpr Offset kMostToLookThrough = 4096;  // entries of a row that a sample searches at most
constexpr Offset kLongRows = 8;  // entries of a row on average, from which on only half is transposed

/// Whether one of the sampled entries (i, j) has no entry (j, i).
bool a_sample_is_alone(const Csr<One>& a) {
  const auto indptr = a.indptr.span();
  for (std::int64_t s = 0; s < std::min(kRowsLookedAt, a.nnz()); ++s) {
    const auto k = s * (a.nnz() / kRowsLookedAt) + s * (a.nnz() % kRowsLookedAt) / kRowsLookedAt;
    const auto row = std::upper_bound(indptr.begin(), indptr.end(), k) - indptr.begin() - 1;
    const auto column = a.indices.data[k];
    const auto first = a.indptr.data[column], last = a.indptr.data[column + 1];
    if (last - first > kMostToLookThrough) continue;
    const auto* const end = a.indices.data + last;
    if (std::find(a.indices.data + first, end, static_cast<Index>(row)) == end) return true;
  }
  return false;
}

}  // namespace

bool has_symmetric_pattern(const Csr<One>& a) {
  if (a.rows != a.cols || a_sample_is_alone(a)) return false;
  if (!row_order(a).sorted) return has_symmetric_pattern(sort_rows(a, false));
  // The part above the diagonal, transposed, must be the part below it. If rows are short, it is cheaper to transpose
  // everything.
  const bool half = a.nnz() >= kLongRows * a.rows;
  const auto turned = transpose(half ? triangle(a, 1, true) : a);
  std::atomic<bool> same = true;
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last && same.load(std::memory_order_relaxed); ++r) {
      const auto* const row = a.indices.data + a.indptr.data[r];
      const auto* const end = a.indices.data + a.indptr.data[r + 1];
      const auto* const other = turned.indices.data + turned.indptr.data[r];
      const auto n = turned.indptr.data[r + 1] - turned.indptr.data[r];
      const bool equal =
          n <= end - row && std::equal(other, other + n, row) && (row + n == end || (half && row[n] >= r));
      if (!equal) same.store(false, std::memory_order_relaxed);
    }
  });
  return same;
}

}  // namespace penstock
