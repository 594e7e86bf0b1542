#include "penstock/dist/tile/one_sided.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>

#include "penstock/dist/tile/tile_parts.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

/// Another transport with pauses of random length before its verbs, so that ranks meet in every order.
class Pausing final : public Transport {
 public:
  /// `slow`: a rank whose gets take so many milliseconds more.
  Pausing(std::shared_ptr<Transport> inner, std::uint64_t seed, int slow, int milliseconds)
      : inner_(std::move(inner)),
        random_(seed * 31 + static_cast<std::uint64_t>(inner_->rank())),
        late_(slow == inner_->rank() ? milliseconds : 0) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string name() const override { return inner_->name(); }
  std::byte* arena() override { return inner_->arena(); }
  std::int64_t arena_bytes() const override { return inner_->arena_bytes(); }
  Comm& comm() override { return inner_->comm(); }
  Where where() const override { return inner_->where(); }
  Ticket get(void* to, RemotePtr from, std::int64_t bytes) override {
    std::this_thread::sleep_for(late_);
    return pause(), inner_->get(to, from, bytes);
  }
  Ticket put(const void* from, RemotePtr to, std::int64_t bytes) override {
    return inner_->put(from, to, bytes);
  }
  bool gets_rows() const override { return inner_->gets_rows(); }
  std::int64_t range_bytes() const override { return inner_->range_bytes(); }
  Ticket get_rows(void* to, RemotePtr from, std::int64_t row_bytes,
                  std::span<const std::int32_t> rows) override {
    return pause(), inner_->get_rows(to, from, row_bytes, rows);
  }
  Ticket get_ranges(void* to, RemotePtr from, std::span<const ByteRange> ranges) override {
    return pause(), inner_->get_ranges(to, from, ranges);
  }
  const std::byte* reached(RemotePtr from) override { return inner_->reached(from); }
  Ticket get_by(std::int64_t bytes, const std::function<void(Stream)>& queue) override {
    return pause(), inner_->get_by(bytes, queue);
  }
  void wait(Ticket t) override { inner_->wait(t); }
  bool test(Ticket t) override { return inner_->test(t); }
  std::int64_t fetch_add(RemotePtr at, std::int64_t v) override {
    pause();
    const auto before = inner_->fetch_add(at, v);
    pause();
    return before;
  }
  std::int64_t compare_swap(RemotePtr at, std::int64_t e, std::int64_t d) override {
    return inner_->compare_swap(at, e, d);
  }
  std::int64_t load(RemotePtr at) override { return inner_->load(at); }
  void store(RemotePtr at, std::int64_t v) override { inner_->store(at, v), pause(); }
  void accumulate(RemotePtr to, const double* f, std::int64_t n) override { inner_->accumulate(to, f, n); }
  void accumulate(RemotePtr to, const float* f, std::int64_t n) override { inner_->accumulate(to, f, n); }
  void clear(std::int64_t bytes) override { inner_->clear(bytes); }
  void barrier() override { inner_->barrier(); }

 private:
  void pause() {
    if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
  }
  std::shared_ptr<Transport> inner_;
  std::mt19937_64 random_;
  std::chrono::milliseconds late_;
};

MakeTransport pausing(std::uint64_t seed, bool on_device = false, int slow = -1, int milliseconds = 0) {
  const auto inner = on_device ? transport_of_kind("peer", Where{}) : transport_of_kind("local");
  return
      [=](std::shared_ptr<Comm> comm, std::int64_t bytes, std::int64_t zeroed) -> std::shared_ptr<Transport> {
        return std::make_shared<Pausing>(inner(std::move(comm), bytes, zeroed), seed, slow, milliseconds);
      };
}

/// Small integers: sums are exact in any order.
Csr<double> random_csr(std::int64_t rows, std::int64_t cols, int percent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  std::vector<double> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c)
      if (static_cast<int>(random() % 100) < (r % 5 == 0 ? 3 * percent : percent)) {
        indices.push_back(static_cast<Index>(c));
        values.push_back(static_cast<double>(random() % 9) - 4);
      }
    indptr.push_back(std::ssize(indices));
  }
  const auto copy = []<class T>(const std::vector<T>& v) {
    const auto out = allocate<T>(std::ssize(v));
    std::copy(v.begin(), v.end(), out.data);
    return out;
  };
  return {rows, cols, copy(indptr), copy(indices), copy(values)};
}

