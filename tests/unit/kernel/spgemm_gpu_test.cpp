// What SpGEMM on a GPU does to a row, run by threads of the CPU in place of a warp or a block; its classes of rows; sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "penstock/kernel/spgemm/spgemm_add.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"
#include "penstock/kernel/spgemm/spgemm_hash.hpp"
#include "penstock/kernel/spgemm/spgemm_merge.hpp"
#include "support.hpp"

namespace penstock {
namespace {

namespace group = spgemm_group;
using S = PlusTimes<double>;

/// A Group of threads that meet at barriers: all of them, and those of each warp.
struct Threads {
  explicit Threads(int n) : meet(n), sums(static_cast<std::size_t>(n)), words(sums.size()) {
    for (int w = 0; w < n / 32; ++w) warps.push_back(std::make_unique<std::barrier<>>(32));
  }
  std::barrier<> meet;
  std::vector<std::unique_ptr<std::barrier<>>> warps;
  std::vector<int> sums;
  std::vector<std::int64_t> words;
};
struct ThreadGroup {
  Threads* all;
  int number;
  int rank() const { return number; }
  int size() const { return static_cast<int>(all->sums.size()); }
  void sync() const { all->meet.arrive_and_wait(); }
  int scan(int mine, int* total) const {
    all->sums[static_cast<std::size_t>(number)] = mine;
    sync();
    int before = 0;
    *total = 0;
    for (int r = 0; r < size(); ++r) {
      if (r < number) before += all->sums[static_cast<std::size_t>(r)];
      *total += all->sums[static_cast<std::size_t>(r)];
    }
    sync();
    return before;
  }
  int sum(int mine) const {
    int total = 0;
    scan(mine, &total);
    return total;
  }
  /// f(words of the warp), when all of its lanes have written theirs.
  template <class F>
  auto in_warp(std::int64_t mine, const F& f) const {
    auto& meet = *all->warps[static_cast<std::size_t>(number / 32)];
    all->words[static_cast<std::size_t>(number)] = mine;
    meet.arrive_and_wait();
    const auto result = f(all->words.data() + number / 32 * 32);
    meet.arrive_and_wait();
    return result;
  }
  group::Word ballot(bool mine) const {
    return in_warp(mine, [](const std::int64_t* words) {
      group::Word bits = 0;
      for (int l = 0; l < 32; ++l) bits |= group::Word(words[l] != 0) << l;
      return bits;
    });
  }
  bool any(bool mine) const { return ballot(mine) != 0; }
  double shuffle(double v, int from) const {
    return std::bit_cast<double>(shuffle(std::bit_cast<std::int64_t>(v), from));
  }
  template <class T>
  T shuffle(T v, int from) const {
    return in_warp(static_cast<std::int64_t>(v),
                   [=](const std::int64_t* w) { return static_cast<T>(w[from]); });
  }
  template <class T>
  T shuffle_xor(T v, int lanes) const {
    return shuffle(v, number % 32 ^ lanes);
  }
  Index load(Index* p) const { return std::atomic_ref<Index>(*p).load(); }
  int atomic_add(int* p, int n) const { return std::atomic_ref<int>(*p).fetch_add(n); }
  Index compare_swap(Index* p, Index expected, Index wanted) const {
    std::atomic_ref<Index>(*p).compare_exchange_strong(expected, wanted);
    return expected;
  }
  void set_bit(group::Word* p, int bit) const {
    std::atomic_ref<group::Word>(*p).fetch_or(group::Word(1) << bit);
  }
  template <class, class T>
  void add(T* p, T v) const {
    std::atomic_ref<T> to(*p);
    for (T old = to.load(); !to.compare_exchange_weak(old, old + v);) continue;
  }
  int ones(group::Word w) const { return __builtin_popcountll(w); }
  int lowest(group::Word w) const { return __builtin_ctzll(w); }
};

/// Integer values, so that sums have the same bits in any order; rows out of order, with duplicates.
Csr<double> matrix_of_lengths(std::int64_t cols, const std::vector<int>& lengths, unsigned seed) {
  std::vector<Offset> indptr{0};
  for (const int n : lengths) indptr.push_back(indptr.back() + n);
  return test::matrix_of<double>(cols, indptr, seed);
}

constexpr int kSlots = 11;  // 2048
constexpr std::int64_t kColumnsOfB = 701;

class SpgemmRows : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::mt19937 draw(3);
    std::vector<int> la{0, 1, 2, 3, 40, 300, 5, 5, 7}, lb(59);
    for (auto& n : lb) n = static_cast<int>(draw() % 12);
    lb[0] = lb[1] = 0, lb[7] = 900, lb[8] = 400;  // longer than what a few lanes take
    a = matrix_of_lengths(59, la, 1), b = matrix_of_lengths(kColumnsOfB, lb, 2);
    expected = spgemm<S, double>(a.view(), b.view());
  }
  /// f(group, row) on GetParam() threads; what they share outlives them.
  template <class F>
  void on_threads(const F& f) {
    Threads all(GetParam());
    std::vector<std::thread> threads;
    for (int t = 0; t < GetParam(); ++t)
      threads.emplace_back([&, t] {
        const ThreadGroup g{&all, t};
        for (std::int64_t r = 0; r < a.rows; ++r) f(g, r);
      });
    for (auto& t : threads) t.join();
  }
  Offset products(std::int64_t r) const {
    Offset n = 0;
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e)
      n += b.indptr.data[a.indices.data[e] + 1] - b.indptr.data[a.indices.data[e]];
    return n;
  }
  void check(const std::vector<Index>& columns, const std::vector<double>& values) const {
    for (std::size_t e = 0; e < columns.size(); ++e) {
      EXPECT_EQ(columns[e], expected.indices.data[e]) << "entry " << e;
      EXPECT_EQ(values[e], expected.values.data[e]) << "entry " << e;
    }
  }
  Csr<double> a, b, expected;
};

