// The plan of a product of tiles: which rank computes A(i, k) B(k, j), and in which order. The owner of the stationary tile
// does (Brock, Buluc and Yelick, ICS 2024), so of the three tiles only two travel; the order is shifted from tile to tile, so
// that not all ranks ask the same one for tiles. It is made from the directories alone: every rank makes the same plan.
#include "penstock/dist/tile/plan_multiply.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 4> kNames{"a", "b", "c", "cover"};

/// Products in a plan, which takes up to 19 GB then (of a cover twice as many), and every rank has it.
constexpr std::int64_t kMostProducts = 1 << 28;

std::string times(std::int64_t a, std::int64_t b) { return std::to_string(a) + " x " + std::to_string(b); }

/// The products of two tiles and the entries of their result, as if entries were spread evenly: an entry of A meets nnz(B) /
/// rows(B) entries of B, and the products fall on the places of the result at random.
ProductCount expected(const TileAt& a, const TileAt& b) {
  ProductCount c;
  if (a.rows == 0 || b.rows == 0 || b.cols == 0) return c;
  c.products = static_cast<double>(a.nnz) * static_cast<double>(b.nnz) / static_cast<double>(b.rows);
  const auto cols = static_cast<double>(b.cols), rows = static_cast<double>(a.rows);
  c.nnz = std::min(c.products, rows * cols * -std::expm1(-c.products / rows / cols));
  if (a.cols_met >= 0)
    c.alone = {std::llround(static_cast<double>(a.cols_met) * static_cast<double>(b.nnz) /
                            static_cast<double>(b.rows)),
               a.cols_met};
  return c;
}

template <class... T>
std::string line(const char* format, T... values) {
  std::array<char, 160> out{};
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}

}  // namespace

Stationary stationary(std::string_view which) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (which == kNames[i]) return static_cast<Stationary>(i);
  throw Error(Errc::invalid_argument,
              "stationary '" + std::string(which) + "' is unknown: choose one of a, b, c, cover");
}

std::string_view name(Stationary which) { return kNames[static_cast<std::size_t>(which)]; }

GridLayers::GridLayers(ProcessGrid of, int layers) : grid(of), count(layers) {
  columns = layers > 0 && grid.cols % layers == 0;
  require(columns || (layers > 0 && grid.rows % layers == 0), [&] {
    return "replicas=" + std::to_string(layers) + " on a grid of " + times(grid.rows, grid.cols) +
           " ranks: give a divisor of one of its sides, or another grid";
  });
}

int GridLayers::owner(std::int64_t i, std::int64_t j, int layer) const {
  auto row = static_cast<int>(i % grid.rows), col = static_cast<int>(j % grid.cols);
  auto& side = columns ? col : row;
  side += layer - side % count;
  return row * grid.cols + col;
}

std::int64_t MultiplyPlan::turns() const {
  std::int64_t most = 0;
  for (const auto& p : products) most = std::max<std::int64_t>(most, p.turn + 1);
  return most;
}

void require_fitting(const TileMap& a, const TileMap& b, const TileMap& c) {
  require(a.sparse, "the left factor has sparse tiles");
  require(a.cols == b.rows, [&] {
    return "A has shape " + times(a.rows, a.cols) + ", B has " + times(b.rows, b.cols) +
           ": A's columns are B's rows";
  });
  require(
      (a.col_cuts.empty() && b.row_cuts.empty()) || a.col_cuts == b.row_cuts,
      "A's columns and B's rows are cut at different places, one of them by its work: cut B with like= the "
      "tiles of A");
  require(a.tile_cols == b.tile_rows, [&] {
    return "tiles of A have " + std::to_string(a.tile_cols) + " columns, tiles of B " +
           std::to_string(b.tile_rows) +
           " rows: cut both with the same size there (tile_rows=" + std::to_string(a.tile_cols) +
           " for B, or like= the tiles of A)";
  });
  require(a.grid.ranks() == b.grid.ranks() && b.grid.ranks() == c.grid.ranks(), [&] {
    return "the grids are of " + std::to_string(a.grid.ranks()) + ", " + std::to_string(b.grid.ranks()) +
           " and " + std::to_string(c.grid.ranks()) +
           " ranks: all matrices of a product are on the same ranks";
  });
  require(a.down() == 0 || b.across() == 0 || a.across() <= kMostProducts / a.down() / b.across(), [&] {
    return times(a.down(), a.across()) + " tiles by " + times(b.down(), b.across()) +
           " are more than 2^28 products of tiles: give larger tiles";
  });
  require(c.rows == a.rows && c.cols == b.cols && c.tile_rows == a.tile_rows && c.tile_cols == b.tile_cols &&
              c.row_cuts == a.row_cuts && c.col_cuts == b.col_cuts && c.sparse == b.sparse,
          "the tiles of C are not those of A B");
}

