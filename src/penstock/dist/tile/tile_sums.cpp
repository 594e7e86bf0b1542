// What one-sided products and SUMMA share. prepare() counts what will come of the product and refuses it on all ranks where
// a rank has no memory for its part; TileSums adds up C's tiles and makes them a TileMatrix.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "penstock/comm/arena.hpp"
#include "penstock/core/machine.hpp"
#include "penstock/dist/tile/deal_products.hpp"
#include "penstock/dist/tile/node_shares.hpp"
#include "penstock/dist/tile/one_sided.hpp"
#include "penstock/dist/tile/tile_cover.hpp"
#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/dist/tile/tile_nodes.hpp"

namespace penstock {
namespace {

/// Bytes that are taken without asking how much memory is available: asking takes 40 us.
constexpr double kUnasked = 64 << 20;

/// Fetched tiles of a factor that are in memory besides `prefetch` ones: of the product that is computed, and of the one that
/// is computed next.
constexpr double kHeldBesides = 2;

std::string megabytes(double bytes) {
  char out[32];
  std::snprintf(out, sizeof out, "%.4g MB", bytes / 1e6);
  return out;
}

std::int64_t largest_tile(const TileMap& t) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < t.down(); ++i)
    for (std::int64_t j = 0; j < t.across(); ++j) largest = std::max(largest, t.bytes(i, j));
  return largest;
}

/// Bytes that fetched tiles take: those on their way, with row offsets that say which rows of B travel, and on a device those that
/// wait to be multiplied with others. At most all tiles of other ranks.
double landings(const TileMatrix& a, const TileMatrix& b, int prefetch) {
  if (a.comm()->size() == 1) return 0;
  double bytes = 0, all = 0;
  // Where single rows of B travel, a tile of A is fetched one product earlier.
  const int early = prefetch > 0 && a.map().gathers && b.map().gathers ? 1 : 0;
  const auto add = [&](const TileMatrix& m, double held) {
    const auto& t = m.map();
    double largest = 0, others = 0;
    for (std::int64_t i = 0; i < t.down(); ++i)
      for (std::int64_t j = 0; j < t.across(); ++j) {
        const auto size = static_cast<double>(t.bytes(i, j));
        all += size;
        if (!m.mine(i, j)) largest = std::max(largest, size), others += size;
      }
    bytes += std::min(held * largest, others);
  };
  add(a, prefetch + kHeldBesides + early);
  // In host memory the rows that are met take far less than a tile, where they travel alone.
  if (a.on_device() || !b.map().gathers) add(b, prefetch + kHeldBesides);
  if (b.map().sparse && b.map().gathers)
    bytes += (prefetch + kHeldBesides + early) * static_cast<double>(b.map().tile_rows + 1) * 8;
  if (!a.on_device()) return bytes;
  if (b.map().sparse) return bytes + std::min(static_cast<double>(kJoinedBytes), all);
  // Sums of few rows, which are made apart.
  return bytes + kFewRows * static_cast<double>(a.map().tile_rows) * static_cast<double>(b.map().tile_cols) *
                     static_cast<double>(bytes_of(b.map().value));
}

/// Times the bytes of a rank's tiles that cutting them takes meanwhile: both parts, entries on their way, and numbers of rows.
constexpr double kCutting = 5;

double own_bytes(const TileMatrix& a) {
  double bytes = 0;
  for (std::int64_t i = 0; i < a.map().down(); ++i)
    for (std::int64_t j = 0; j < a.map().across(); ++j)
      if (a.mine(i, j)) bytes += static_cast<double>(a.map().bytes(i, j));
  return bytes;
}

double free_on_host(Comm& comm) {
  const auto free = static_cast<double>(probe_topology().available_bytes);
  return comm.one_process() ? free / comm.size() : free;
}

/// What a rank tells the others of the memory for its part of C.
struct Need {
  double bytes = 0, have = 0;        // needed for its tiles of C, and available
  double entries = 0, products = 0;  // of these tiles
  double copy = 0;                   // bytes of `bytes` that are for its copy of another rank's tile
  double cut = 0;                    // and to cut its tiles of A in two
  double shared = 0;                 // and for a tile of B that parts of a product share (steal)
  double landings = 0;               // bytes of what is free that tiles on their way take
  double on_gpu = 0;                 // 1: `have` is what its GPU has free, for all ranks on this GPU
  std::int64_t gpu = -1;             // whose memory its tiles are in
  std::int64_t mailbox = 0;          // bytes of the transport that an earlier product left
};

