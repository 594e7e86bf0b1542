// Rows and columns that are named one by one, on the CPU as the device: the same steps as on a GPU.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "penstock/kernel/structure/named_rows.hpp"

namespace penstock {
namespace {

struct Matrix {
  std::int64_t rows, cols;
  std::vector<Offset> ends{0};
  std::vector<Index> columns;
};

/// About half of the rows and columns have entries.
Matrix random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937_64 random(seed);
  Matrix a{.rows = rows, .cols = cols, .columns = {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    std::set<Index> row;
    for (auto n = cols > 0 && random() % 2 == 0 ? random() % 5 : 0; n > 0; --n)
      row.insert(static_cast<Index>(random() % static_cast<std::uint64_t>(cols) / 2 * 2));
    a.columns.insert(a.columns.end(), row.begin(), row.end());
    a.ends.push_back(std::ssize(a.columns));
  }
  return a;
}

std::vector<Index> listed(const Array<const Index>& names) { return {names.data, names.data + names.size}; }

TEST(NamedRows, AreThoseWithEntries) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto a = random_matrix(seed * 7, 1 + seed * 5 % 131, seed);
    const std::set<Index> columns(a.columns.begin(), a.columns.end());
    EXPECT_EQ(listed(named_columns(a.columns.data(), a.ends.back(), a.cols, {})),
              std::vector<Index>(columns.begin(), columns.end()));
    std::vector<Index> rows;
    for (std::int64_t r = 0; r < a.rows; ++r)
      if (a.ends[at(r)] < a.ends[at(r + 1)]) rows.push_back(static_cast<Index>(r));
    EXPECT_EQ(listed(named_rows(a.ends.data(), a.rows, {})), rows);
    // Marks of several matrices add up.
    std::vector<std::uint32_t> marks(at(mark_words(a.cols)));
    const std::vector<Index> first{0};
    mark_named(first.data(), 1, marks.data(), {});
    mark_columns(a.columns.data(), a.ends.back(), marks.data(), {});
    auto both = columns;
    both.insert(0);
    EXPECT_EQ(listed(named_by(marks.data(), a.cols, {})), std::vector<Index>(both.begin(), both.end()));
  }
}

TEST(NamedRows, AreCopiedAndNothingElse) {
  for (const std::int64_t row : {1, 4, 12, 64}) {
    std::vector<std::byte> from(at(100 * row)), to(from.size(), std::byte{0xee});
    for (std::size_t b = 0; b < from.size(); ++b) from[b] = static_cast<std::byte>(b * 7 % 251);
    const std::vector<Index> names{0, 3, 4, 98, 99};
    auto wanted = to;
    for (const auto n : names) std::copy_n(&from[at(n * row)], row, &wanted[at(n * row)]);
    copy_rows(to.data(), from.data(), row, names.data(), std::ssize(names), {});
    EXPECT_EQ(to, wanted);
    copy_rows(nullptr, nullptr, row, nullptr, 0, {});
  }
}

TEST(NamedRows, TheirEntriesFormAMatrix) {
  for (unsigned seed = 1; seed < 40; ++seed) {
    const auto a = random_matrix(seed * 3, 64, seed);
    std::vector<Index> names;
    for (std::int64_t r = 0; r < a.rows; ++r)
      if ((r * 7 + seed) % 3 == 0) names.push_back(static_cast<Index>(r));
    // Offsets of rows that are not named, nor after a named one, must not be read.
    auto known = a.ends;
    for (std::int64_t r = 0; r <= a.rows; ++r) {
      const auto needed = [&](std::int64_t n) { return std::ranges::find(names, n) != names.end(); };
      if (!needed(r) && !needed(r - 1)) known[at(r)] = -1'000'000;
    }
    std::vector<Offset> ends(at(a.rows + 1), 77);
    ends_of_named(names.data(), std::ssize(names), known.data(), a.rows, ends.data(), {});
    std::vector<Offset> wanted_ends{0};
    std::vector<Index> wanted;
    for (std::int64_t r = 0; r < a.rows; ++r) {
      if (std::ranges::find(names, r) != names.end())
        wanted.insert(wanted.end(), a.columns.begin() + a.ends[at(r)], a.columns.begin() + a.ends[at(r + 1)]);
      wanted_ends.push_back(std::ssize(wanted));
    }
    EXPECT_EQ(ends, wanted_ends);
    EXPECT_EQ(entries_of_named(names.data(), std::ssize(names), known.data(), {}), std::ssize(wanted));
    std::vector<Index> columns(wanted.size());
    copy_entries(names.data(), std::ssize(names), known.data(),
                 reinterpret_cast<const std::byte*>(a.columns.data()), ends.data(),
                 reinterpret_cast<std::byte*>(columns.data()), 4, {});
    EXPECT_EQ(columns, wanted);
  }
}

}  // namespace
}  // namespace penstock