void require_mask(const TileMap& mask, const TileMap& c) {
  require(c.sparse, "a mask is for products of sparse matrices: B is dense");
  require(mask.sparse, "the mask's tiles are dense: cut it from a sparse matrix");
  require(mask.rows == c.rows && mask.cols == c.cols, [&] {
    return "the mask has shape " + times(mask.rows, mask.cols) + ", C has " + times(c.rows, c.cols);
  });
  require(mask.row_cuts == c.row_cuts && mask.col_cuts == c.col_cuts,
          "the mask and C are cut at different places, one of them by its work: cut the mask like C "
          "(tile_rows= and tile_cols= the tile_sizes of C)");
  require(mask.tile_rows == c.tile_rows && mask.tile_cols == c.tile_cols, [&] {
    return "tiles of the mask are " + times(mask.tile_rows, mask.tile_cols) + ", those of C " +
           times(c.tile_rows, c.tile_cols) + ": cut it like C (tile_rows=" + std::to_string(c.tile_rows) +
           ", tile_cols=" + std::to_string(c.tile_cols) + ")";
  });
  require(mask.grid == c.grid, [&] {
    return "the mask is on a grid of " + times(mask.grid.rows, mask.grid.cols) + " ranks, C on one of " +
           times(c.grid.rows, c.grid.cols);
  });
}

TileMap product_map(const TileMap& a, const TileMap& b, TileValue value) {
  auto c =
      tile_map(a.rows, b.cols, a.tile_rows, b.tile_cols, a.grid, value, b.sparse, a.row_cuts, b.col_cuts);
  c.gathers = b.gathers;
  return c;
}