/// What a rank needs for its part of tile rows [first, last) of C.
Need need_of(int rank, const TileMap& c, std::span<const ProductCount> counts, std::int64_t ks,
             const TileMultiplyOptions& options, std::int64_t first, std::int64_t last) {
  const auto* mask = options.mask ? &options.mask->map() : nullptr;
  const GridLayers layers(c.grid, options.replicas);
  Need need;
  // Entries of C(i, j) from layer `layer`, or from all.
  const auto expect = [&](std::int64_t i, std::int64_t j, int layer) {
    ProductCount sum;
    const auto& t = c.at(i, j);
    for (std::int64_t k = 0; k < ks; ++k) {
      if (layer >= 0 && layers.of(k) != layer) continue;
      const auto& count = counts[static_cast<std::size_t>((i * ks + k) * c.across() + j)];
      sum.nnz += count.nnz, sum.products += count.products;
    }
    sum.nnz = std::min(sum.nnz, static_cast<double>(t.rows) * static_cast<double>(t.cols));
    if (mask) sum.nnz = std::min(sum.nnz, static_cast<double>(mask->at(i, j).nnz));
    return sum;
  };
  for (std::int64_t i = first; i < last; ++i)
    for (std::int64_t j = 0; j < c.across(); ++j) {
      const auto& t = c.at(i, j);
      for (int l = 0; l < options.replicas && options.replicas > 1; ++l)
        if (layers.owner(i, j, l) == rank && c.owner(i, j) != rank)
          need.copy = std::max(need.copy, c.sparse ? sparse_sum_bytes(c, t, expect(i, j, l).nnz)
                                                   : static_cast<double>(c.bytes(i, j)));
      if (c.owner(i, j) != rank) continue;
      if (!c.sparse) {
        need.bytes += static_cast<double>(c.bytes(i, j));
        continue;
      }
      const auto sum = expect(i, j, -1);
      need.entries += sum.nnz, need.products += sum.products;
      need.bytes += sparse_sum_bytes(c, t, sum.nnz);
    }
  need.bytes += need.copy;
  return need;
}