TEST_P(SpgemmRows, BitmapInWindows) {
  const group::Factors<double> f{a.view(), b.view()};
  for (const std::int64_t window : {64, 192, 704}) {
    std::vector<group::Word> words(static_cast<std::size_t>(window / 64));
    std::vector<std::uint32_t> before(words.size());
    std::vector<Index> columns(static_cast<std::size_t>(expected.nnz()), -7);
    std::vector<double> values(columns.size(), -7);
    std::vector<Offset> counts(static_cast<std::size_t>(a.rows));
    group::LongRows longs;
    on_threads([&](const ThreadGroup& g, std::int64_t r) {
      const group::Bitmap map{words.data(), before.data(), window};
      const auto n = group::count_bitmap(g, f, f.begin(r), f.begin(r + 1), longs, map);
      if (g.rank() == 0) counts[static_cast<std::size_t>(r)] = n;
      const auto at = expected.indptr.data[r];
      group::write_bitmap<S>(g, f, f.begin(r), f.begin(r + 1), longs, map, columns.data() + at,
                             values.data() + at);
    });
    for (std::int64_t r = 0; r < a.rows; ++r)
      EXPECT_EQ(counts[static_cast<std::size_t>(r)], expected.indptr.data[r + 1] - expected.indptr.data[r]);
    check(columns, values);
  }
}

/// With so many columns, bits of whole turns are spread over words; the last turn is not whole.
TEST_P(SpgemmRows, BitmapsOfManyColumnsCount) {
  const auto wide = matrix_of_lengths(5000, std::vector<int>(59, 70), 5);
  const auto product = spgemm<S, double>(a.view(), wide.view());
  const group::Factors<double> f{a.view(), wide.view()};
  for (const std::int64_t window : {1024, 1088, 3072, 5056}) {
    std::vector<group::Word> words(static_cast<std::size_t>(window / 64));
    std::vector<Offset> counts(static_cast<std::size_t>(a.rows));
    group::LongRows longs;
    on_threads([&](const ThreadGroup& g, std::int64_t r) {
      const group::Bitmap map{words.data(), nullptr, window};
      const auto n = group::count_bitmap(g, f, f.begin(r), f.begin(r + 1), longs, map);
      if (g.rank() == 0) counts[static_cast<std::size_t>(r)] = n;
      g.sync();
    });
    for (std::int64_t r = 0; r < a.rows; ++r)
      EXPECT_EQ(counts[static_cast<std::size_t>(r)], product.indptr.data[r + 1] - product.indptr.data[r]);
  }
}

