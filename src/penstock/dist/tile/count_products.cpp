// Counts what a product of sparse tiles will take before it is computed. The counting is done where the tiles are, and the
// host reads the results once, at the end.
#include <algorithm>
#include <vector>

#include "penstock/dist/tile/plan_multiply.hpp"
#include "penstock/dist/tile/tile_spans.hpp"
#include "penstock/kernel/spgemm/spgemm_expected.hpp"
#include "penstock/kernel/structure/named_rows.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Row offsets of other ranks' tiles that are kept because the GPU may still read them; after so many it is waited for.
constexpr std::size_t kHeld = 4;

}  // namespace

std::vector<ProductCount> count_products(TileMatrix& a, TileMatrix& b, std::int64_t* fetched) {
  constexpr std::size_t kEach = 6;  // numbers of a product
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
  const auto ask = [&](Job& job) {
    job.offsets = b.async_get_offsets(job.k, job.j, am.at(job.i, job.k).col_span());
    if (fetched) *fetched += job.offsets.fetched();
  };
  const OwnedStream stream(a.where());
  std::vector<double> here(2 * jobs.size());
  std::vector<RowsAlone> met(jobs.size()), alone(jobs.size());
  const auto bytes = static_cast<std::int64_t>(here.size() * sizeof(double));
  const auto there = allocate_scratch(bytes, stream);
  std::vector<TileHere> held;
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    // The row offsets for the next job are fetched while this one is counted.
    if (q == 0) ask(jobs[q]);
    if (q + 1 < jobs.size()) ask(jobs[q + 1]);
    auto& [i, k, j, offsets] = jobs[q];
    const auto tile = a.async_get_tile(i, k);  // own
    spgemm_expected(csr_of<One>(tile.data(), tile.tile()), csr_of<One>(offsets.data(), offsets.tile()),
                    static_cast<double*>(there.get()) + 2 * q, stream);
    if (bm.gathers) {
      const auto* const ends = reinterpret_cast<const Offset*>(offsets.data());
      const auto columns = a.columns_met(i, k, tile);
      const auto each = 4 + bytes_of(bm.value);
      if (b.on_device()) {  // a kernel fetches each row by itself: ranges cost nothing
        met[q] = {entries_of_named(columns->begin(), columns->list.size, ends, stream), 0};
        alone[q] = met[q];
      } else {
        with_gaps(*columns, ends, each, 0, met[q]);
        with_gaps(*columns, ends, each, bm.range_bytes, alone[q]);
      }
    }
    if (offsets.fetched() > 0) held.push_back(std::move(offsets));
    if (held.size() < kHeld) continue;
    synchronize(Stream(stream));
    held.clear();
  }
  copy_async(here.data(), there.get(), bytes, stream);
  synchronize(Stream(stream));
  std::vector<double> sums(kEach * static_cast<std::size_t>(am.down() * ks * n));
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    const auto at = kEach * static_cast<std::size_t>((jobs[q].i * ks + jobs[q].k) * n + jobs[q].j);
    sums[at] = here[2 * q], sums[at + 1] = here[2 * q + 1],
    sums[at + 2] = static_cast<double>(met[q].entries), sums[at + 3] = static_cast<double>(met[q].ranges);
    sums[at + 4] = static_cast<double>(alone[q].entries), sums[at + 5] = static_cast<double>(alone[q].ranges);
  }
  a.comm()->all_reduce(std::span<double>(sums), Reduce::sum);
  std::vector<ProductCount> out(sums.size() / kEach);
  for (std::size_t p = 0; p < out.size(); ++p) {
    const auto* const s = sums.data() + kEach * p;
    out[p] = {s[0],
              s[1],
              {static_cast<Offset>(s[2]), static_cast<std::int64_t>(s[3])},
              {static_cast<Offset>(s[4]), static_cast<std::int64_t>(s[5])}};
  }
  return out;
}

}  // namespace penstock
