// The plan of passes, carried out by the CPU as a GPU would, against the generators.
#include "penstock/io/generate/key_passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/generate/generate_uniform.hpp"
#include "penstock/io/generate/rmat_edges.hpp"
#include "penstock/io/generate/uniform_edges.hpp"

namespace penstock {
namespace {

template <class Edges>
std::vector<std::uint64_t> keys_of(const Edges& edge, KeyShape shape) {
  std::vector<std::uint64_t> keys;
  const auto put = [&](std::int64_t row, std::int64_t column) {
    keys.push_back(static_cast<std::uint64_t>(row) << shape.column_bits() |
                   static_cast<std::uint64_t>(column));
  };
  for (std::int64_t e = 0; e < edge.units(); ++e) {
    const auto [row, column] = edge(e);
    if (row < 0) continue;
    put(row, column);
    if (edge.mirrored() && row != column) put(column, row);
  }
  return keys;
}

std::int64_t sort_bytes(std::int64_t keys) { return 1000 + keys / 4; }

struct Made {
  std::vector<Offset> indptr;
  std::vector<Index> indices;
  std::size_t passes = 0, counted = 0;
};

/// What the GPU does, pass by pass; checks what a pass relies on.
Made make(const std::vector<std::uint64_t>& keys, PassNeeds needs) {
  Made made;
  needs.most_keys = static_cast<std::int64_t>(keys.size());
  const auto plan = plan_passes(needs, sort_bytes, [&](KeyRange range) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(granules(range)));
    EXPECT_LE(counts.size(), 1u << kGranuleBits);
    for (const auto key : keys)
      if (key >= range.first && key < range.last) ++counts[(key - range.first) >> granule_shift(range)];
    ++made.counted;
    return counts;
  });
  EXPECT_LE(plan.bytes, needs.free_bytes);
  made.indptr.assign(static_cast<std::size_t>(needs.shape.rows) + 1, -1);
  std::uint64_t next = 0;
  for (const auto range : plan.passes) {
    EXPECT_EQ(range.first, next);
    next = range.last;
    std::vector<std::uint64_t> part;
    for (const auto key : keys)
      if (key - range.first < range.size() && static_cast<std::int64_t>(part.size()) < plan.buffer)
        part.push_back(key - range.first);
    std::sort(part.begin(), part.end());
    part.erase(std::unique(part.begin(), part.end()), part.end());
    if (!part.empty()) {
      EXPECT_LT(part.back() >> range.bits(), 1u);
    }
    const auto begin = static_cast<Offset>(made.indices.size());
    const auto bits = needs.shape.column_bits();
    for (const auto key : part)
      made.indices.push_back(static_cast<Index>((key + range.first) & ((std::uint64_t{1} << bits) - 1)));
    const auto [first, last] = rows_starting_in(needs.shape, range);
    for (auto row = first; row < last; ++row) {
      const auto start = (static_cast<std::uint64_t>(row) << bits) - range.first;
      auto& offset = made.indptr[static_cast<std::size_t>(row)];
      EXPECT_EQ(offset, -1) << "row " << row << " starts in two passes";
      offset = begin + (std::lower_bound(part.begin(), part.end(), start) - part.begin());
    }
  }
  EXPECT_EQ(next, needs.shape.all().last);
  EXPECT_LE(static_cast<std::int64_t>(made.indices.size()), plan.capacity);
  made.passes = plan.passes.size();
  return made;
}

void expect_same_pattern(const Made& made, const Csr<One>& a) {
  ASSERT_EQ(static_cast<std::int64_t>(made.indptr.size()), a.indptr.size);
  ASSERT_EQ(static_cast<std::int64_t>(made.indices.size()), a.nnz());
  EXPECT_TRUE(std::equal(made.indptr.begin(), made.indptr.end(), a.indptr.data));
  EXPECT_TRUE(std::equal(made.indices.begin(), made.indices.end(), a.indices.data));
}

PassNeeds needs_of(KeyShape shape) { return {.what = "this R-MAT", .where = "GPU 0", .shape = shape}; }

/// The bytes that one pass takes, and those that kMostPasses take.
std::int64_t bytes_of(const PassNeeds& needs, std::int64_t keys, std::int64_t passes) {
  const auto buffer = (keys + passes - 1) / passes;
  return 8 * (needs.shape.rows + 1) + kSmallBytes + std::min(keys, needs.shape.rows * needs.shape.cols) * 4 +
         buffer * 16 + sort_bytes(buffer);
}