/// With `cols` columns, which decide how entries are sorted.
TEST_P(SpgemmRows, HashTable) {
  for (const std::int64_t cols : {kColumnsOfB, std::int64_t(1) << 30}) {
    group::Factors<double> f{a.view(), b.view()};
    f.b.cols = cols;
    std::vector<Index> keys(1 << kSlots), columns(static_cast<std::size_t>(expected.nnz()), -7);
    std::vector<double> sums(keys.size()), values(columns.size(), -7);
    std::vector<std::uint64_t> order(keys.size() / 2);
    std::vector<Offset> counts(static_cast<std::size_t>(a.rows));
    group::LongRows longs;
    on_threads([&](const ThreadGroup& g, std::int64_t r) {
      if (f.begin(r) == f.begin(r + 1)) return;
      const group::Table table{keys.data(), kSlots};
      const auto n = group::count_hash(g, f, f.begin(r), f.begin(r + 1), longs, table);
      if (g.rank() == 0) counts[static_cast<std::size_t>(r)] = n;
      g.sync();
      const auto at = expected.indptr.data[r];
      group::write_hash<S>(g, f, f.begin(r), f.begin(r + 1), &longs, table, false, sums.data(), order.data(),
                           columns.data() + at, values.data() + at);
      g.sync();
    });
    for (std::int64_t r = 0; r < a.rows; ++r)
      EXPECT_EQ(counts[static_cast<std::size_t>(r)], expected.indptr.data[r + 1] - expected.indptr.data[r]);
    check(columns, values);
  }
}
INSTANTIATE_TEST_SUITE_P(Groups, SpgemmRows, ::testing::Values(32, 64));

/// Runs f(group) on n threads.
template <class F>
void on_group(int n, const F& f) {
  Threads all(n);
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t) threads.emplace_back([&, t] { f(ThreadGroup{&all, t}); });
  for (auto& t : threads) t.join();
}

TEST(SpgemmGpu, KeysAreSortedByLanes) {
  std::mt19937_64 draw(11);
  for (const int threads : {32, 128})
    for (const int n : {32, 128, 256, 1024}) {
      std::vector<std::uint64_t> keys(static_cast<std::size_t>(n));
      for (auto& k : keys) k = draw() >> (draw() % 60);
      std::vector<std::uint32_t> halves(keys.begin(), keys.end());
      auto want = keys;
      auto half_want = halves;
      std::sort(want.begin(), want.end()), std::sort(half_want.begin(), half_want.end());
      on_group(threads, [&](const ThreadGroup& g) {
        group::sort(g, keys.data(), n);
        group::sort(g, halves.data(), n);
      });
      EXPECT_EQ(keys, want) << n << " keys, " << threads << " threads";
      EXPECT_EQ(halves, half_want) << n << " keys, " << threads << " threads";
    }
  EXPECT_EQ(group::sorted_size(0), 32);
  EXPECT_EQ(group::sorted_size(33), 128);
  EXPECT_EQ(group::sorted_size(129), 256);
}

/// Rows that ascend strictly.
Csr<double> ascending(std::int64_t cols, const std::vector<int>& lengths, unsigned seed) {
  const auto a = matrix_of_lengths(cols, lengths, seed);
  const auto eye = matrix_of_lengths(cols, std::vector<int>(static_cast<std::size_t>(cols), 1), seed + 1);
  for (std::int64_t c = 0; c < cols; ++c) const_cast<Index*>(eye.indices.data)[c] = static_cast<Index>(c);
  return spgemm<S, double>(a.view(), eye.view());
}

