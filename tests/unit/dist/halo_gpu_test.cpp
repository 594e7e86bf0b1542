// The strategies for vectors on GPUs, with the CPU as the device: the same code but for kernels, streams and events.
#include "penstock/dist/halo/halo_gpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "penstock/core/error.hpp"
#include "penstock/dist/product/dist_product_gpu.hpp"
#include "penstock/dist/share/share.hpp"
#include "penstock/io/generate/generate_stencil.hpp"
#include "penstock/partition/partition.hpp"
#include "penstock/schedule/multiply.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr std::string_view kWithoutGpu[] = {"sync",         "gather", "pinned",         "index_standard",
                                            "index_pinned", "device", "device_indexed", "peer",
                                            "peer_packed",  "auto"};

/// Some entries of the other ranks, in the order that a plan asks for.
std::vector<GlobalIndex> some_ghosts(const Ownership& of, int rank, unsigned seed) {
  std::mt19937 random(seed + 977 * static_cast<unsigned>(rank));
  std::vector<GlobalIndex> ghosts;
  for (int r = 0; r < of.ranks(); ++r) {
    if (r == rank || random() % 4 == 0) continue;  // some pairs do not talk, some in one direction only
    for (std::int64_t k = 0; k < of.count(r); ++k)
      if (random() % 3 == 0) ghosts.push_back(of.global(r, k));
  }
  return ghosts;
}

std::byte content(GlobalIndex global, int round, std::int64_t byte) {
  return static_cast<std::byte>((global * 31 + round * 7 + byte * 13) & 255);
}

struct Case {
  std::vector<GlobalIndex> starts;
  std::int64_t entry_bytes;
};

void check_exchanges(std::string_view strategy, const Case& c, unsigned seed) {
  const int ranks = static_cast<int>(c.starts.size()) - 1;
  on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
    const auto of = Ownership::ranges(c.starts);
    const auto ghosts = some_ghosts(of, comm->rank(), seed);
    const auto plan = std::make_shared<const CommPlan>(plan_exchange(*comm, of, ghosts));
    const auto halo = make_gpu_halo(strategy, {comm, plan, c.entry_bytes, {}});
    const auto n = of.count(comm->rank());
    std::vector<std::byte> x(static_cast<std::size_t>(n * c.entry_bytes + 1));
    for (int round = 0; round < 7; ++round) {
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t b = 0; b < c.entry_bytes; ++b)
          x[static_cast<std::size_t>(k * c.entry_bytes + b)] = content(of.global(comm->rank(), k), round, b);
      halo->begin(x.data(), {});
      halo->end({});
      std::fill(x.begin(), x.end(), std::byte{255});  // from here on it may be overwritten
      const auto* got = static_cast<const std::byte*>(halo->ghosts());
      for (std::size_t g = 0; g < ghosts.size(); ++g)
        for (std::int64_t b = 0; b < c.entry_bytes; ++b)
          ASSERT_EQ(got[static_cast<std::int64_t>(g) * c.entry_bytes + b], content(ghosts[g], round, b))
              << strategy << ", rank " << comm->rank() << " of " << ranks << ", round " << round << ", ghost "
              << g << " (entry " << ghosts[g] << "), byte " << b;
    }
    EXPECT_EQ(halo->times().exchanges, 7);
    EXPECT_EQ(halo->times().sent_bytes, 7 * plan->sent() * c.entry_bytes);
    EXPECT_EQ(halo->times().received_bytes, 7 * plan->ghosts() * c.entry_bytes);
    EXPECT_EQ(halo->times().messages, 7 * std::ssize(plan->send_ranks));
  });
}

TEST(HaloGpu, EveryStrategyBringsTheSameBytes) {
  const Case cases[] = {
      {{0, 5}, 8},           {{0, 40, 77}, 8},         {{0, 40, 77}, 4},
      {{0, 30, 30, 61}, 24}, {{0, 9, 40, 41, 90}, 16}, {{0, 7, 7, 20, 33, 60, 61, 80, 99}, 1}};
  for (const auto strategy : kWithoutGpu)
    for (const auto& c : cases) check_exchanges(strategy, c, 3);
}