std::vector<double> dense_of(const Csr<double>& a) {
  std::vector<double> out(static_cast<std::size_t>(a.rows * a.cols));
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e)
      out[static_cast<std::size_t>(r * a.cols + a.indices.data[e])] += a.values.data[e];
  return out;
}

struct ProductCase {
  Csr<double> a, b;
  std::vector<double> wanted;
  std::int64_t tile_m, tile_k, tile_n;
  std::vector<std::int64_t> cut_m = {}, cut_k = {}, cut_n = {};  // in place of sizes, where there are some
};
ProductCase case_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return static_cast<std::int64_t>(random() % 30); };
  const auto m = size(), k = size(), n = size();
  ProductCase c{random_csr(m, k, static_cast<int>(random() % 40), seed),
                random_csr(k, n, static_cast<int>(random() % 40), seed + 1),
                std::vector<double>(static_cast<std::size_t>(m * n)),
                1 + size() / 3,
                1 + size() / 3,
                1 + size() / 3};
  const auto cut = [&](std::int64_t length) {
    std::vector<std::int64_t> cuts{0};
    while (cuts.back() < length) cuts.push_back(std::min(length, cuts.back() + 1 + size() / 2));
    return cuts;
  };
  if (seed % 3 == 0) c.cut_m = cut(m), c.cut_k = cut(k), c.cut_n = cut(n);
  const auto a = dense_of(c.a), b = dense_of(c.b);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j)
        c.wanted[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
  return c;
}

std::vector<double> product_of(Comm& mine, const ProductCase& x, bool sparse, bool summa, ProcessGrid grid,
                               const MakeTransport& make, const TileMultiplyOptions& options,
                               TileTimes& times) {
  const std::shared_ptr<Comm> comm(&mine, [](Comm*) {});
  auto a = tiles_of_whole<double>(
      comm, x.a,
      tile_map(x.a.rows, x.a.cols, x.tile_m, x.tile_k, grid, TileValue::float64, true, x.cut_m, x.cut_k),
      make);
  const auto dense = dense_of(x.b);
  auto b_map =
      tile_map(x.b.rows, x.b.cols, x.tile_k, x.tile_n, grid, TileValue::float64, sparse, x.cut_k, x.cut_n);
  auto b = sparse ? tiles_of_whole<double>(comm, x.b, b_map, make)
                  : tiles_of_dense(comm, reinterpret_cast<const std::byte*>(dense.data()), b_map, make);
  auto result = summa ? multiply_summa(a, b, options) : multiply_one_sided(a, b, options);
  times = result.times;
  std::vector<double> out(x.wanted.size());
  if (sparse) out = dense_of(whole_of<double>(result.c));
  else whole_of_dense(result.c, reinterpret_cast<std::byte*>(out.data()));
  comm->barrier();
  return out;
}

TEST(OneSided, EveryAlgorithmGivesTheProductWhateverTheDelays) {
  const ProcessGrid grids[] = {{1, 1}, {1, 2}, {3, 1}, {2, 2}, {2, 4}};
  std::uint64_t seed = 0;
  for (const auto grid : grids)
    for (int repeat = 0; repeat < 2; ++repeat)
      for (const bool sparse : {false, true})
        for (int kept = 0; kept < 4; ++kept)
          for (int steal = 0; steal < (kept == 3 ? 1 : 3); ++steal) {
            const auto x = case_of(++seed);
            TileMultiplyOptions options{
                .kept = static_cast<Stationary>(kept % 3),
                .steal = static_cast<Steal>(steal),
                .prefetch = static_cast<int>(seed % 4),
                .seed = seed,
                .part_flops = seed % 2 == 0 ? 0.0 : static_cast<double>(1 + seed % 40),
                .piece_bytes = 1024,
                .pieces = 1 + static_cast<int>(seed % 2)};
            const auto errors = play(grid.ranks(), [&](Comm& comm) {
              TileTimes times;
              const auto make = pausing(seed, repeat == 1);  // each on a device, too: the CPU
              const auto got = product_of(comm, x, sparse, kept == 3, grid, make, options, times);
              if (got != x.wanted) throw std::runtime_error("another product");
            });
            for (const auto& e : errors)
              ASSERT_EQ(e, "") << "seed " << seed << ", grid " << grid.rows << " x " << grid.cols
                               << ", stationary " << kept << ", steal " << steal
                               << (sparse ? ", sparse" : ", dense");
          }
}

