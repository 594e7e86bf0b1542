// What a product of sparse tiles will take, before it is computed.
#include <algorithm>
#include <cmath>
#include <deque>

#include "penstock/core/parallel.hpp"
#include "penstock/dist/plan_multiply.hpp"
#include "penstock/kernel/spgemm_gpu.hpp"
#include "penstock/kernel/sweep.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGrain = 4 << 10;  // rows of a task

/// 1 - exp(-x): the share of columns that x products a column hit. A series where it has ten digits: most rows.
double hit(double x) { return x < 1e-3 ? x * (1 - x / 2 * (1 - x / 3)) : -std::expm1(-x); }

}  // namespace

std::vector<ProductCount> count_products(TileMatrix& a, TileMatrix& b) {
  const auto &am = a.map(), &bm = b.map();
  const auto ks = am.across(), n = bm.across();
  std::vector<double> sums(static_cast<std::size_t>(2 * am.down() * ks * n));
  const OwnedStream stream(a.where());
  Array<Offset> on_device, per_row;  // of a device's tiles: counted there, read here
  const auto count = [&](std::int64_t i, std::int64_t k, std::int64_t j, const TileHere& offsets) {
    const auto tile = a.async_get_tile(i, k);
    const auto left = csr_of<One>(tile.data(), tile.tile());
    const auto* begin = reinterpret_cast<const Offset*>(offsets.data());
    const auto cols = static_cast<double>(offsets.tile().cols);
    if (a.on_device()) {
      if (on_device.size < left.rows) {
        on_device = allocate<Offset>(left.rows, device_place(a.where()));
        per_row = allocate<Offset>(left.rows);
      }
      spgemm_products(left, csr_of<One>(offsets.data(), offsets.tile()), on_device.data, stream);
      copy_async(per_row.data, on_device.data, left.rows * std::int64_t{sizeof(Offset)}, stream);
      synchronize(stream);
    }
    const auto products_of = [&](std::int64_t r) {
      if (per_row.data) return per_row.data[r];
      Offset products = 0;
      for (auto e = left.indptr[r]; e < left.indptr[r + 1]; ++e)
        products += begin[left.indices[e] + 1] - begin[left.indices[e]];
      return products;
    };
    std::vector<ProductCount> parts(static_cast<std::size_t>((left.rows + kGrain - 1) / kGrain));
    parallel_for(std::ssize(parts), [&](std::int64_t part) {
      ProductCount total;
      for (auto r = part * kGrain; r < std::min(left.rows, (part + 1) * kGrain); ++r) {
        const auto products = products_of(r);
        const auto p = static_cast<double>(products);
        total.products += p;
        total.nnz += products < 2 ? p : std::max(1.0, cols * hit(p / cols));
      }
      parts[static_cast<std::size_t>(part)] = total;
    });
    auto* out = sums.data() + 2 * ((i * ks + k) * n + j);
    for (const auto& part : parts) out[0] += part.products, out[1] += part.nnz;
  };
  struct Job {
    std::int64_t i, k, j;
    TileHere offsets;
  };
  std::deque<Job> jobs;  // one is fetched while another is counted
  const auto next = [&](std::size_t left) {
    for (; jobs.size() > left; jobs.pop_front())
      count(jobs.front().i, jobs.front().k, jobs.front().j, jobs.front().offsets);
  };
  for (std::int64_t i = 0; i < am.down(); ++i)
    for (std::int64_t k = 0; k < ks; ++k) {
      if (!a.mine(i, k) || am.at(i, k).nnz == 0) continue;
      for (std::int64_t s = 0; s < n; ++s) {
        const auto j = (i + k + s) % n;
        if (bm.at(k, j).nnz == 0) continue;
        jobs.push_back({i, k, j, b.async_get_offsets(k, j)});
        next(1);
      }
    }
  next(0);
  a.comm()->all_reduce(std::span<double>(sums), Reduce::sum);
  std::vector<ProductCount> out(sums.size() / 2);
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = {sums[2 * p], sums[2 * p + 1]};
  return out;
}

}  // namespace penstock