/// Throws on all ranks where a rank's part of C will not fit into options.memory; below 0: what is free. Agrees on whether
/// there is a mailbox: where a product has failed some ranks may have none. Returns the bytes that this rank needs.
double require_memory(TileMatrix& a, const TileMatrix& b, const TileMap& c,
                      std::span<const ProductCount> counts, const TileMultiplyOptions& options, bool cuts) {
  auto& comm = *a.comm();
  auto mine = need_of(comm.rank(), c, counts, a.map().across(), options, 0, c.down());
  if (cuts) mine.bytes += mine.cut = kCutting * own_bytes(a);
  // Parts of a product with a dense B may share a copy of its tile.
  if (options.steal != Steal::none && comm.size() > 1 && !c.sparse && !a.on_device())
    mine.bytes += mine.shared = static_cast<double>(largest_tile(b.map()));
  mine.gpu = a.where().gpu;
  mine.mailbox = a.mailbox()->transport ? a.mailbox()->transport->arena_bytes() : -1;
  mine.have = static_cast<double>(options.memory);
  if (options.memory < 0) {
    if (mine.bytes * comm.size() <= kUnasked) {
      mine.have = mine.bytes;
    } else if (a.where().is_gpu()) {
      mine.on_gpu = 1, mine.landings = landings(a, b, options.prefetch);
      mine.have = static_cast<double>(device_memory(a.where()).free);
    } else {
      mine.landings = landings(a, b, options.prefetch);
      mine.have = std::max(free_on_host(comm) - mine.landings, 0.0);
    }
  }
  std::vector<Need> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&mine, sizeof mine, all.data());
  if (std::any_of(all.begin(), all.end(), [&](const Need& n) { return n.mailbox != all[0].mailbox; }))
    *a.mailbox() = {};
  for (auto& n : all) {
    if (n.on_gpu == 0) continue;
    const auto sharers = comm.one_process()
                             ? std::count_if(all.begin(), all.end(), [&](auto& o) { return o.gpu == n.gpu; })
                             : 1;
    n.have = std::max(n.have / static_cast<double>(sharers) - n.landings, 0.0);
  }
  const auto lacks = [](const Need& n) { return n.bytes - n.have; };
  const auto worst =
      std::max_element(all.begin(), all.end(), [&](auto& x, auto& y) { return lacks(x) < lacks(y); });
  if (lacks(*worst) <= 0) return mine.bytes;
  std::string text = "rank " + std::to_string(worst - all.begin()) + " needs about " +
                     megabytes(worst->bytes) + " for its tiles of C";
  if (c.sparse)
    text += " (at most about " + std::to_string(std::llround(worst->entries)) + " entries, from " +
            std::to_string(std::llround(worst->products)) + " products, while they are merged)";
  if (worst->copy > 0)
    text += ", " + megabytes(worst->copy) +
            " of it for its copy of another's tile (replicas=" + std::to_string(options.replicas) + ")";
  if (worst->cut > 0)
    text += ", " + megabytes(worst->cut) + " of it to cut its tiles of A in two (stationary='cover')";
  if (worst->shared > 0)
    text += ", " + megabytes(worst->shared) + " of it for a copy of a tile of B (steal=)";
  throw Error(
      Errc::out_of_memory,
      text + ", and has " + megabytes(worst->have) +
          (worst->landings > 0 ? " besides " + megabytes(worst->landings) + " for tiles on their way" : "") +
          ": use more ranks, " +
          (c.sparse ? "write C to a store (out=)" : "multiply by some columns of B at a time") +
          ", or raise memory=");
}

}  // namespace

std::shared_ptr<TileSplit> split_if_it_fits(TileMatrix& a) {
  auto& comm = *a.comm();
  const auto bytes = kCutting * own_bytes(a);
  std::array<std::int64_t, 1> fits{
      a.split() || bytes * comm.size() <= kUnasked || bytes <= free_on_host(comm) ? 1 : 0};
  comm.all_reduce(fits, Reduce::min);
  return fits[0] ? split_of(a) : nullptr;
}

namespace {

void require_cover(const TileMatrix& a, const TileMatrix& b, const TileMultiplyOptions& options) {
  const auto &has = a.map().grid, &given = b.map().grid;
  require(!b.map().sparse, "stationary 'cover' is for a dense B: choose one of a, b, c");
  require(given == has, [&] {
    return "stationary 'cover' takes A and B on one grid, not on " + std::to_string(has.rows) + " x " +
           std::to_string(has.cols) + " and " + std::to_string(given.rows) + " x " +
           std::to_string(given.cols) + " ranks: cut B with like= the tiles of A";
  });
  require(options.replicas == 1, "stationary 'cover' has one copy of C: leave replicas out");
  if (!a.map().gathers)
    throw Error(Errc::not_compiled, "stationary 'cover' sends single rows: transport '" +
                                        a.transport()->name() +
                                        "' does not; transport='peer' does, and so do tiles in host memory");
}

void require_dealing(const LocalProduct& local, const TileMultiplyOptions& options) {
  require(options.steal == Steal::none && options.nodes.empty() && options.replicas == 1,
          "work is dealt where nothing is stolen, ranks know of no nodes and C has one copy: leave steal, "
          "nodes and replicas "
          "out, or balance");
  if (!local.takes_rows())
    throw Error(Errc::not_compiled,
                "products of tiles on a device are not dealt in parts: cut the tiles without device=, or "
                "leave balance out");
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
    if (a.on_device())
      throw Error(Errc::not_compiled,
                  "products of tiles on a device cannot be masked: cut the tiles without device=");
  }
  if (!options.nodes.empty()) require_nodes(a, options);
  // With one row of ranks, who has B(k, j) has C(i, j): nothing is to be cut.
  const bool cuts = options.kept == Stationary::cover && a.map().grid.rows > 1;
  if (options.kept == Stationary::cover) require_cover(a, b, options);
  std::vector<ProductCount> counts;
  if (b.map().sparse) counts = count_products(a, b, &out.counted);
  const auto needed = require_memory(a, b, out.c, counts, options, cuts && !a.split());
  if (cuts) {
    out.split = split_of(a);
    out.plan = plan_cover(*out.split, b.map(), out.c);
  } else {
    const auto kept = options.kept == Stationary::cover ? Stationary::c : options.kept;
    out.plan = plan_multiply(a.map(), b.map(), out.c, kept, counts, mask, options.replicas);
    out.plan.kept = options.kept;
    if (options.flops_per_byte >= 0) {
      require_dealing(*out.local, options);
      deal_products(out.plan, a.map(), b.map(), out.c, counts, mask, options.flops_per_byte);
    }
  }
  out.mask = mask;
  if (!options.nodes.empty()) {
    const auto have = [&](double bytes) {
      auto& comm = *a.comm();
      if (options.memory >= 0) return static_cast<double>(options.memory);
      if (bytes * comm.size() <= kUnasked) return bytes;
      return std::max(free_on_host(comm) - landings(a, b, options.prefetch), 0.0);
    };
    share_within_nodes(out, a, b, options.nodes, counts, {needed, have});
  }
  return out;
}

