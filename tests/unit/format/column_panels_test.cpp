#include "penstock/format/column_panels.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace penstock {
namespace {

TEST(ColumnPanels, HoldEveryEntryOnceInOrder) {
  for (const auto shape : test::kShapes)
    for (const std::int64_t width : {1, 7, 89, 90, 1000}) {
      const auto a = test::matrix_of<double>(90, test::indptr_of(shape, 150, 7));
      const auto panels = column_panels(a, width);
      ASSERT_EQ(std::ssize(panels), std::max<std::int64_t>((90 + width - 1) / width, 1));
      const auto x = test::vector_of<double>(a.cols, 3);
      auto expected = test::vector_of<double>(a.rows, 4), y = expected;
      test::reference<PlusTimes<double>, double>(a, x, expected, {});
      std::int64_t first = 0, nnz = 0;
      for (const auto& p : panels) {
        validate(p, true);
        const std::vector<double> part(x.begin() + first, x.begin() + first + p.cols);
        test::reference<PlusTimes<double>, double>(
            p, part, y, first == 0 ? Scale<PlusTimes<double>>{} : Scale<PlusTimes<double>>::accumulate());
        first += p.cols, nnz += p.nnz();
      }
      EXPECT_EQ(first, a.cols);
      EXPECT_EQ(nnz, a.nnz());
      EXPECT_EQ(y, expected);
    }
}

TEST(ColumnPanels, AWidthBelowOneIsRefused) {
  const auto a = test::matrix_of<One>(9, test::indptr_of(test::Rows::uniform, 15, 7));
  EXPECT_THROW(column_panels(a, 0), Error);
}

}  // namespace
}  // namespace penstock
