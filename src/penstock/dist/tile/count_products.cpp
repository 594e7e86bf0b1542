// Counts what a product of sparse tiles will take before it is computed. The counting is done where the tiles are, and the
// host reads the results once, at the end.
#include <algorithm>
#include <vector>

#include "penstock/dist/tile/plan_multiply.hpp"
#include "penstock/kernel/spgemm/spgemm_expected.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Row offsets of other ranks' tiles that are kept because the GPU may still read them; after so many it is waited for.
constexpr std::size_t kHeld = 4;

}  // namespace

std::vector<ProductCount> count_products(TileMatrix& a, TileMatrix& b) {
  const auto &am = a.map(), &bm = b.map();
  const auto ks = am.across(), n = bm.across();
  struct Job {
    std::int64_t i, k, j;
    TileHere offsets = {};
  };
  std::vector<Job> jobs;
  for (std::int64_t i = 0; i < am.down(); ++i)
    for (std::int64_t k = 0; k < ks; ++k) {
      if (!a.mine(i, k) || am.at(i, k).nnz == 0) continue;
      for (std::int64_t s = 0; s < n; ++s)
        if (const auto j = (i + k + s) % n; bm.at(k, j).nnz > 0) jobs.push_back({i, k, j});
    }
  const OwnedStream stream(a.where());
  std::vector<double> here(2 * jobs.size());
  const auto bytes = static_cast<std::int64_t>(here.size() * sizeof(double));
  const auto there = allocate_scratch(bytes, stream);
  std::vector<TileHere> held;
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    // The row offsets for the next job are fetched while this one is counted.
    if (q == 0) jobs[q].offsets = b.async_get_offsets(jobs[q].k, jobs[q].j);
    if (q + 1 < jobs.size()) jobs[q + 1].offsets = b.async_get_offsets(jobs[q + 1].k, jobs[q + 1].j);
    auto& [i, k, j, offsets] = jobs[q];
    const auto tile = a.async_get_tile(i, k);  // own
    spgemm_expected(csr_of<One>(tile.data(), tile.tile()), csr_of<One>(offsets.data(), offsets.tile()),
                    static_cast<double*>(there.get()) + 2 * q, stream);
    if (offsets.fetched() > 0) held.push_back(std::move(offsets));
    if (held.size() < kHeld) continue;
    synchronize(Stream(stream));
    held.clear();
  }
  copy_async(here.data(), there.get(), bytes, stream);
  synchronize(Stream(stream));
  std::vector<double> sums(static_cast<std::size_t>(2 * am.down() * ks * n));
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    const auto at = static_cast<std::size_t>(2 * ((jobs[q].i * ks + jobs[q].k) * n + jobs[q].j));
    sums[at] = here[2 * q], sums[at + 1] = here[2 * q + 1];
  }
  a.comm()->all_reduce(std::span<double>(sums), Reduce::sum);
  std::vector<ProductCount> out(sums.size() / 2);
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = {sums[2 * p], sums[2 * p + 1]};
  return out;
}

}  // namespace penstock
