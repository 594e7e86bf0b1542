#include "penstock/kernel/row_blocks.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace penstock {
namespace {

std::int64_t cost(const RowBlock& b, const BlockShape& s) { return b.nnz * s.nnz_cost + b.rows * s.row_cost; }

/// All rows and all nonzeros once, in order; pieces belong to one row; no block above its budget that could be smaller.
void expect_sound(const std::vector<Offset>& indptr, const std::vector<RowBlock>& blocks,
                  const BlockShape& s) {
  std::int64_t row = 0;
  Offset nnz = 0;
  for (const auto& b : blocks) {
    ASSERT_EQ(b.first_nnz, nnz);
    ASSERT_EQ(b.first_row, row);
    const bool single = b.rows == 1 && b.nnz <= 1;
    ASSERT_TRUE(cost(b, s) <= s.budget || single) << b.rows << " rows, " << b.nnz << " nonzeros";
    nnz += b.nnz;
    if (b.piece) {
      ASSERT_EQ(b.rows, 1);
      ASSERT_GT(b.nnz, 0);
      ASSERT_LE(nnz, indptr[static_cast<std::size_t>(row) + 1]);
      if (nnz == indptr[static_cast<std::size_t>(row) + 1]) ++row;
    } else {
      ASSERT_GT(b.rows, 0);
      row += b.rows;
      ASSERT_EQ(nnz, indptr[static_cast<std::size_t>(row)]);
    }
  }
  ASSERT_EQ(row, std::ssize(indptr) - 1);
  ASSERT_EQ(nnz, indptr.back());
}

TEST(RowBlocks, CoverEverythingOnceWithinBudget) {
  for (const auto shape : test::kShapes)
    for (const std::int64_t rows : {0, 1, 2, 17, 300})
      for (const std::int64_t budget : {1, 8, 13, 64, 1000, 1 << 20})
        for (const std::int64_t row_cost : {0, 1, 8})
          for (const std::int64_t nnz_cost : {1, 4, 20})
            for (const std::int64_t align : {1, 4, 7}) {
              const BlockShape s{budget, nnz_cost, row_cost, align};
              const auto indptr = test::indptr_of(shape, rows, static_cast<unsigned>(rows + budget));
              SCOPED_TRACE(testing::Message()
                           << "shape " << int(shape) << " rows " << rows << " budget " << budget << " costs "
                           << row_cost << ' ' << nnz_cost << " align " << align);
              expect_sound(indptr, row_blocks(indptr, s), s);
              if (HasFatalFailure()) return;
            }
}

TEST(RowBlocks, ArePackedAsFullAsTheyCanBe) {
  const auto indptr = test::indptr_of(test::Rows::uniform, 1000, 11);
  const BlockShape s{.budget = 100};
  const auto blocks = row_blocks(indptr, s);
  for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
    const auto& b = blocks[i];
    const auto end = static_cast<std::size_t>(b.first_row + b.rows);
    if (b.piece) continue;
    EXPECT_GT(cost(b, s) + indptr[end + 1] - indptr[end] + 1, s.budget) << "block " << i;
  }
}

TEST(RowBlocks, SplitOnlyLongRows) {
  const std::vector<Offset> indptr{0, 2, 2, 102, 103, 103};
  const auto blocks = row_blocks(indptr, {.budget = 11});
  std::int64_t pieces = 0;
  for (const auto& b : blocks) {
    if (!b.piece) continue;
    ++pieces;
    EXPECT_EQ(b.first_row, 2);
    EXPECT_EQ(b.nnz, 10);
  }
  EXPECT_EQ(pieces, 10);
}

TEST(RowBlocks, BeginAtAlignedRowsWhereTheBudgetAllows) {
  const auto indptr = test::indptr_of(test::Rows::uniform, 500, 2);
  const auto blocks = row_blocks(indptr, {.budget = 120, .row_align = 8});
  ASSERT_GT(blocks.size(), 10u);
  for (const auto& b : blocks) EXPECT_EQ(b.first_row % 8, 0) << b.first_row;
}

TEST(RowBlocks, RefuseABudgetOrAnAlignmentOfZero) {
  const std::vector<Offset> indptr{0, 1};
  EXPECT_EQ(test::code_of([&] { row_blocks(indptr, {.budget = 0}); }), Errc::invalid_argument);
  EXPECT_EQ(test::code_of([&] { row_blocks(indptr, {.budget = 5, .row_align = 0}); }),
            Errc::invalid_argument);
  EXPECT_EQ(test::code_of([&] { row_blocks({}, {.budget = 5}); }), Errc::invalid_argument);
}

TEST(RowBlocks, ViewOfABlockSeesItsOwnEntries) {
  const auto a = test::matrix_of<double>(40, test::indptr_of(test::Rows::one_long, 60, 4));
  Offset seen = 0;
  for (const auto& b : row_blocks(a.indptr.span(), {.budget = 25})) {
    Offset piece_ptr[2];
    const auto view = block_view(a.view(), b, piece_ptr);
    ASSERT_EQ(view.rows, b.rows);
    ASSERT_EQ(view.nnz(), b.nnz);
    ASSERT_EQ(view.indptr[0] - view.first_nnz, b.first_nnz);
    seen += view.nnz();
  }
  EXPECT_EQ(seen, a.nnz());
}

}  // namespace
}  // namespace penstock