TEST(OneSided, RanksOfANodeShareWhateverTheDelays) {
  const ProcessGrid grids[] = {{4, 1}, {4, 2}};
  std::uint64_t seed = 1000;
  for (const auto grid : grids)
    for (const int of_node : {1, 2, 4})
      for (const bool sparse : {false, true})
        for (int kept = 0; kept < (sparse ? 3 : 4); ++kept) {
          const auto x = case_of(++seed);
          TileMultiplyOptions options{.kept = static_cast<Stationary>(kept),
                                      .steal = kept == 3 ? Steal::none : static_cast<Steal>(seed % 3),
                                      .prefetch = static_cast<int>(seed % 4),
                                      .part_flops = seed % 2 == 0 ? 0.0 : static_cast<double>(1 + seed % 40),
                                      .piece_bytes = 1024,
                                      .pieces = 1 + static_cast<int>(seed % 2)};
          if (kept == 2 && grid.cols == 2) options.replicas = 2;
          for (int r = 0; r < grid.ranks(); ++r) options.nodes.push_back(r / of_node);
          const auto errors = play(grid.ranks(), [&](Comm& comm) {
            TileTimes times;
            const auto got = product_of(comm, x, sparse, false, grid, pausing(seed), options, times);
            if (got != x.wanted) throw std::runtime_error("another product");
            if (of_node == 1 && (times.far_fetched != times.fetched || times.far_sent != times.sent))
              throw std::runtime_error("bytes of another node that are not counted");
          });
          for (const auto& e : errors)
            ASSERT_EQ(e, "") << "seed " << seed << ", grid " << grid.rows << " x " << grid.cols
                             << ", ranks of a node " << of_node << ", stationary " << kept
                             << (sparse ? ", sparse" : ", dense");
        }
}

TEST(OneSided, TheNextProductTakesTheMailOver) {
  // Products that claim and send, one after another with the same A: words of each must find zeros.
  for (const bool device : {false, true})
    for (const bool sparse : {false, true}) {
      auto x = case_of(7);
      std::atomic<int> made = 0;
      const auto inner = pausing(11, device);
      const MakeTransport make = [&](std::shared_ptr<Comm> comm, std::int64_t bytes, std::int64_t zeroed) {
        made += comm->rank() == 0;
        return inner(std::move(comm), bytes, zeroed);
      };
      const auto errors = play(4, [&](Comm& mine) {
        const std::shared_ptr<Comm> comm(&mine, [](Comm*) {});
        const ProcessGrid grid{2, 2};
        const auto map = [&](const Csr<double>& m, std::int64_t rows, std::int64_t cols) {
          return tile_map(m.rows, m.cols, rows, cols, grid, TileValue::float64, true);
        };
        auto a = tiles_of_whole<double>(comm, x.a, map(x.a, x.tile_m, x.tile_k), make);
        const auto dense = dense_of(x.b);
        auto b_map = tile_map(x.b.rows, x.b.cols, x.tile_k, x.tile_n, grid, TileValue::float64, sparse);
        auto b = sparse ? tiles_of_whole<double>(comm, x.b, b_map, make)
                        : tiles_of_dense(comm, reinterpret_cast<const std::byte*>(dense.data()), b_map, make);
        comm->barrier();
        const int before = made;
        comm->barrier();
        constexpr int kProducts = 9;
        for (int turn = 0; turn < kProducts; ++turn) {
          TileMultiplyOptions options{.kept = static_cast<Stationary>(turn % 3),
                                      .steal = turn < 3 ? Steal::locality : static_cast<Steal>(turn % 3),
                                      .seed = static_cast<std::uint64_t>(turn),
                                      .piece_bytes = turn == 1 ? 1024 : 4096,
                                      .pieces = turn == 2 ? 1 : 2};
          auto result = multiply_one_sided(a, b, options);
          std::vector<double> out(x.wanted.size());
          if (sparse) out = dense_of(whole_of<double>(result.c));
          else whole_of_dense(result.c, reinterpret_cast<std::byte*>(out.data()));
          comm->barrier();
          if (out != x.wanted) throw std::runtime_error("another product at turn " + std::to_string(turn));
        }
        comm->barrier();
        // A transport for each C, and for mail: none again but where the first did not suffice.
        if (made - before > kProducts + 2) throw std::runtime_error(std::to_string(made - before) + " made");
        if (!a.mailbox()->transport) throw std::runtime_error("no mail is left with A");
      });
      for (const auto& e : errors)
        ASSERT_EQ(e, "") << (device ? "device" : "host") << (sparse ? ", sparse" : "");
    }
}