TEST(SpgemmGpu, AWarpAddsRowsOfBThatAscend) {
  std::vector<int> lb(61);
  for (std::size_t r = 0; r < lb.size(); ++r) lb[r] = static_cast<int>(r * 7 % 50);
  const auto a = matrix_of_lengths(61, {0, 1, 2, 9, 33, 70}, 21), b = ascending(400, lb, 22);
  const auto expected = spgemm<S, double>(a.view(), b.view());
  const group::Factors<double> f{a.view(), b.view()};
  constexpr int kLog = 10;
  std::vector<Index> keys(1 << kLog), columns(static_cast<std::size_t>(expected.nnz()), -7);
  std::vector<double> sums(keys.size()), values(columns.size(), -7);
  std::vector<std::uint64_t> order(keys.size() / 2);
  std::vector<int> counts(static_cast<std::size_t>(a.rows)), small(counts);
  on_group(32, [&](const ThreadGroup& g) {
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const auto begin = f.begin(r), end = f.begin(r + 1), at = expected.indptr.data[r];
      const int n = group::count_hash_warp(g, f, begin, end, {keys.data(), kLog});
      const int few = group::count_hash_warp(g, f, begin, end, {keys.data(), 6});
      if (g.rank() == 0) counts[static_cast<std::size_t>(r)] = n, small[static_cast<std::size_t>(r)] = few;
      g.sync();
      group::write_hash<S>(g, f, begin, end, nullptr, {keys.data(), kLog}, true, sums.data(), order.data(),
                           columns.data() + at, values.data() + at);
      g.sync();
    }
  });
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto n = expected.indptr.data[r + 1] - expected.indptr.data[r];
    EXPECT_EQ(counts[static_cast<std::size_t>(r)], n);
    EXPECT_EQ(small[static_cast<std::size_t>(r)], n > 48 ? -1 : n) << "48 of 64 slots may be taken";
  }
  EXPECT_EQ(columns, std::vector<Index>(expected.indices.data, expected.indices.data + expected.nnz()));
  EXPECT_EQ(values, std::vector<double>(expected.values.data, expected.values.data + expected.nnz()));
}

template <int K>
void check_merge(const Csr<double>& a, const Csr<double>& b) {
  namespace merge = spgemm_merge;
  const auto expected = spgemm<S, double>(a.view(), b.view());
  const group::Factors<double> f{a.view(), b.view()};
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto begin = f.begin(r), end = f.begin(r + 1);
    for (const int most : {static_cast<int>(end - begin), K}) {
      auto at = expected.indptr.data[r];
      EXPECT_EQ(merge::count<K>(f, begin, end, most), expected.indptr.data[r + 1] - at);
      merge::Merge<K> rows{};
      merge::Products<S, K> products{};
      rows.open(f, begin, end, most), products.open(f, begin, end, most);
      for (Index c = rows.least(); c != merge::kNone; c = rows.least(), ++at) {
        ASSERT_LT(at, expected.indptr.data[r + 1]);
        EXPECT_EQ(c, expected.indices.data[at]);
        EXPECT_EQ(products.take(f, rows, c, most), expected.values.data[at]);
      }
      EXPECT_EQ(at, expected.indptr.data[r + 1]);
    }
  }
}
TEST(SpgemmGpu, OneThreadMergesAShortRow) {
  std::vector<int> lb(40);
  for (std::size_t r = 0; r < lb.size(); ++r) lb[r] = static_cast<int>(r % 6);
  const auto b = ascending(50, lb, 31);
  check_merge<8>(matrix_of_lengths(40, {0, 1, 2, 5, 8, 8}, 30), b);
  check_merge<16>(matrix_of_lengths(40, {16, 0, 9, 16}, 32), b);
}

