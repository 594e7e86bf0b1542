#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/dist/product/dist_product.hpp"
#include "penstock/dist/share/balance.hpp"
#include "penstock/dist/share/share.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

template <class T>
Array<const T> array_of(const std::vector<T>& v) {
  auto a = allocate<T>(std::ssize(v));
  std::copy(v.begin(), v.end(), a.data);
  return a;
}

TEST(Ownership, RangesAndOwnersAgree) {
  const auto owners = array_of<Index>({0, 0, 2, 2, 2, 3});
  const auto a = Ownership::of(owners, 4), b = Ownership::ranges({0, 2, 2, 5, 6});
  EXPECT_TRUE(a.is_ranges());  // they ascend
  for (const auto* o : {&a, &b})
    for (GlobalIndex i = 0; i < 6; ++i) {
      EXPECT_EQ(o->owner(i), owners.data[i]);
      EXPECT_EQ(o->global(o->owner(i), o->local(i)), i);
    }
  EXPECT_EQ(a.count(1), 0);
}

TEST(Ownership, ScatteredEntriesKeepTheirOrder) {
  const auto o = Ownership::of(array_of<Index>({2, 0, 2, 0, 0}), 3);
  EXPECT_FALSE(o.is_ranges());
  EXPECT_EQ(o.count(0), 3);
  EXPECT_EQ(o.global(2, 1), 2);
  EXPECT_EQ(o.local(4), 2);
  EXPECT_THROW(Ownership::of(array_of<Index>({0, 3}), 3), Error);
  EXPECT_THROW(Ownership::ranges({1, 2}), Error);
  EXPECT_THROW(Ownership::ranges({0, 2, 1}), Error);
}

TEST(Ownership, ScatteredEntriesOfFewAndManyRanks) {
  // Owners of one, two and four bytes; sizes at the ends of blocks, and ranks without entries.
  for (const auto& [ranks, size] :
       {std::pair{2, 64}, {2, 129}, {3, 1000}, {256, 4096}, {300, 5000}, {70000, 80000}}) {
    std::mt19937 random(static_cast<unsigned>(ranks + size));
    std::vector<Index> who(static_cast<std::size_t>(size));
    for (auto& r : who) r = static_cast<Index>(random() % static_cast<unsigned>(ranks));
    who.front() = ranks - 1, who.back() = 0;  // not ascending
    const auto o = Ownership::of(array_of(who), ranks);
    ASSERT_FALSE(o.is_ranges());
    std::vector<std::vector<GlobalIndex>> of(static_cast<std::size_t>(ranks));
    for (std::size_t i = 0; i < who.size(); ++i)
      of[static_cast<std::size_t>(who[i])].push_back(static_cast<GlobalIndex>(i));
    const auto all = o.all_numbers();
    std::int64_t n = 0;
    for (int r = 0; r < ranks; r += 1 + ranks / 50) {
      const auto& mine = of[static_cast<std::size_t>(r)];
      ASSERT_EQ(o.count(r), std::ssize(mine)) << "rank " << r << " of " << ranks;
      const auto numbers = o.numbers(r);
      ASSERT_TRUE(std::ranges::equal(numbers.span(), mine)) << "rank " << r << " of " << ranks;
      n = o.starts()[static_cast<std::size_t>(r)];
      for (std::size_t k = 0; k < mine.size(); ++k, ++n) {
        ASSERT_EQ(o.owner(mine[k]), r);
        ASSERT_EQ(o.local(mine[k]), static_cast<std::int64_t>(k));
        ASSERT_EQ(o.global(r, static_cast<std::int64_t>(k)), mine[k]);
        ASSERT_EQ(all.data[n], mine[k]);
      }
    }
    std::swap(who.front(), who[who.size() / 2]);
    const auto other = Ownership::of(array_of(who), ranks);
    EXPECT_TRUE(o.same_on(ranks - 1, o));
    EXPECT_EQ(o.same_on(ranks - 1, other), who.front() == ranks - 1);
  }
}

TEST(Ownership, RangesHaveTheirNumbers) {
  const auto o = Ownership::ranges({0, 3, 3, 5});
  EXPECT_TRUE(std::ranges::equal(o.numbers(2).span(), std::vector<GlobalIndex>{3, 4}));
  EXPECT_EQ(o.numbers(1).size, 0);
  EXPECT_TRUE(std::ranges::equal(o.all_numbers().span(), std::vector<GlobalIndex>{0, 1, 2, 3, 4}));
  const auto scattered = Ownership::of(array_of<Index>({2, 0, 0, 0, 2}), 3);
  EXPECT_TRUE(o.same_on(1, Ownership::ranges({0, 3, 3, 5})));
  EXPECT_EQ(o.starts(), scattered.starts());
  EXPECT_FALSE(o.same_on(2, scattered));
}

TEST(Partition, BinsOfLengthsThatRanksKnowApart) {
  const auto a = generate_rmat({.scale = 8, .scramble = false, .seed = 3});
  for (const int ranks : {1, 3, 8})
    succeed(ranks, [&](Comm& c) {
      const auto right = partition::bins(a, ranks);
      const auto first = partition::share(a.rows, ranks, c.rank()),
                 last = partition::share(a.rows, ranks, c.rank() + 1);
      const auto mine = rows_of(a, first, last).entries.indptr;
      const auto p = bins_by(c, first, mine, a.rows, a.cols);
      EXPECT_TRUE(std::ranges::equal(p.row_owners.span(), right.row_owners.span()));
      EXPECT_EQ(p.nnz, a.nnz());
      ASSERT_EQ(p.pieces.size(), right.pieces.size());
      for (std::size_t i = 0; i < p.pieces.size(); ++i) EXPECT_EQ(p.pieces[i].part, right.pieces[i].part);
      EXPECT_THROW(bins_by(c, first, mine, a.rows + 1, a.cols), Error);
    });
}