void try_all_budgets(const std::vector<std::uint64_t>& keys, KeyShape shape, const Csr<One>& a) {
  auto needs = needs_of(shape);
  const auto count = static_cast<std::int64_t>(keys.size());
  const auto most = bytes_of(needs, count, 1), least = bytes_of(needs, count, kMostPasses);
  std::size_t before = 0;
  for (const auto share : {1.0, 0.999, 0.5, 0.2, 0.05, 0.0}) {
    needs.free_bytes = least + static_cast<std::int64_t>(share * static_cast<double>(most - least));
    const auto made = make(keys, needs);
    expect_same_pattern(made, a);
    EXPECT_EQ(made.counted == 0, needs.free_bytes >= most);
    EXPECT_GE(made.passes, before);
    EXPECT_LE(made.passes, 2 * kMostPasses + 1);
    before = made.passes;
  }
  if (least == most) return;
  EXPECT_GT(before, 1u);
  needs.free_bytes = least - 1;
  try {
    make(keys, needs);
    ADD_FAILURE() << "made in less than " << least << " bytes";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::out_of_memory);
    const std::string text = e.what();
    EXPECT_NE(text.find("this R-MAT needs at least"), std::string::npos) << text;
    EXPECT_NE(text.find("are free on GPU 0"), std::string::npos) << text;
  }
}

TEST(KeyPasses, MakeTheSameRmat) {
  for (const RmatOptions o : {RmatOptions{.scale = 1}, RmatOptions{.scale = 6, .edge_factor = 40},
                              RmatOptions{.scale = 11, .scramble = false, .seed = 3},
                              RmatOptions{.scale = 12, .undirected = false, .self_loops = true, .seed = 4},
                              RmatOptions{.scale = 9, .a = 0.9, .b = 0.05, .c = 0.05, .scramble = false}}) {
    const RmatTables tables(o);
    const KeyShape shape{std::int64_t{1} << o.scale, std::int64_t{1} << o.scale};
    const auto keys = keys_of(RmatEdges(o, tables), shape);
    try_all_budgets(keys, shape, generate_rmat(o));
  }
}

TEST(KeyPasses, ManyCopiesOfOneKeyNeedNoRoom) {
  const RmatOptions o{.scale = 10, .a = 1, .b = 0, .c = 0, .undirected = false, .self_loops = true};
  const RmatTables tables(o);
  const KeyShape shape{1024, 1024};
  const auto keys = keys_of(RmatEdges(o, tables), shape);
  ASSERT_EQ(keys.size(), 16u * 1024);
  try_all_budgets(keys, shape, generate_rmat(o));
}

TEST(KeyPasses, MakeTheSameUniform) {
  for (const UniformOptions o : {UniformOptions{1000, 777, 20, 1}, UniformOptions{3, 100'000, 3000, 2},
                                 UniformOptions{50'001, 1, 0.25, 3}, UniformOptions{1, 1, 1, 4}}) {
    const KeyShape shape{o.rows, o.cols};
    try_all_budgets(keys_of(UniformEdges(o), shape), shape, generate_uniform(o));
  }
}

TEST(KeyPasses, NoEdgesIsOnePassOfEmptyRows) {
  auto needs = needs_of({5, 7});
  needs.free_bytes = 1 << 20;
  const auto made = make({}, needs);
  EXPECT_EQ(made.passes, 1u);
  EXPECT_EQ(made.indptr, std::vector<Offset>(6, 0));
}

TEST(KeyPasses, GranulesCoverARange) {
  for (const KeyRange range : {KeyRange{0, 1}, {5, 6}, {0, 1024}, {7, 7 + 1025}, {0, 3ull << 60}}) {
    const auto shift = granule_shift(range);
    EXPECT_LE(granules(range), 1 << kGranuleBits);
    EXPECT_EQ(static_cast<std::int64_t>((range.size() - 1) >> shift), granules(range) - 1);
    EXPECT_TRUE(range.bits() >= 64 || (range.size() - 1) >> range.bits() == 0);
  }
  EXPECT_EQ((KeyRange{4, 5}.bits()), 0);
}

}  // namespace
}  // namespace penstock
