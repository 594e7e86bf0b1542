// Estimates nnz(C) from a sample of rows. A row is drawn with a probability in proportion to its products. Then the mean of
// nnz(row) / products(row) over the sample, times the number of all products, is an unbiased estimate. Each of these ratios
// lies between 0 and 1, so a few hundred of them give the mean within some per cent. Rows are drawn by a low-discrepancy
// sequence, so the estimate is the same each time.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/kernel/spgemm/spgemm_row.hpp"

namespace penstock {
namespace {

constexpr int kSamples = 1024;
constexpr int kFewest = 64;         // rows of a sample at least, whatever they cost
constexpr Offset kShare = 50;       // at most a fiftieth of all products is looked at,
constexpr Offset kCheap = 1 << 22;  // or so many products, if that is more
constexpr double kGoldenRatio = 0.6180339887498949;

struct Counter {
  RowScratch<std::uint8_t> scratch;
  std::vector<Index> columns;
};

Offset count_row(Counter& counter, const CsrView<One>& a, const CsrView<One>& b, bool ascending,
                 std::int64_t row, Offset room) {
  if (std::ssize(counter.columns) < room) counter.columns.resize(static_cast<std::size_t>(room));
  const CsrView<std::uint8_t> bytes{
      .rows = a.rows, .cols = a.cols, .first_nnz = a.first_nnz, .indptr = a.indptr, .indices = a.indices};
  const SpgemmOptions options{.ascending = ascending};
  RowProduct<OrAnd, One> product(bytes, b, options, counter.scratch);
  return product.run(row, counter.columns.data(), nullptr);
}

}  // namespace

SpgemmEstimate estimate_spgemm(const CsrView<One>& a, const CsrView<One>& b, bool exact) {
  require(a.cols == b.rows, "spgemm: A has " + std::to_string(a.cols) + " columns and B " +
                                std::to_string(b.rows) + " rows: they must be equal");
  const auto offsets = product_offsets(a, b.indptr);
  const auto* at = offsets.data;
  const auto room = [&](std::int64_t r) { return std::min(at[r + 1] - at[r], b.cols); };
  SpgemmEstimate e{.products = at[a.rows], .exact = exact};
  for (std::int64_t r = 0; r < a.rows; ++r) e.bound += room(r);
  if (e.products == 0) {
    e.exact = true;
    return e;
  }
  const bool ascending = ascending_rows(b);
  detail::Lent<Counter> counters;
  if (exact) {
    std::atomic<Offset> nnz = 0;
    parallel_ranges(a.rows, 64, [&](std::int64_t first, std::int64_t last) {
      counters.with([&](Counter& counter) {
        Offset sum = 0;
        for (; first < last; ++first) sum += count_row(counter, a, b, ascending, first, room(first));
        nnz += sum;
      });
    });
    e.nnz = nnz, e.sampled_products = e.products;
    return e;
  }
  std::vector<std::int64_t> rows;
  const auto most = std::max(kCheap, e.products / kShare);
  for (int i = 0; i < kSamples && (i < kFewest || e.sampled_products < most); ++i) {
    const double place = (i + 0.5) * kGoldenRatio;
    const auto target = static_cast<Offset>((place - std::floor(place)) * static_cast<double>(e.products));
    const auto row = std::upper_bound(at, at + offsets.size, target) - at - 1;
    rows.push_back(row);
    e.sampled_products += at[row + 1] - at[row];
  }
  std::vector<double> share(rows.size());
  parallel_for(std::ssize(rows), [&](std::int64_t i) {
    const auto row = rows[static_cast<std::size_t>(i)];
    counters.with([&](Counter& counter) {
      const auto nnz = count_row(counter, a, b, ascending, row, room(row));
      share[static_cast<std::size_t>(i)] =
          static_cast<double>(nnz) / static_cast<double>(at[row + 1] - at[row]);
    });
  });
  double sum = 0;
  for (const double s : share) sum += s;
  const auto mean = sum / static_cast<double>(share.size());
  e.nnz = std::min(e.bound, static_cast<Offset>(mean * static_cast<double>(e.products)));
  return e;
}

}  // namespace penstock
