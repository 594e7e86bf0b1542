// Smoothed aggregation over ranks that are threads, against that of one process.
#include "penstock/solver/multigrid/dist_hierarchy.hpp"

#include <cmath>
#include <vector>

#include "penstock/solver/multigrid/dist_rows.hpp"
#include "ranks.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSide = 26, kRows = kSide * kSide;

/// Rows [first, last) of the Laplacian of a square, with the columns of the whole matrix.
Csr<double> grid_rows(std::int64_t first, std::int64_t last, double diagonal = 4) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  const auto add = [&](std::int64_t column, double value) {
    indices.push_back(static_cast<Index>(column)), values.push_back(value);
  };
  for (auto r = first; r < last; ++r) {
    if (r >= kSide) add(r - kSide, -1);
    if (r % kSide > 0) add(r - 1, -1);
    add(r, diagonal);
    if (r % kSide < kSide - 1) add(r + 1, -1);
    if (r + kSide < kRows) add(r + kSide, -1);
    indptr.push_back(std::ssize(indices));
  }
  return {last - first, kRows, test::array_of(indptr), test::array_of(indices), test::array_of(values)};
}

AmgOptions rank_options() {
  AmgOptions o;
  o.max_coarse = 12, o.rows_of_rank = 30;
  return o;
}

std::shared_ptr<DistProduct<double>> shared(const std::shared_ptr<Comm>& comm, double diagonal = 4) {
  std::vector<GlobalIndex> starts{0};
  for (int i = 1; i <= comm->size(); ++i) starts.push_back(kRows * i / comm->size());
  const auto first = starts[at(comm->rank())], last = starts[at(comm->rank() + 1)];
  const auto owners = std::make_shared<const Ownership>(Ownership::ranges(starts));
  return share_out<double>(comm, owners, owners, owners->numbers(comm->rank()),
                           grid_rows(first, last, diagonal));
}

TEST(DistMultigrid, LevelsAndCyclesAreThoseOfOneProcess) {
  const std::vector<double> ones(at(kRows), 1.0);
  const auto whole = build_hierarchy<double>(grid_rows(0, kRows), ones, 1, rank_options());
  std::vector<double> b(at(kRows)), z(at(kRows));
  for (std::int64_t i = 0; i < kRows; ++i) b[at(i)] = static_cast<double>(i * 7 % 11) - 5;
  multigrid<double, double>(whole, 1).apply(b, z);
  ASSERT_GE(whole->levels.size(), 3u);
  for (const int ranks : {1, 2, 3, 4})
    on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
      const auto a = shared(comm);
      const auto first = kRows * comm->rank() / comm->size(), count = a->matrix().rows();
      const std::vector<double> mine(at(count), 1.0);
      const auto h = build_dist_hierarchy<double, double>(a, 1, mine, 1, rank_options());
      EXPECT_EQ(h->levels.size(), whole->levels.size());
      for (std::size_t l = 0; l < h->levels.size(); ++l) {
        EXPECT_EQ(h->levels[l].a->matrix().all_rows(), whole->levels[l].a.rows);
        EXPECT_EQ(h->levels[l].nnz, whole->levels[l].a.nnz());
        EXPECT_NEAR(h->levels[l].largest, whole->levels[l].largest, 1e-10);
      }
      EXPECT_EQ(h->levels.back().ranks, 1);
      std::vector<double> part(at(count));
      const std::span<const double> from(b.data() + first, at(count));
      multigrid<double, double>(h, 1).apply(from, part);
      for (std::int64_t i = 0; i < count; ++i) EXPECT_NEAR(part[at(i)], z[at(first + i)], 1e-10);
      // The same bits again, and with the aggregates that there are.
      std::vector<double> again(at(count));
      const auto more = build_dist_hierarchy<double, double>(a, 1, mine, 1, rank_options(), h.get());
      multigrid<double, double>(more, 1).apply(from, again);
      EXPECT_EQ(again, part);
    });
}

TEST(DistMultigrid, EveryRankIsToldOfARowThatOneHas) {
  on_ranks(3, [](const std::shared_ptr<Comm>& comm) {
    const auto a = shared(comm, -1);
    try {
      build_dist_hierarchy<double, double>(a, 1, std::vector<double>(at(a->matrix().rows()), 1.0), 1,
                                           rank_options());
      ADD_FAILURE() << "a negative diagonal was taken";
    } catch (const Error& e) {
      EXPECT_TRUE(has(e.what(), "row 0 is not a positive number")) << e.what();
    }
    comm->barrier();  // the ranks can go on
  });
}

}  // namespace
}  // namespace penstock
