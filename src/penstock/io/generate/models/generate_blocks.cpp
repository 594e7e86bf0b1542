// Stochastic block models (Holland, Laskey, Leinhardt 1983) and planted partitions (Condon and Karp 2001). Pairs that are no
// edges are skipped: the gap to the next edge is geometric (Batagelj and Brandes 2005), so that time goes with edges, not pairs.
//
// The pairs of two groups are cut into stretches of about kExpected edges, each with random numbers of its own. Stretches are
// walked twice, to count and to write.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/generate/models/generate_models.hpp"
#include "penstock/io/generate/models/mirrored.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

constexpr double kExpected = 4096;

/// Pairs of a vertex of the first range and one of the second, or of two vertices of one range.
struct Pairs {
  std::int64_t first_row, rows, first_column, columns;
  bool within;
  double p;
  std::int64_t apart = 0;  // pairs whose numbers are the same, divided by it, are left out; 0: none
  std::int64_t first_stretch = 0, cells_each = 1;

  std::int64_t cells() const { return within ? rows * (rows - 1) / 2 : rows * columns; }
};

class BlockGraph {
 public:
  BlockGraph(std::int64_t vertices, std::uint64_t seed) : vertices_(vertices), random_(seed, 0xb10c) {}

  void add(Pairs pairs) {
    const auto cells = pairs.cells();
    if (pairs.p <= 0 || cells == 0) return;
    const auto each = std::min(static_cast<double>(cells), std::ceil(kExpected / pairs.p));
    pairs.cells_each = static_cast<std::int64_t>(each);
    pairs.first_stretch = stretches_;
    stretches_ += (cells + pairs.cells_each - 1) / pairs.cells_each;
    expected_ += pairs.p * static_cast<double>(cells);
    all_.push_back(pairs);
  }

  Csr<One> make() const {
    require_memory("this graph of blocks", vertices_, static_cast<std::int64_t>(expected_ * 3.4));
    std::vector<std::int64_t> begin(at(stretches_ + 1));
    parallel_for(stretches_, [&](std::int64_t s) {
      std::int64_t count = 0;
      walk(s, [&](std::int64_t, std::int64_t) { ++count; });
      begin[at(s + 1)] = count;
    });
    for (std::int64_t s = 0; s < stretches_; ++s) begin[at(s + 1)] += begin[at(s)];
    const auto ends = allocate<Index>(2 * begin.back());
    parallel_for(stretches_, [&](std::int64_t s) {
      auto* to = ends.data + 2 * begin[at(s)];
      walk(s, [&](std::int64_t row, std::int64_t column) {
        *to++ = static_cast<Index>(row);
        *to++ = static_cast<Index>(column);
      });
    });
    return undirected(vertices_, begin.back(), [&](std::int64_t e) {
      return Edge{ends.data[2 * e], ends.data[2 * e + 1]};
    });
  }

 private:
  template <class Take>
  void walk(std::int64_t stretch, Take&& take) const {
    const auto& b =
        *std::prev(std::upper_bound(all_.begin(), all_.end(), stretch,
                                    [](std::int64_t s, const Pairs& p) { return s < p.first_stretch; }));
    const auto first = (stretch - b.first_stretch) * b.cells_each,
               last = std::min(first + b.cells_each, b.cells());
    const double miss = std::log1p(-std::min(b.p, 1.0));  // -inf where all pairs are joined: no gaps
    auto draw = static_cast<std::uint64_t>(stretch) << 32;
    std::int64_t high = 1,
                 base = 0;  // cells [base, base + high) are the pairs of vertex `high` and those below it
    if (b.within) {
      high = static_cast<std::int64_t>((1 + std::sqrt(1 + 8 * static_cast<double>(first))) / 2);
      while (high > 1 && high * (high - 1) / 2 > first) --high;
      base = high * (high - 1) / 2;
    }
    for (auto cell = first;; ++cell) {
      const auto gap = std::floor(std::log(unit<double>(random_(draw++))) / miss);
      if (gap >= static_cast<double>(last - cell)) return;
      cell += static_cast<std::int64_t>(gap);
      auto row = cell, column = cell;
      if (b.within) {
        while (cell >= base + high) base += high++;
        row = high, column = cell - base;
        if (b.apart > 0 && row / b.apart == column / b.apart) continue;
      } else {
        row = cell / b.columns, column = cell % b.columns;
      }
      take(b.first_row + row, b.first_column + column);
    }
  }

  std::int64_t vertices_, stretches_ = 0;
  double expected_ = 0;
  Random random_;
  std::vector<Pairs> all_;
};

void check_probability(const char* name, double p) {
  require_between(name, p, 0, 1, "it is the probability of an edge");
}

}  // namespace

Csr<One> generate_blocks(const std::vector<std::int64_t>& sizes, const std::vector<double>& p,
                         std::uint64_t seed) {
  const auto groups = sizes.size();
  require(p.size() == groups * groups, "p has " + std::to_string(p.size()) +
                                           " numbers: give a row and a column for each of " +
                                           std::to_string(groups) + " groups");
  std::vector<std::int64_t> first(groups + 1);
  for (std::size_t g = 0; g < groups; ++g) {
    require(
        sizes[g] >= 0 && sizes[g] < std::int64_t{1} << 31,
        "sizes[" + std::to_string(g) + "] = " + std::to_string(sizes[g]) + " is not between 0 and 2^31 - 1");
    first[g + 1] = first[g] + sizes[g];
  }
  require_extent("the sum of sizes", first[groups]);
  BlockGraph graph(first[groups], seed);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t h = g; h < groups; ++h) {
      const auto name = "p[" + std::to_string(g) + ", " + std::to_string(h) + "]";
      const auto chance = p[g * groups + h];
      check_probability(name.c_str(), chance);
      require(chance == p[h * groups + g], name + " = " + std::to_string(chance) + " differs from p[" +
                                               std::to_string(h) + ", " + std::to_string(g) +
                                               "]: edges are undirected");
      graph.add({first[g], sizes[g], first[h], sizes[h], g == h, chance});
    }
  return graph.make();
}

Csr<One> generate_planted(std::int64_t groups, std::int64_t size, double p_in, double p_out,
                          std::uint64_t seed) {
  require_extent("groups", groups);
  require_extent("size", size);
  require(groups <= ((std::int64_t{1} << 31) - 1) / size,
          "groups * size = " + std::to_string(groups) + " * " + std::to_string(size) + " exceeds 2^31 - 1");
  check_probability("p_in", p_in);
  check_probability("p_out", p_out);
  BlockGraph graph(groups * size, seed);
  // Between groups all pairs of vertices are walked, and those within a group are left out.
  graph.add({0, groups * size, 0, groups * size, true, groups > 1 ? p_out : 0, size});
  for (std::int64_t g = 0; g < groups; ++g) graph.add({g * size, size, g * size, size, true, p_in});
  return graph.make();
}

}  // namespace penstock