TEST(HaloGpu, ManyExchangesOverlapWithoutMixing) {
  for (const auto strategy : {"peer", "peer_packed", "index_pinned"})
    for (unsigned seed = 0; seed < 6; ++seed) check_exchanges(strategy, {{0, 100, 230, 300, 410}, 8}, seed);
}

TEST(HaloGpu, NothingToSend) {
  for (const auto strategy : kWithoutGpu)
    on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
      const auto of = Ownership::ranges({0, 4, 8, 12});
      const auto plan = std::make_shared<const CommPlan>(plan_exchange(*comm, of, {}));
      const auto halo = make_gpu_halo(strategy, {comm, plan, 8, {}});
      const std::vector<double> x(4, 1.0);
      for (int i = 0; i < 3; ++i) halo->begin(x.data(), {}), halo->end({});
    });
}

TEST(HaloGpu, SaysWhatIsWrong) {
  on_ranks(2, [](const std::shared_ptr<Comm>& comm) {
    const auto of = Ownership::ranges({0, 4, 8});
    const auto plan = std::make_shared<const CommPlan>(plan_exchange(*comm, of, {}));
    const HaloContext here{comm, plan, 8, {}};
    const auto message = [&](std::string_view name) {
      try {
        make_gpu_halo(name, here);
      } catch (const Error& e) {
        return std::string(e.what());
      }
      return std::string();
    };
    EXPECT_NE(message("pinnd").find("index_pinned"), std::string::npos) << message("pinnd");
    for (const auto name : {"nccl", "nvshmem"})
      EXPECT_NE(message(name).find("rank 0"), std::string::npos) << message(name);
  });
}

TEST(HaloGpu, ARankThatGivesUpLeavesNobodyWaiting) {
  for (const auto strategy : {"peer", "peer_packed"})
    EXPECT_THROW(on_ranks(3,
                          [&](const std::shared_ptr<Comm>& comm) {
                            const auto of = Ownership::ranges({0, 4, 8, 12});
                            std::vector<GlobalIndex> all;
                            for (GlobalIndex g = 0; g < 12; ++g)
                              if (of.owner(g) != comm->rank()) all.push_back(g);
                            const auto plan = std::make_shared<const CommPlan>(plan_exchange(*comm, of, all));
                            const auto halo = make_gpu_halo(strategy, {comm, plan, 8, {}});
                            const std::vector<double> x(4, 1.0);
                            for (int i = 0; i < 5; ++i) {
                              if (comm->rank() == 1 && i == 3)
                                throw Error(Errc::invalid_argument, "rank 1 gives up");
                              halo->begin(x.data(), {}), halo->end({});
                            }
                          }),
                 Error);
}

template <class V>
Csr<One> pattern_of(const Csr<V>& a) {
  return {a.rows, a.cols, a.indptr, a.indices, {}};
}

template <class S, class V>
void check_products(const Csr<V>& a, Partition (*cut)(const Csr<One>&, std::int64_t), int ranks,
                    std::string_view halo, bool streamed) {
  using T = typename S::value_type;
  std::vector<T> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows)), old(y.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(1 + (i * 7) % 11);
  for (std::size_t i = 0; i < y.size(); ++i) old[i] = T(i % 3);
  for (const auto scale : {Scale<S>{}, Scale<S>{T(3), T(2)}}) {
    y = old;
    multiply<S, V>(a, x, y, InCore{}, scale);
    const auto p = cut(pattern_of(a), ranks);
    on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
      const auto owners = owners_of(p, ranks, false);
      auto d = distribute<V>(comm, owners.rows, owners.cols, share_of(RowRange<V>{a}, p, comm->rank()));
      DistProductGpu<V> product(d, {.halo = std::string(halo), .streamed = streamed});
      std::vector<T> mine(static_cast<std::size_t>(d.cols())), got(static_cast<std::size_t>(d.rows()));
      for (std::size_t k = 0; k < mine.size(); ++k)
        mine[k] = x[static_cast<std::size_t>(d.col_owners->global(comm->rank(), std::int64_t(k)))];
      for (int again = 0; again < 6; ++again) {
        for (std::size_t k = 0; k < got.size(); ++k)
          got[k] = old[static_cast<std::size_t>(d.row_owners->global(comm->rank(), std::int64_t(k)))];
        product.template multiply<S>(mine.data(), got.data(), scale, {});
        for (std::size_t k = 0; k < got.size(); ++k) {
          const auto row = d.row_owners->global(comm->rank(), std::int64_t(k));
          ASSERT_NEAR(double(got[k]), double(y[static_cast<std::size_t>(row)]),
                      1e-12 * std::abs(double(y[static_cast<std::size_t>(row)])))
              << "row " << row << ", rank " << comm->rank() << " of " << ranks << ", halo " << halo
              << (streamed ? ", streamed" : "");
        }
      }
      EXPECT_EQ(product.times().products, 6);
    });
  }
}