TileMatrix& left_of(const TilePlan& plan, TileMatrix& a, const TileProduct& product) {
  if (plan.copies && plan.copies->of_a[static_cast<std::size_t>(a.map().number(product.i, product.k))])
    return plan.copies->a;
  if (!plan.split) return a;
  return product.at_b ? plan.split->at_b : plan.split->at_c;
}

TileMatrix& right_of(const TilePlan& plan, TileMatrix& b, const TileProduct& product) {
  if (plan.copies && plan.copies->of_b[static_cast<std::size_t>(b.map().number(product.k, product.j))])
    return plan.copies->b;
  return b;
}

RowNeeds::RowNeeds(TileMatrix& a, TileMatrix& b, const TileMultiplyOptions& options)
    : a_(a.map()), b_(b.map()), options_(options) {
  const auto local = local_product(options.semiring, a.map().value, b.map().value, b.map().sparse);
  c_ = product_map(a.map(), b.map(), local->result());
  require_fitting(a.map(), b.map(), c_);
  if (options.mask) require_mask(options.mask->map(), c_);
  if (!options.nodes.empty()) require_nodes(a, options);
  if (b.map().sparse) counts_ = count_products(a, b);
  for (std::int64_t i = 0; i < c_.down(); i += c_.grid.rows)
    rows_.push_back(need_of(a.comm()->rank(), c_, counts_, a.map().across(), options, i,
                            std::min<std::int64_t>(c_.down(), i + c_.grid.rows))
                        .bytes);
  landings_ = penstock::landings(a, b, options.prefetch);
}

std::vector<double> RowNeeds::shared(std::int64_t first, std::int64_t last) const {
  std::vector<double> out(static_cast<std::size_t>(c_.grid.ranks()));
  if (options_.nodes.empty()) return out;
  const auto kept = options_.kept == Stationary::cover ? Stationary::c : options_.kept;
  const auto* mask = options_.mask ? &options_.mask->map() : nullptr;
  auto plan = plan_multiply(a_, b_, c_, kept, counts_, mask, options_.replicas);
  // `first` is a multiple of the grid's rows: what is left is the plan of these rows, whose order does not matter here.
  std::erase_if(plan.products, [&](const TileProduct& p) { return p.i < first || p.i >= last; });
  find_shares(plan, a_, b_, c_, options_.nodes, true);
  std::vector<std::int64_t> copies(out.size());
  for (const auto& copy : plan.copies)
    copies[static_cast<std::size_t>(copy.rank)] += padded_to(most_bytes(copy, a_, b_), Arena::kAlignment);
  out = bytes_of_node_sums(plan, c_, counts_, mask);
  const auto arena = static_cast<double>(*std::ranges::max_element(copies));  // is as large on all ranks
  for (auto& bytes : out) bytes += arena;
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

void TileSums::settle() {
  for (auto& [number, sum] : sums_) sum->settle();
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