TEST(OneSided, IdleRanksSteal) {
  // All entries in the first rows: rank 0 has all the work of a stationary C.
  auto a = random_csr(8, 64, 50, 1);
  const auto indptr = allocate<Offset>(65);
  for (int r = 0; r <= 64; ++r) indptr.data[r] = a.indptr.data[std::min(r, 8)];
  ProductCase x{{64, 64, indptr, a.indices, a.values},
                random_csr(64, 64, 30, 2),
                std::vector<double>(64 * 64),
                16,
                4,
                64};
  const auto da = dense_of(x.a), db = dense_of(x.b);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t k = 0; k < 64; ++k)
      for (std::size_t j = 0; j < 64; ++j) x.wanted[i * 64 + j] += da[i * 64 + k] * db[k * 64 + j];
  for (const auto how : {Steal::random, Steal::locality}) {
    std::atomic<std::int64_t> own = 0, stolen = 0, sent = 0, received = 0;
    succeed(4, [&](Comm& comm) {
      TileTimes t;
      const auto got = product_of(comm, x, false, false, {4, 1}, pausing(7),
                                  {.steal = how, .prefetch = 0, .piece_bytes = 2048}, t);
      EXPECT_EQ(got, x.wanted);
      own += t.own, stolen += t.stolen, sent += t.sent, received += t.received;
      EXPECT_TRUE(comm.rank() == 0 || t.own == 0);
      EXPECT_LE(t.prepare + t.compute + t.communication + t.accumulation + t.imbalance,
                t.seconds * 1.01 + 1e-3);
    });
    EXPECT_EQ(own + stolen, 16) << "every product once";
    EXPECT_TRUE(how == Steal::locality || stolen > 0) << "nobody stole";
    EXPECT_EQ(sent, received);
    EXPECT_EQ(sent > 0, stolen > 0);
  }
}

TEST(OneSided, PartsOfOneTileAreStolenWhileItsOwnerWorks) {
  // A single tile, which is rank 0's: whatever others do, they do with a part of it. One of them is slow.
  const auto a = random_csr(600, 300, 40, 1), b = random_csr(300, 200, 40, 2);
  ProductCase x{a, b, std::vector<double>(600 * 200), 600, 300, 200};
  const auto da = dense_of(a), db = dense_of(b);
  for (std::size_t i = 0; i < 600; ++i)
    for (std::size_t k = 0; k < 300; ++k)
      for (std::size_t j = 0; j < 200 && da[i * 300 + k] != 0; ++j)
        x.wanted[i * 200 + j] += da[i * 300 + k] * db[k * 200 + j];
  for (const bool sparse : {false, true}) {
    bool seen = false;
    for (std::uint64_t attempt = 0; attempt < 10 && !seen; ++attempt) {
      std::atomic<std::int64_t> own = 0, stolen = 0, parts = 0;
      succeed(3, [&](Comm& comm) {
        TileTimes t;
        const auto got = product_of(comm, x, sparse, false, {3, 1}, pausing(attempt, false, 1, 2),
                                    {.steal = Steal::random, .part_flops = 2e5, .piece_bytes = 8192}, t);
        EXPECT_EQ(got, x.wanted);
        own += t.own, stolen += t.stolen;
        EXPECT_TRUE(comm.rank() == 0 || t.own == 0);
      });
      MultiplyPlan plan;
      plan.ranks = 3, plan.products.resize(1);
      const auto flops = [&] {
        double products = 0;
        for (Offset e = 0; e < a.nnz(); ++e) {
          const auto k = a.indices.data[e];
          products += sparse ? static_cast<double>(b.indptr.data[k + 1] - b.indptr.data[k]) : 200.0;
        }
        return 2 * products;
      }();
      plan.products[0].flops = flops;
      cut_into_parts(plan, 2e5, sparse ? 0 : 8);
      parts = plan.products[0].parts;
      EXPECT_GT(parts, 20);
      EXPECT_EQ(own + stolen, parts) << "every part once";
      seen = own > 0 && stolen > 0;
    }
    EXPECT_TRUE(seen) << "nobody stole a part" << (sparse ? ", sparse" : "");
  }
}