MultiplyPlan plan_multiply(const TileMap& a, const TileMap& b, const TileMap& c, Stationary kept,
                           std::span<const ProductCount> counts, const TileMap* mask, int replicas) {
  require_fitting(a, b, c);
  if (mask) require_mask(*mask, c);
  require(replicas == 1 || kept == Stationary::c, "replicas are of stationary C");
  require(
      kept != Stationary::cover,
      "a plan of stationary 'cover' is made of A's entries, not of directories: multiply, and ask C.plan()");
  const GridLayers layers(c.grid, replicas);
  MultiplyPlan plan;
  plan.kept = kept, plan.replicas = replicas, plan.ranks = c.grid.ranks();
  plan.m = a.down(), plan.k = a.across(), plan.n = b.across();
  const auto m = plan.m, ks = plan.k, n = plan.n;
  require(counts.empty() || std::ssize(counts) == m * ks * n, "plan_multiply: one count for every product");
  double part = 0;     // entries of a layer's copy of a tile
  Span touched{0, 0};  // and its rows: between which they are, and how many at most
  std::int64_t met = 0;
  /// What travels of a sum: of a dense one, rows that a factor has entries in.
  const auto sum_bytes = [&](std::int64_t i, std::int64_t j, double entries, std::int64_t rows_met,
                             Span rows) {
    const auto& ct = c.at(i, j);
    return c.sparse ? blob_bytes(true, c.value, ct.rows, ct.cols, static_cast<Offset>(std::llround(entries)))
                    : c.bytes_of_sum(i, j, rows_met, rows);
  };
  std::vector<std::int32_t> turns(static_cast<std::size_t>(plan.ranks));

  const auto add = [&](std::int64_t i, std::int64_t k, std::int64_t j) {
    const auto& at = a.at(i, k);
    const auto& bt = b.at(k, j);
    const bool counted = b.sparse && !counts.empty();
    const auto count = !b.sparse ? ProductCount{}
                       : counted ? counts[static_cast<std::size_t>((i * ks + k) * n + j)]
                                 : expected(at, bt);
    if (at.nnz == 0 || bt.nnz == 0 || (mask && mask->at(i, j).nnz == 0) || (counted && count.products == 0)) {
      ++plan.skipped;
      return;
    }
    TileProduct p{.i = static_cast<std::int32_t>(i),
                  .k = static_cast<std::int32_t>(k),
                  .j = static_cast<std::int32_t>(j)};
    p.owner = kept == Stationary::a   ? a.owner(i, k)
              : kept == Stationary::b ? b.owner(k, j)
                                      : layers.owner(i, j, layers.of(k));
    const auto& ct = c.at(i, j);
    const auto area = static_cast<double>(ct.rows) * static_cast<double>(ct.cols);
    auto entries = area;
    if (b.sparse) {
      entries = mask ? std::min(count.nnz, static_cast<double>(mask->at(i, j).nnz)) : count.nnz;
      p.flops = 2 * count.products;
    } else {
      p.flops = 2 * static_cast<double>(at.nnz) * static_cast<double>(bt.cols);
    }
    if (a.owner(i, k) != p.owner) p.fetched += a.bytes(i, k);
    p.of_b = b.bytes_for(at, k, j, count.alone);
    if (b.owner(k, j) != p.owner) p.fetched += p.of_b;
    if (mask && c.owner(i, j) != p.owner) p.fetched += mask->bytes(i, j);
    part = std::min(part + entries, mask ? static_cast<double>(mask->at(i, j).nnz) : area);
    touched = touched.with(at.row_span());
    met += at.rows_met >= 0 ? at.rows_met : at.row_span().size();
    if (replicas == 1 && c.owner(i, j) != p.owner)
      p.sent = sum_bytes(i, j, entries, at.rows_met, at.row_span());
    p.turn = turns[static_cast<std::size_t>(p.owner)]++;
    plan.products.push_back(p);
  };
  const auto close = [&] {
    const auto end = std::ssize(plan.products);
    if (end == plan.groups.back()) return;
    auto& first = plan.products[static_cast<std::size_t>(plan.groups.back())];
    if (replicas > 1 && c.owner(first.i, first.j) != first.owner)
      first.sent = sum_bytes(first.i, first.j, part, met, touched);
    part = 0, touched = {0, 0}, met = 0;
    plan.groups.push_back(end);
  };

  const auto outer = kept == Stationary::b ? ks : m, inner = kept == Stationary::a ? ks : n;
  const auto steps = kept == Stationary::a ? n : kept == Stationary::b ? m : ks;
  for (std::int64_t x = 0; x < outer; ++x)
    for (std::int64_t y = 0; y < inner; ++y) {
      for (int layer = 0; layer < replicas; ++layer) {
        for (std::int64_t s = 0; s < steps; ++s) {
          const auto z = (s + x + y) % steps;
          if (replicas > 1 && layers.of(z) != layer) continue;
          switch (kept) {
            case Stationary::a: add(x, y, z); break;
            case Stationary::b: add(z, x, y); break;
            default: add(x, z, y); break;
          }
        }
        close();
      }
    }
  return plan;
}

int receiver(const MultiplyPlan& plan, const TileMap& c, const TileProduct& p) {
  const auto owner = c.owner(p.i, p.j);
  if (plan.sums.empty()) return owner;
  const auto key = std::pair{plan.nodes[static_cast<std::size_t>(p.owner)], c.number(p.i, p.j)};
  const auto at = std::ranges::lower_bound(plan.sums, key, {}, [](auto& s) {
    return std::pair{s.node, s.tile};
  });
  return at != plan.sums.end() && std::pair{at->node, at->tile} == key ? at->rank : owner;
}

