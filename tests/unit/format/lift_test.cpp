#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_lift.hpp"
#include "penstock/io/generate/generate_rmat.hpp"

namespace penstock {
namespace {

/// Rows in any order of columns, with duplicates, empty rows and one long row.
Csr<double> untidy(std::int64_t n) {
  const Random random(9, 1);
  const auto length = [&](std::int64_t r) {
    return r == n / 2 ? 5 * n : below(random(static_cast<std::uint64_t>(r)), 7);
  };
  auto indptr = allocate<Offset>(n + 1);
  indptr.data[0] = 0;
  for (std::int64_t r = 0; r < n; ++r) indptr.data[r + 1] = indptr.data[r] + length(r);
  auto indices = allocate<Index>(indptr.data[n]);
  auto values = allocate<double>(indptr.data[n]);
  for (Offset k = 0; k < indptr.data[n]; ++k) {
    indices.data[k] = static_cast<Index>(below(random(static_cast<std::uint64_t>(1000 + k)), n));
    values.data[k] = static_cast<double>(k);
  }
  return {n, n, indptr, indices, values};
}

/// What the kernels of generate_lift_gpu.cu do, entry by entry.
template <class V>
void expect_as_a_gpu_writes_it(const Csr<V>& a, const LiftOptions& o) {
  const auto lifted = generate_lift(a, o);
  validate(lifted, true);
  const auto base = first_copy(a, o);
  const LiftView view{a.rows, o.copies, base.indptr.data, base.indices.data};
  const auto nnz = a.nnz();
  std::vector<int> written(static_cast<std::size_t>(nnz * o.copies));
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (auto k = a.indptr.data[row]; k < a.indptr.data[row + 1]; ++k)
      for (std::int64_t copy = 0; copy < o.copies; ++copy) {
        const LiftedRow of(view, copy, row);
        const auto to = copy * nnz + of.place(k);
        ++written[at(to)];
        ASSERT_EQ(lifted.indices.data[to], of.column(base.indices.data[k], k))
            << row << ' ' << k << ' ' << copy;
        if constexpr (!is_pattern<V>) {
          ASSERT_EQ(lifted.values.data[to], base.values.data[k]);
        }
      }
  for (const int times : written) ASSERT_EQ(times, 1);
  for (std::int64_t i = 0; i <= a.rows * o.copies; ++i) {
    const auto copy = i / a.rows;
    ASSERT_EQ(lifted.indptr.data[i], copy * nnz + (copy == o.copies ? 0 : a.indptr.data[i - copy * a.rows]));
  }
  for (std::int64_t r = 0; r < lifted.rows; ++r)
    for (auto k = lifted.indptr.data[r] + 1; k < lifted.indptr.data[r + 1]; ++k)
      ASSERT_LE(lifted.indices.data[k - 1], lifted.indices.data[k]);
}

TEST(Lift, EntriesGoWhereTheKernelsPutThem) {
  for (const double mix : {0.0, 0.05, 1.0})
    for (const std::int64_t copies : {1, 2, 7, 64}) {
      expect_as_a_gpu_writes_it(untidy(50), {copies, mix, 3});
      expect_as_a_gpu_writes_it(generate_rmat({.scale = 7, .seed = 2}), {copies, mix, 4});
    }
}

TEST(Lift, ShiftsAreOppositeAndTheDiagonalStays) {
  const LiftShift shift(10, 0.5, 7);
  int moved = 0;
  for (std::int64_t u = 0; u < 100; ++u)
    for (std::int64_t v = 0; v < 100; ++v) {
      const auto s = shift(u, v);
      ASSERT_TRUE(0 <= s && s < 10);
      ASSERT_EQ((s + shift(v, u)) % 10, 0);
      ASSERT_TRUE(u != v || s == 0);
      moved += s != 0;
    }
  EXPECT_NEAR(moved, 9900 * 0.45, 250);
}

TEST(Lift, OffsetsBeyondThirtyTwoBits) {
  const Offset indptr[] = {0, 3'000'000'000, 3'000'000'000};
  const std::vector<Index> none;
  const LiftView view{1, 5, indptr + 1, none.data()};
  EXPECT_EQ(LiftedRow(view, 4, 0).place(3'000'000'000), 3'000'000'000);
}

TEST(Lift, RefusesWhatIsNoLift) {
  const auto a = generate_rmat({.scale = 5});
  for (const LiftOptions o : {LiftOptions{0}, LiftOptions{-3}, LiftOptions{std::int64_t{1} << 27},
                              LiftOptions{2, 1.5}, LiftOptions{2, -0.1}})
    EXPECT_THROW(generate_lift(a, o), Error);
  auto wide = a;
  wide.cols += 1;
  EXPECT_THROW(generate_lift(wide, {2}), Error);
}

}  // namespace
}  // namespace penstock