TEST(TileParts, AreRowsWithEquallyManyEntriesAndAllOfThem) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const auto rows = 1 + static_cast<std::int64_t>(random() % 60);
    std::vector<Offset> indptr{0};
    Offset longest = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto n = static_cast<Offset>(random() % 3 == 0 ? 0 : random() % 40);
      longest = std::max(longest, n), indptr.push_back(indptr.back() + n);
    }
    const Span all{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)), rows};
    const auto entries = indptr.back() - indptr[static_cast<std::size_t>(all.first)];
    const auto parts = 1 + static_cast<std::int64_t>(random() % 9);
    auto at = all.first;
    for (std::int64_t n = 0; n < parts; ++n) {
      const auto part = rows_of_parts(indptr.data(), all, {n, n + 1}, parts);
      EXPECT_EQ(part.first, at) << "rows left out, or twice";
      at = part.end;
      const auto here =
          indptr[static_cast<std::size_t>(part.end)] - indptr[static_cast<std::size_t>(part.first)];
      EXPECT_LE(here, entries / parts + 1 + longest);
      EXPECT_EQ(rows_of_parts(indptr.data(), all, {0, n + 1}, parts), (Span{all.first, part.end}));
    }
    EXPECT_EQ(at, all.end);
  }
  EXPECT_EQ(parts_for_owner(64, 64, 0), 32);
  EXPECT_EQ(parts_for_owner(32, 64, 0), 32) << "nobody waits for the rest";
  EXPECT_EQ(parts_for_owner(32, 64, 1), 16);
  EXPECT_EQ(parts_for_owner(32, 64, 100), 8);
  EXPECT_EQ(parts_for_thief(32, 1), 8);
  for (std::int64_t idle : {0, 1, 3, 50}) {
    EXPECT_EQ(parts_for_owner(1, 1, idle), 1);
    EXPECT_EQ(parts_for_thief(1, idle), 1);
    for (std::int64_t left = 1; left <= 64; ++left) {
      EXPECT_LE(parts_for_owner(left, 64, idle), left);
      EXPECT_LE(parts_for_thief(left, idle), left);
    }
  }
}