TEST(CommPlan, TellsOwnersWhatIsWanted) {
  // A ring: each rank wants the first entry of the next one.
  succeed(4, [](Comm& c) {
    const auto o = Ownership::ranges({0, 2, 4, 6, 8});
    const int next = (c.rank() + 1) % 4, before = (c.rank() + 3) % 4;
    const GlobalIndex wanted[] = {2 * next};
    const auto plan = plan_exchange(c, o, wanted);
    EXPECT_EQ(plan.receive_ranks, std::vector<int>{next});
    EXPECT_EQ(plan.send_ranks, std::vector<int>{before});
    ASSERT_EQ(plan.sent(), 1);
    EXPECT_EQ(plan.send_indices.data[0], 0);
    EXPECT_EQ(plan.owned, 2);
  });
}

TEST(CommPlan, RefusesGhostsOutOfOrder) {
  succeed(1, [](Comm& c) {
    const auto o = Ownership::ranges({0, 4});
    const GlobalIndex own[] = {1}, outside[] = {4};
    EXPECT_THROW(plan_exchange(c, o, own), Error);
    EXPECT_THROW(plan_exchange(c, o, outside), Error);
  });
}

/// y = A x and z = A^T x, put together from all ranks.
void multiplies(Comm& c, const Csr<One>& a, const Partition& p, std::string_view halo) {
  const std::shared_ptr<Comm> comm(&c, [](Comm*) {});
  const auto owners = owners_of(p, c.size());
  auto share = share_of(RowRange<One>{a}, p, c.rank());
  DistProduct<One> product(distribute<One>(comm, owners.rows, owners.cols, share),
                           {.halo = std::string(halo)});
  const auto& m = product.matrix();
  std::vector<double> x(static_cast<std::size_t>(m.cols())), y(static_cast<std::size_t>(m.rows()));
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] = static_cast<double>(owners.cols->global(c.rank(), static_cast<std::int64_t>(k)) % 17);
  product.multiply<PlusTimes<double>>(x, y);
  for (std::size_t k = 0; k < y.size(); ++k) {
    const auto r = owners.rows->global(c.rank(), static_cast<std::int64_t>(k));
    double wanted = 0;  // whole numbers: exact in any order
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e) wanted += a.indices.data[e] % 17;
    ASSERT_EQ(y[k], wanted) << halo << " row " << r << " of rank " << c.rank();
  }
  std::vector<double> z(x.size());
  product.multiply_transposed<PlusTimes<double>>(y, z);
  double sums[] = {std::inner_product(z.begin(), z.end(), x.begin(), 0.0),
                   std::inner_product(y.begin(), y.end(), y.begin(), 0.0)};
  c.all_reduce(sums, Reduce::sum);
  EXPECT_EQ(sums[0], sums[1]) << "x . A^T (A x) is |A x|^2, with " << halo;
}

TEST(DistProduct, EqualsTheWholeProductByEveryStrategy) {
  const auto a = generate_rmat({.scale = 7, .edge_factor = 6});
  for (const int n : kRanks)
    for (const auto& p : {partition::balanced(a, n), partition::grid(a, n), partition::bins(a, n)})
      succeed(n, [&](Comm& c) {
        for (const auto& halo : halos()) multiplies(c, a, p, halo.name);
        multiplies(c, a, p, "auto");
      });
}

TEST(Share, RowsThatRanksReadReachTheirOwnersInAnyNumberOfRounds) {
  const auto a = generate_rmat({.scale = 6, .edge_factor = 6});
  for (const int n : {1, 3, 4}) {
    const auto p = partition::bins(a, n);
    const auto cuts = partition::balanced(a, n).row_cuts;
    for (const std::int64_t round_bytes : {1, 300, 1 << 20})
      succeed(n, [&](Comm& c) {
        const auto i = static_cast<std::size_t>(c.rank());
        const auto got = spread(c, rows_of(a, cuts[i], cuts[i + 1]), p, round_bytes);
        const auto wanted = share_of(RowRange<One>{a}, p, c.rank());
        ASSERT_EQ(got.entries.rows, wanted.entries.rows);
        for (std::int64_t r = 0; r < wanted.entries.rows; ++r) {
          std::int64_t at = 0;  // rounds of several readers come in turn
          while (at < got.entries.rows && got.row_id(at) != wanted.row_id(r)) ++at;
          ASSERT_LT(at, got.entries.rows);
          const auto row = [](const Share<One>& s, std::int64_t k) {
            const auto* indptr = s.entries.indptr.data;
            return std::vector<Index>(s.entries.indices.data + indptr[k],
                                      s.entries.indices.data + indptr[k + 1]);
          };
          EXPECT_EQ(row(got, at), row(wanted, r));
        }
      });
  }
}

TEST(Distribute, RefusesARowGivenTwice) {
  succeed(1, [](Comm& c) {
    const std::shared_ptr<Comm> comm(&c, [](Comm*) {});
    const auto o = std::make_shared<const Ownership>(Ownership::ranges({0, 2}));
    Share<One> s;
    s.row_ids = array_of<GlobalIndex>({1, 1});
    s.entries = {2, 2, array_of<Offset>({0, 1, 2}), array_of<Index>({0, 1}), {}};
    EXPECT_THROW(distribute<One>(comm, o, o, s), Error);
    s.row_ids = array_of<GlobalIndex>({1, 2});
    EXPECT_THROW(distribute<One>(comm, o, o, s), Error);
  });
}

}  // namespace
}  // namespace penstock