std::vector<PlanLoad> loads(const MultiplyPlan& plan, const TileMap& c) {
  std::vector<PlanLoad> out(static_cast<std::size_t>(plan.ranks));
  for (const auto& p : plan.products) {
    auto& load = out[static_cast<std::size_t>(p.owner)];
    ++load.products;
    load.fetched += p.fetched, load.far_fetched += p.far_fetched;
    load.sent += p.sent, load.far_sent += p.far_sent;
    load.flops += p.flops;
    out[static_cast<std::size_t>(receiver(plan, c, p))].received += p.sent;
  }
  for (const auto& copy : plan.copies) {
    auto& load = out[static_cast<std::size_t>(copy.rank)];
    load.fetched += copy.bytes, load.far_fetched += copy.bytes;
  }
  for (const auto& sum : plan.sums) {
    auto& load = out[static_cast<std::size_t>(sum.rank)];
    load.sent += sum.bytes, load.far_sent += sum.bytes;
    out[static_cast<std::size_t>(c.owner(sum.tile / c.across(), sum.tile % c.across()))].received +=
        sum.bytes;
  }
  return out;
}

std::string text(const MultiplyPlan& plan, const TileMap& c, std::int64_t most) {
  std::string out = "stationary " + std::string(name(plan.kept)) +
                    (plan.replicas > 1 ? " in " + std::to_string(plan.replicas) + " copies" : "") + ": " +
                    std::to_string(plan.products.size()) + " products of " + std::to_string(plan.m) + " x " +
                    std::to_string(plan.k) + " tiles by " + std::to_string(plan.k) + " x " +
                    std::to_string(plan.n) + ", " + std::to_string(plan.skipped) +
                    " left out for want of entries\n";
  out += "  rank  products     fetched MB        sent MB    received MB        GFLOP\n";
  const auto all = loads(plan, c);
  double mean = 0, largest = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto& l = all[r];
    mean += l.flops / static_cast<double>(all.size());
    largest = std::max(largest, l.flops);
    if (static_cast<std::int64_t>(r) < most)
      out += line("%6zu %9lld %14.3f %14.3f %14.3f %12.4f\n", r, static_cast<long long>(l.products),
                  static_cast<double>(l.fetched) / 1e6, static_cast<double>(l.sent) / 1e6,
                  static_cast<double>(l.received) / 1e6, l.flops / 1e9);
  }
  if (std::ssize(all) > most) out += "  ... " + std::to_string(std::ssize(all) - most) + " more ranks\n";
  if (!plan.nodes.empty()) {
    std::int64_t far = 0;
    for (const auto& l : all) far += l.far_fetched + l.far_sent;
    out += line("  between nodes %.3f MB, with %lld tiles and %lld sums shared within nodes\n",
                static_cast<double>(far) / 1e6, static_cast<long long>(plan.copies.size()),
                static_cast<long long>(plan.sums.size()));
  }
  if (plan.dealt > 0)
    out += line("  %lld parts dealt to other ranks; as the tiles lie, imbalance of work would be %.3f\n",
                static_cast<long long>(plan.dealt), plan.undealt);
  if (mean > 0) out += line("  imbalance of work, most over mean: %.3f\n", largest / mean);
  out += "     i     k     j  owner   fetched bytes      sent bytes        flops\n";
  for (std::int64_t n = 0; n < std::min(most, std::ssize(plan.products)); ++n) {
    const auto& p = plan.products[static_cast<std::size_t>(n)];
    out += line("%6d%6d%6d %6d %15lld %15lld %12.4g\n", p.i, p.k, p.j, p.owner,
                static_cast<long long>(p.fetched), static_cast<long long>(p.sent), p.flops);
  }
  if (std::ssize(plan.products) > most)
    out += "  ... " + std::to_string(std::ssize(plan.products) - most) + " more products\n";
  return out;
}

}  // namespace penstock