TEST(TileParts, AreMadeWhereRanksHaveUnequalWorkAndPartsReadBOften) {
  const auto parts = [](double of_first, double of_second, std::int64_t of_b, std::int64_t word) {
    MultiplyPlan plan;
    plan.ranks = 2, plan.products.resize(2);
    plan.products[1].owner = 1;
    plan.products[0].flops = of_first, plan.products[1].flops = of_second;
    for (auto& p : plan.products) p.of_b = of_b;
    cut_into_parts(plan, 0, word);
    return plan.products[0].parts;
  };
  EXPECT_EQ(parts(1e9, 0.34e9, 1000, 8), 1) << "1.49 times the mean";
  EXPECT_GT(parts(1e9, 0.32e9, 1000, 8), 64) << "1.52 times the mean";
  EXPECT_GT(parts(1e9, 0.32e9, 1 << 30, 0), 64) << "sparse";
  EXPECT_EQ(parts(1e9, 0, 100'000'000, 8), 2) << "16 reads of 12.5e6 numbers are 2e8 products, of 5e8";
  EXPECT_EQ(parts(1e9, 0, 100'000'000, 4), 1);
  EXPECT_EQ(parts(1e9, 0, 1'000'000'000, 8), 1);
  EXPECT_EQ(parts(0, 0, 1000, 8), 1);
}

TEST(OneSided, RefusesBeforeItBegins) {
  const auto x = case_of(3);
  const auto a = random_csr(40, 40, 50, 5);
  const auto errors = play(2, [&](Comm& comm) {
    TileTimes times;
    ProductCase big{a, a, std::vector<double>(1600), 20, 20, 20};
    product_of(comm, big, true, false, {1, 2}, transport_of_kind("local"), {.memory = 1000}, times);
  });
  for (const auto& e : errors) {
    EXPECT_TRUE(has(e, "needs about")) << e;
    EXPECT_TRUE(has(e, "products")) << e;
    EXPECT_TRUE(has(e, "0.001 MB")) << e;
  }
}

TEST(OneSided, AFailingRankStopsTheOthers) {
  const auto a = random_csr(40, 40, 50, 5);
  ProductCase x{a, a, std::vector<double>(1600), 10, 10, 10};
  const auto errors = play(4, [&](Comm& mine) {
    const std::shared_ptr<Comm> comm(&mine, [](Comm*) {});
    const auto make = transport_of_kind("local");
    auto t =
        tiles_of_whole<double>(comm, a, tile_map(40, 40, 10, 10, {2, 2}, TileValue::float64, true), make);
    if (mine.rank() == 2) throw std::runtime_error("gone fishing");
    multiply_one_sided(t, t, {.kept = Stationary::a});
  });
  for (std::size_t r = 0; r < errors.size(); ++r)
    EXPECT_TRUE(has(errors[r], "gone fishing")) << r << ": " << errors[r];
}

void fetch_and_renew(bool on_device) {
  const auto a = random_csr(12, 12, 60, 9);
  succeed(4, [&](Comm& mine) {
    const std::shared_ptr<Comm> comm(&mine, [](Comm*) {});
    auto t = tiles_of_whole<double>(comm, a, tile_map(12, 12, 4, 4, {2, 2}, TileValue::float64, true),
                                    pausing(1, on_device));
    EXPECT_EQ(t.on_device(), on_device);
    const auto other = t.mine(0, 0) ? std::pair{0, 1} : std::pair{0, 0};
    const auto first = t.async_get_tile(other.first, other.second);
    const auto again = t.async_get_tile(other.first, other.second);
    EXPECT_GT(first.fetched(), 0);
    EXPECT_EQ(again.fetched(), 0);
    EXPECT_EQ(first.data(), again.data());
    EXPECT_THROW(t.get_on_host(3, 0), Error);
    EXPECT_THROW(t.own_tile(other.first, other.second), Error);
    EXPECT_EQ(dense_of(whole_of<double>(t)), dense_of(a));
    t.transport()->barrier();
    std::map<std::int64_t, Offset> fewer;
    if (t.mine(1, 1)) fewer[4] = 0;
    t.renew_tiles(fewer, [](auto, auto, auto*) {});
    auto wanted = dense_of(a);
    for (std::size_t r = 4; r < 8; ++r)
      std::fill_n(wanted.begin() + static_cast<std::ptrdiff_t>(r * 12 + 4), 4, 0.0);
    EXPECT_EQ(dense_of(whole_of<double>(t)), wanted);
    t.transport()->barrier();
  });
}

TEST(Tiles, FetchedOnceWhileHeldAndRenewed) { fetch_and_renew(false); }
TEST(Tiles, OnADeviceToo) { fetch_and_renew(true); }

TEST(Tiles, ProductsNeedOneDevice) {
  const auto a = random_csr(12, 12, 60, 9);
  const auto errors = play(2, [&](Comm& mine) {
    const std::shared_ptr<Comm> comm(&mine, [](Comm*) {});
    const auto map = tile_map(12, 12, 6, 6, {1, 2}, TileValue::float64, true);
    auto s = tiles_of_whole<double>(comm, a, map, transport_of_kind("local"));
    auto t = tiles_of_whole<double>(comm, a, map, transport_of_kind("peer", Where{}));
    multiply_one_sided(s, t, {});
  });
  for (const auto& e : errors)
    EXPECT_TRUE(has(e, "in host memory, those of B or the mask on the CPU as a device")) << e;
}

}  // namespace
}  // namespace penstock