TEST(SpgemmGpu, TinyRowsKeepTheOrderOfProducts) {
  std::vector<int> la{0, 1, 64, 3, 9, 40, 100}, lb(97);
  for (std::size_t r = 0; r < lb.size(); ++r) lb[r] = r % 3 == 0 ? static_cast<int>(r % 7) : 0;
  const auto a = matrix_of_lengths(97, la, 5), b = matrix_of_lengths(23, lb, 6);
  const auto expected = spgemm<S, double>(a.view(), b.view());
  const group::Factors<double> f{a.view(), b.view()};
  group::TinySpace<double> space;
  std::vector<Index> columns(static_cast<std::size_t>(expected.nnz()), -7);
  std::vector<double> values(columns.size(), -7);
  std::vector<int> counts(la.size());
  Threads all(32);
  int done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t)
    threads.emplace_back([&, t] {
      const ThreadGroup g{&all, t};
      for (std::int64_t r = 0; r < a.rows; ++r) {
        Offset products = 0;
        for (auto e = f.begin(r); e < f.begin(r + 1); ++e) products += f.b_size(a.indices.data[e]);
        if (products > group::kTiny) continue;
        const int n = group::count_tiny(g, f, f.begin(r), f.begin(r + 1), space);
        if (t == 0) counts[static_cast<std::size_t>(r)] = n, ++done;
        g.sync();
        const auto at = expected.indptr.data[r];
        group::write_tiny<S>(g, f, f.begin(r), f.begin(r + 1), space, columns.data() + at,
                             values.data() + at);
        g.sync();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_GE(done, 5);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const auto at = expected.indptr.data[r], n = expected.indptr.data[r + 1] - at;
    if (columns[static_cast<std::size_t>(at)] == -7 && n > 0) continue;  // too many products
    EXPECT_EQ(counts[static_cast<std::size_t>(r)], n) << "row " << r;
    for (auto e = at; e < at + n; ++e) {
      EXPECT_EQ(columns[static_cast<std::size_t>(e)], expected.indices.data[e]) << "row " << r;
      EXPECT_EQ(values[static_cast<std::size_t>(e)], expected.values.data[e]) << "row " << r;
    }
  }
}

TEST(SpgemmGpu, SumsOfRows) {
  std::mt19937 draw(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> lx(draw() % 40), ly(draw() % 40);
    for (auto* l : {&lx, &ly})
      for (auto& n : *l) n = draw() % 3 == 0 ? 0 : static_cast<int>(draw() % 60);
    const auto x = ascending(50, lx, 10 + static_cast<unsigned>(round)),
               y = ascending(50, ly, 90 + static_cast<unsigned>(round));
    const std::int64_t fx = draw() % 50, fy = draw() % 50;
    const auto sum = add_on<S>({x.view(), fx}, {y.view(), fy}, Stream{});
    const auto first = std::min(fx, fy);
    ASSERT_EQ(sum.rows, std::max(fx + x.rows, fy + y.rows) - first);
    ASSERT_EQ(sum.indptr.data[0], 0);
    ASSERT_EQ(sum.indptr.data[sum.rows], sum.nnz());
    for (std::int64_t r = 0; r < sum.rows; ++r) {
      std::vector<double> row(50), seen(50);
      const auto add = [&](const Csr<double>& m, std::int64_t from) {
        const auto q = first + r - from;
        if (q < 0 || q >= m.rows) return;
        for (auto e = m.indptr.data[q]; e < m.indptr.data[q + 1]; ++e) {
          row[static_cast<std::size_t>(m.indices.data[e])] += m.values.data[e];
          seen[static_cast<std::size_t>(m.indices.data[e])] = 1;
        }
      };
      add(x, fx), add(y, fy);
      auto e = sum.indptr.data[r];
      for (std::size_t c = 0; c < 50; ++c)
        if (seen[c] != 0) {
          ASSERT_LT(e, sum.indptr.data[r + 1]);
          EXPECT_EQ(sum.indices.data[e], static_cast<Index>(c));
          EXPECT_EQ(sum.values.data[e++], row[c]);
        }
      EXPECT_EQ(e, sum.indptr.data[r + 1]) << "round " << round << ", row " << r;
    }
  }
}

TEST(SpgemmGpu, RefusesWithTheNumbers) {
  const auto x = ascending(50, {20, 20}, 1);
  try {
    add_on<S>({x.view(), 0}, {x.view(), 0}, Stream{}, {.memory = 10});
    FAIL() << "10 bytes were enough";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Errc::out_of_memory);
    EXPECT_NE(std::string(e.what()).find(std::to_string(12 * x.nnz()) + " bytes"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(spgemm_on<S>(x.view(), x.view(), Stream{}), Error);  // 50 columns, 2 rows
}

TEST(SpgemmGpu, CountsProductsOnTheCpuToo) {
  const auto a = matrix_of_lengths(30, {0, 4, 200}, 1), b = matrix_of_lengths(20, std::vector<int>(30, 3), 2);
  const CsrView<One> pa{
      .rows = 3, .cols = 30, .indptr = a.indptr.data, .indices = a.indices.data, .count = 204},
      pb{.rows = 30, .cols = 20, .indptr = b.indptr.data, .indices = b.indices.data, .count = 90};
  Offset per_row[3];
  const auto counts = spgemm_products(pa, pb, per_row, Stream{});
  EXPECT_EQ(counts.products, 612);
  EXPECT_EQ(counts.bound, 32);
  EXPECT_EQ(per_row[0], 0);
  EXPECT_EQ(per_row[2], 600);
}

}  // namespace
}  // namespace penstock
