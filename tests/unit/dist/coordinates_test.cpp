#include "penstock/dist/share/coordinates.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/dist/graph/components.hpp"
#include "penstock/io/random.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr GlobalIndex kN = GlobalIndex{1} << 33;
using Entries = std::vector<Coordinate<double>>;

Array<const GlobalIndex> numbers_of(const std::vector<GlobalIndex>& v) {
  auto a = allocate<GlobalIndex>(std::ssize(v));
  std::copy(v.begin(), v.end(), a.data);
  return a;
}

TEST(Ownership, ListedEntriesAreKnownToTheirOwner) {
  constexpr GlobalIndex kMiddle = GlobalIndex{1} << 32;
  const auto o = Ownership::listed({0, kMiddle, kN}, {2, 3}, 1, numbers_of({kMiddle, kMiddle + 7, kN - 1}));
  EXPECT_TRUE(o.is_listed());
  EXPECT_FALSE(o.is_ranges());
  EXPECT_EQ(o.size(), kN);
  EXPECT_EQ(o.present(), 5);
  EXPECT_EQ(o.owner(kMiddle - 1), 0);
  EXPECT_EQ(o.owner(kMiddle), 1);
  EXPECT_EQ(o.local(kN - 1), 2);
  EXPECT_EQ(o.local(kMiddle + 1), -1);
  EXPECT_EQ(o.global(1, 1), kMiddle + 7);
  EXPECT_EQ(o.numbers(1).data[0], kMiddle);
  EXPECT_THROW(o.numbers(0), Error);
  EXPECT_THROW(o.local(0), Error);
  EXPECT_THROW(o.all_numbers(), Error);
}

TEST(Ownership, ListsThatAreNotInOrderAreRefused) {
  EXPECT_THROW(Ownership::listed({0, 10, 20}, {1, 2}, 1, numbers_of({12, 12})), Error);
  EXPECT_THROW(Ownership::listed({0, 10, 20}, {1, 2}, 1, numbers_of({9, 12})), Error);
  EXPECT_THROW(Ownership::listed({0, 10, 20}, {1, 2}, 1, numbers_of({12})), Error);
  EXPECT_THROW(Ownership::listed({0, 30, 20}, {1, 2}, 1, numbers_of({12, 20})), Error);
}

Entries some_entries(unsigned seed, std::size_t count) {
  std::mt19937_64 random(seed);
  const GlobalIndex near[] = {0, (GlobalIndex{1} << 31) - 1, GlobalIndex{1} << 31, GlobalIndex{1} << 32,
                              kN - 1};
  const auto number = [&] {
    return random() % 2 ? near[random() % 5]
                        : static_cast<GlobalIndex>(random() % static_cast<unsigned long>(kN));
  };
  Entries entries;
  for (std::size_t k = 0; k < count; ++k)
    entries.push_back({number(), number(), static_cast<double>(1 + random() % 9)});
  return entries;
}

/// The entries of a distributed matrix with the numbers of the whole.
std::map<std::pair<GlobalIndex, GlobalIndex>, double> entries_of(const DistCsr<double>& a) {
  const auto rows = a.row_owners->numbers(a.comm->rank()), cols = a.col_owners->numbers(a.comm->rank());
  const auto ghosts = ghost_numbers(*a.comm, *a.col_owners, *a.plan);
  std::map<std::pair<GlobalIndex, GlobalIndex>, double> out;
  for (std::int64_t r = 0; r < rows.size; ++r) {
    for (auto k = a.local.indptr.data[r]; k < a.local.indptr.data[r + 1]; ++k)
      out[{rows.data[r], cols.data[a.local.indices.data[k]]}] += a.local.values.data[k];
    for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k)
      out[{rows.data[r], ghosts.data[a.halo.indices.data[k]]}] += a.halo.values.data[k];
  }
  return out;
}

TEST(Coordinates, AreRenumberedWithoutLoss) {
  const auto all = some_entries(3, 400);
  std::map<std::pair<GlobalIndex, GlobalIndex>, double> expected;
  for (const auto& e : all) expected[{e.row, e.column}] += e.value;
  for (const auto cuts : {RowCuts::contiguous, RowCuts::balanced})
    for (const int ranks : {1, 2, 5}) {
      std::vector<std::map<std::pair<GlobalIndex, GlobalIndex>, double>> parts(at(ranks));
      on_ranks(ranks, [&](std::shared_ptr<Comm> comm) {
        Entries mine;
        for (auto k = at(comm->rank()); k < all.size(); k += at(ranks)) mine.push_back(all[k]);
        const auto a = from_coordinates<double>(comm, kN, kN, mine, cuts, Numbering::listed);
        EXPECT_EQ(a.row_owners, a.col_owners);
        EXPECT_EQ(a.all_rows(), kN);
        parts[at(comm->rank())] = entries_of(a);
      });
      std::map<std::pair<GlobalIndex, GlobalIndex>, double> found;
      for (const auto& part : parts) found.insert(part.begin(), part.end());
      EXPECT_EQ(found, expected);
    }
}

TEST(Coordinates, OneOfEqualEntriesCanBeKept) {
  on_ranks(2, [&](std::shared_ptr<Comm> comm) {
    const Entries mine{{kN - 1, 5, 2.0}, {kN - 1, 5, 2.0}};
    const auto sum = from_coordinates<double>(comm, kN, kN, mine, RowCuts::contiguous, Numbering::listed);
    const auto one =
        from_coordinates<double>(comm, kN, kN, mine, RowCuts::contiguous, Numbering::listed, Duplicates::one);
    if (comm->rank() == 1) {
      EXPECT_EQ(sum.halo.values.data[0], 8.0);
      EXPECT_EQ(one.halo.values.data[0], 2.0);
    }
    EXPECT_EQ(sum.nnz(), comm->rank());
  });
}

TEST(Coordinates, VerticesThatNobodyListsAreComponents) {
  on_ranks(3, [&](std::shared_ptr<Comm> comm) {
    std::vector<Coordinate<One>> mine;
    if (comm->rank() == 2) mine = {{4, kN - 2, {}}, {9, 8, {}}};
    const auto a = from_coordinates<One>(comm, kN, kN, mine, RowCuts::contiguous, Numbering::listed);
    const auto c = connected_components(a);
    EXPECT_EQ(c.count, kN - 2);
    const auto numbers = a.row_owners->numbers(comm->rank());
    for (std::int64_t v = 0; v < numbers.size; ++v)  // four smaller vertices are alone; so are 5, 6 and 7
      EXPECT_EQ(c.labels.data[v], numbers.data[v] == 4 || numbers.data[v] == kN - 2 ? 4 : 8);
  });
}

TEST(EntryValues, TellNumbersOf64BitsApart) {
  const EntryValues value(3, true);
  EXPECT_EQ(value.of<double>(77, 5), value.of_wide<double>(77, 5));
  constexpr GlobalIndex kHigh = GlobalIndex{1} << 32;
  EXPECT_NE(value.of_wide<double>(0, kHigh), value.of_wide<double>(0, 0));
  EXPECT_NE(value.of_wide<double>(0, kHigh), value.of_wide<double>(1, 0));
  EXPECT_EQ(value.of_wide<double>(3, kHigh), value.of_wide<double>(kHigh, 3));
}

}  // namespace
}  // namespace penstock
