// What one-sided products and SUMMA share: the beginning, C while it is added up, and the end.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "penstock/core/machine.hpp"
#include "penstock/dist/one_sided.hpp"
#include "penstock/dist/tile_gpu.hpp"

namespace penstock {
namespace {

constexpr double kUnasked =
    64 << 20;  // bytes that are taken without asking what is available: asking takes 40 us

std::string megabytes(double bytes) {
  char out[32];
  std::snprintf(out, sizeof out, "%.4g MB", bytes / 1e6);
  return out;
}

/// Throws on all ranks where a rank's part of C will not fit into `have`; below 0: what the host has.
void require_memory(Comm& comm, const TileMap& c, std::span<const ProductCount> counts, std::int64_t ks,
                    double have, const TileMap* mask) {
  double entries = 0, products = 0, bytes = 0;
  for (std::int64_t i = 0; i < c.down(); ++i)
    for (std::int64_t j = 0; j < c.across(); ++j) {
      if (c.owner(i, j) != comm.rank()) continue;
      const auto& t = c.at(i, j);
      if (!c.sparse) {
        bytes += static_cast<double>(c.bytes(i, j));
        continue;
      }
      double n = 0;
      for (std::int64_t k = 0; k < ks; ++k) {
        const auto& count = counts[static_cast<std::size_t>((i * ks + k) * c.across() + j)];
        n += count.nnz, products += count.products;
      }
      n = std::min(n, static_cast<double>(t.rows) * static_cast<double>(t.cols));
      if (mask) n = std::min(n, static_cast<double>(mask->at(i, j).nnz));
      entries += n;
      // Twice: what is merged, and what comes of it.
      bytes += 2 * (static_cast<double>(t.rows) * 8 + n * static_cast<double>(4 + bytes_of(c.value)));
    }
  if (have < 0 && bytes * comm.size() <= kUnasked) {
    have = bytes;
  } else if (have < 0) {
    have = static_cast<double>(probe_topology().available_bytes);
    if (comm.one_process()) have /= comm.size();
  }
  struct Need {
    double lacks, bytes, have, entries, products;
  };
  const Need mine{bytes - have, bytes, have, entries, products};
  std::vector<Need> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&mine, sizeof mine, all.data());
  const auto worst =
      std::max_element(all.begin(), all.end(), [](auto& x, auto& y) { return x.lacks < y.lacks; });
  if (worst->lacks <= 0) return;
  std::string what = "rank " + std::to_string(worst - all.begin()) + " needs about " +
                     megabytes(worst->bytes) + " for its tiles of C";
  if (c.sparse)
    what += " (at most about " + std::to_string(std::llround(worst->entries)) + " entries, from " +
            std::to_string(std::llround(worst->products)) + " products, while they are merged)";
  throw Error(Errc::out_of_memory,
              what + ", and has " + megabytes(worst->have) +
                  ": use more ranks, multiply by some columns of B at a time, or raise memory=");
}

/// What a rank may use for C: as asked, or what is free on its device; below 0 for tiles in host memory, to be found out.
/// Collective where tiles are on devices.
double bytes_for_c(const TileMatrix& a, const TileMatrix& b, const TileMultiplyOptions& options) {
  if (!a.on_device()) return static_cast<double>(options.memory);
  auto free = free_device_bytes(a);
  if (options.memory >= 0) return static_cast<double>(options.memory);
  for (const auto* t : {&a.map(), &b.map()}) {  // tiles on their way here
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < t->down(); ++i)
      for (std::int64_t j = 0; j < t->across(); ++j) largest = std::max(largest, t->bytes(i, j));
    if (a.comm()->size() > 1) free -= (options.prefetch + 2.0) * static_cast<double>(largest);
  }
  return std::max(free, 0.0);
}

}  // namespace

LapClock::LapClock() : last_(0) { lap(); }
double LapClock::lap() {
  const auto now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return now - std::exchange(last_, now);
}

TilePlan prepare(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options) {
  require(a.comm().get() == b.comm().get() || a.comm()->size() == b.comm()->size(),
          "A and B are on different ranks");
  TilePlan out;
  require_same_devices(a, b);
  out.local = a.on_device() ? local_product_on(a.where(), options.semiring, a.map().value, b.map().value,
                                               b.map().sparse)
                            : local_product(options.semiring, a.map().value, b.map().value, b.map().sparse);
  out.c = product_map(a.map(), b.map(), out.local->result());
  require_fitting(a.map(), b.map(), out.c);
  const TileMap* mask = options.mask ? &options.mask->map() : nullptr;
  if (mask) {
    require_mask(*mask, out.c);
    require_same_devices(a, *options.mask);
    if (a.where().is_gpu())
      throw Error(Errc::not_compiled,
                  "products of tiles on GPUs cannot be masked: cut the tiles without device=");
  }
  std::vector<ProductCount> counts;
  if (b.map().sparse) counts = count_products(a, b);
  require_memory(*a.comm(), out.c, counts, a.map().across(), bytes_for_c(a, b, options), mask);
  out.plan = plan_multiply(a.map(), b.map(), out.c, options.kept, counts, mask);
  return out;
}

TileSums::TileSums(const TilePlan& plan, const TileMatrix& a)
    : plan_(&plan), comm_(a.comm()), make_(a.make_transport()) {
  if (plan.c.sparse) return;
  const auto start = [&](auto i, auto j, std::byte* blob) {
    sums_[plan.c.number(i, j)] = plan.local->start(plan.c.at(i, j), blob);
  };
  dense_ = std::make_unique<TileMatrix>(comm_, plan.c, make_, start, TileMatrix::Filled::arena);
}

TileSum& TileSums::sum(std::int64_t i, std::int64_t j) {
  auto& sum = sums_[plan_->c.number(i, j)];
  if (!sum) sum = plan_->local->start(plan_->c.at(i, j), nullptr);
  return *sum;
}

TileMatrix TileSums::finish(double& accumulation, double& waiting) {
  LapClock clock;
  auto map = plan_->c;
  for (auto& [number, sum] : sums_) map.tiles[static_cast<std::size_t>(number)].nnz = sum->finish();
  accumulation += clock.lap();
  if (dense_) {
    dense_->transport()->barrier();
    waiting += clock.lap();
    return std::move(*dense_);
  }
  comm_->barrier();
  waiting += clock.lap();
  const auto take = [&](std::int64_t i, std::int64_t j, std::byte* blob) {
    const auto at = sums_.find(map.number(i, j));
    if (at == sums_.end()) return;
    at->second->take(blob);
    sums_.erase(at);
  };
  TileMatrix c(comm_, map, make_, take, TileMatrix::Filled::arena);
  accumulation += clock.lap();
  return c;
}

}  // namespace penstock
