#include "penstock/partition/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/partition/metrics.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// Distinct (part, column) of which another part owns the column, and (part, row) likewise: by sets.
void expect_counts(const Csr<One>& a, const Partition& p) {
  const auto parts = partition::entry_parts(a, p);
  const auto m = metrics(a, p, 8, 8);
  std::set<std::pair<Index, std::int64_t>> halo, partial;
  std::vector<std::int64_t> nnz(static_cast<std::size_t>(p.parts));
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) {
      const auto part = parts.data[k];
      const auto c = a.indices.data[k];
      ASSERT_TRUE(part >= 0 && part < p.parts);
      ++nnz[static_cast<std::size_t>(part)];
      if (p.col_owners.data[c] != part) halo.emplace(part, c);
      if (p.row_owners.data[r] != part) partial.emplace(part, r);
    }
  EXPECT_EQ(m.nnz, nnz) << name(p.kind);
  EXPECT_EQ(m.halo_volume, std::ssize(halo)) << name(p.kind);
  EXPECT_EQ(m.partial_volume, std::ssize(partial)) << name(p.kind);
}

TEST(Partition, EveryEntryIsInOnePartAndEveryFigureIsCounted) {
  for (const auto shape : test::kShapes)
    for (const std::int64_t cols : {400, 300})
      for (const std::int64_t parts : {1, 2, 9, 12, 500})
        for (const auto& partitioner : partition::partitioners()) {
          const auto a = test::matrix_of<One>(cols, test::indptr_of(shape, 400, 7), 3);
          if (cols != 400 && partitioner.reads == partition::Reads::graph) continue;
          const auto p = partitioner.make(a, parts);
          ASSERT_EQ(name(p.kind), partitioner.name);
          ASSERT_EQ(p.row_owners.size, 400);
          ASSERT_EQ(p.col_owners.size, cols);
          for (const auto owner : p.row_owners.span()) ASSERT_TRUE(owner >= 0 && owner < parts);
          expect_counts(a, p);
        }
}

TEST(Partition, OfNothingButTheShapeWhereThatIsAllItReads) {
  const auto a = test::matrix_of<One>(300, test::indptr_of(test::kShapes[0], 400, 7), 3);
  const Csr<One> shape{a.rows, a.cols, {}, {}, {}};
  for (const auto& partitioner : partition::partitioners()) {
    if (partitioner.reads != partition::Reads::shape) continue;
    const auto whole = partitioner.make(a, 6), p = partitioner.make(shape, 6);
    EXPECT_TRUE(std::ranges::equal(whole.row_owners.span(), p.row_owners.span())) << partitioner.name;
    EXPECT_TRUE(std::ranges::equal(whole.col_owners.span(), p.col_owners.span())) << partitioner.name;
  }
}

TEST(Partition, AnUnknownNameIsAnsweredByTheList) {
  for (const auto& known : partition::partitioners()) EXPECT_EQ(&partition::partitioner(known.name), &known);
  try {
    partition::partitioner("best");
    FAIL();
  } catch (const Error& error) {
    for (const auto& known : partition::partitioners())
      EXPECT_NE(std::string(error.what()).find(known.name), std::string::npos) << error.what();
  }
}

TEST(Partition, SharesDoNotOverflow) {
  const std::int64_t nnz = std::int64_t{1} << 60;  // times the number of parts it would not fit
  EXPECT_EQ(partition::share(nnz, 1 << 20, 1 << 20), nnz);
  EXPECT_EQ(partition::share(nnz, 1 << 20, 3), 3 * (nnz >> 20));
  EXPECT_EQ(partition::share(7, 3, 1), 3);
  EXPECT_EQ(partition::share(7, 3, 2), 5);
  const std::vector<Offset> offsets{0, nnz / 4, nnz / 2, nnz, nnz};
  EXPECT_EQ(partition::cut_by_entries(offsets.data(), 4, 2), (std::vector<std::int64_t>{0, 2, 4}));
}

TEST(Partition, BinsSplitALongRowAtOmega) {
  const auto a = test::matrix_of<One>(50, {0, 30, 31, 32, 33, 36}, 1);
  const auto p = partition::bins(a, 4);  // omega = 9
  ASSERT_EQ(p.pieces.size(), 4u);
  for (const auto& piece : p.pieces) {
    EXPECT_EQ(piece.row, 0);
    EXPECT_LE(piece.last - piece.first, 9);
  }
  EXPECT_EQ(p.row_owners.data[0], p.pieces[0].part);
  EXPECT_EQ(metrics(a, p, 0, 8).nnz, (std::vector<std::int64_t>{9, 9, 9, 9}));
}

TEST(Partition, LabelPropagationCutsNoMoreThanBalanced) {
  const auto a = test::matrix_of<One>(3000, test::indptr_of(test::Rows::uniform, 3000, 5), 2);
  const auto cut = [&](const Partition& p) {
    std::int64_t n = 0;
    for (std::int64_t r = 0; r < a.rows; ++r)
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
        n += p.row_owners.data[r] != p.row_owners.data[a.indices.data[k]];
    return n;
  };
  const auto before = num_threads();
  set_num_threads(1);
  const auto one = partition::label_propagation(a, 6);
  set_num_threads(4);
  const auto four = partition::label_propagation(a, 6);
  set_num_threads(before);
  EXPECT_TRUE(std::ranges::equal(one.row_owners.span(), four.row_owners.span()));
  EXPECT_LT(cut(one), cut(partition::balanced(a, 6)));
  EXPECT_LT(metrics(a, one, 0, 8).imbalance, 1.05);
}

TEST(Partition, ErrorsSayWhatToDo) {
  const auto a = test::matrix_of<One>(3, {0, 1, 2}, 1);
  std::string what;
  EXPECT_EQ(test::code_of([&] { partition::balanced(a, 0); }, &what), Errc::invalid_argument);
  EXPECT_NE(what.find("parts = 0"), std::string::npos);
  EXPECT_EQ(test::code_of([&] { partition::label_propagation(a, 2); }, &what), Errc::invalid_argument);
  EXPECT_NE(what.find("use balanced or bins"), std::string::npos);
  EXPECT_EQ(test::code_of(
                [&] {
                  partition::labels(a, test::array_of<Index>({0, -2}), 0);
                },
                &what),
            Errc::invalid_argument);
  EXPECT_NE(what.find("owners[1] = -2"), std::string::npos);
  const auto other = test::matrix_of<One>(4, {0, 1, 2}, 1);
  EXPECT_EQ(test::code_of([&] { metrics(other, partition::balanced(a, 2), 0, 8); }, &what),
            Errc::invalid_argument);
  EXPECT_NE(what.find("make a partition of this matrix"), std::string::npos);
}

}  // namespace
}  // namespace penstock