TEST(DistProductGpu, MultipliesAsOneRankDoes) {
  const auto a = generate_laplacian<double>({13, 11});
  for (const int ranks : {1, 2, 3, 8})
    for (const auto halo : {"peer", "index_pinned"}) {
      check_products<PlusTimes<double>, double>(a, partition::balanced, ranks, halo, false);
      check_products<PlusTimes<double>, double>(a, partition::balanced, ranks, halo, true);
      check_products<PlusTimes<double>, double>(a, partition::grid, ranks, halo, false);
      check_products<PlusTimes<double>, double>(a, partition::bins, ranks, halo, true);
    }
  check_products<MinPlus<double>, double>(a, partition::balanced, 3, "peer_packed", false);
}

TEST(DistCgGpu, ConvergesAsOneRankDoes) {
  const auto a = generate_laplacian<double>({17, 15});
  std::vector<double> b(static_cast<std::size_t>(a.rows)), x(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(double(i));
  const SolveOptions o{.rtol = 1e-10, .starts_at_zero = true};
  LinearOp<double> op;
  op.rows = a.rows;
  op.apply = [&](std::span<const double> from, std::span<double> to) {
    multiply<PlusTimes<double>, double>(a, from, to);
  };
  const auto alone = cg<double>(op, nullptr, b, x, o);
  for (const int ranks : {1, 2, 4})
    on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
      const auto p = partition::balanced(pattern_of(a), ranks);
      const auto owners = owners_of(p, ranks, false);
      auto d =
          distribute<double>(comm, owners.rows, owners.cols, share_of(RowRange<double>{a}, p, comm->rank()));
      DistProductGpu<double> product(d, {.halo = "peer"});
      std::vector<double> mine(static_cast<std::size_t>(d.rows())), found(mine.size());
      const std::vector<double> quarter(mine.size(), 0.25);
      for (std::size_t k = 0; k < mine.size(); ++k)
        mine[k] = b[static_cast<std::size_t>(d.row_owners->global(comm->rank(), std::int64_t(k)))];
      DeviceOp<double> apply{.rows = d.rows(), .cols = d.cols()};
      apply.apply = [&](const double* from, double* to, Stream s) {
        product.multiply<PlusTimes<double>>(from, to, {}, s);
      };
      for (const auto* diagonal : {static_cast<const double*>(nullptr), quarter.data()}) {
        const DeviceM<double> m{.diagonal = diagonal};
        const auto r = dist_cg_gpu<double>({apply, *comm, m}, mine.data(), found.data(), o);
        EXPECT_EQ(r.stop, Stop::converged) << r.reason;
        EXPECT_NEAR(double(r.iterations), double(alone.iterations), 1);
        EXPECT_LE(r.residual, r.target);
        for (std::size_t k = 0; k < found.size(); ++k)
          ASSERT_NEAR(found[k],
                      x[static_cast<std::size_t>(d.row_owners->global(comm->rank(), std::int64_t(k)))], 1e-8);
      }
    });
}

}  // namespace
}  // namespace penstock
