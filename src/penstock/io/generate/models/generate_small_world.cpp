// Small worlds (Watts and Strogatz 1998), edge by edge in NetworkX's order: first all edges to the next vertex of the ring, then
// those to the one after it. An edge (u, v) that is chosen becomes (u, w), w drawn until it is neither u nor a neighbour of u.
//
// Whether w is a neighbour depends on the edges before, so one thread rewires. Ring edges need no table; those that were rewired
// are in a hash table.
#include <algorithm>
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

/// Edges that are no ring edges. It grows, and forgets none.
class EdgeSet {
 public:
  EdgeSet() : slots_(1 << 10, kNone) {}
  bool has(std::int64_t a, std::int64_t b) const { return slots_[place(key(a, b))] != kNone; }
  void add(std::int64_t a, std::int64_t b) {
    if (2 * ++count_ > slots_.size()) grow();
    const auto k = key(a, b);
    slots_[place(k)] = k;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static std::uint64_t key(std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(std::min(a, b)) << 32 | static_cast<std::uint64_t>(std::max(a, b));
  }
  std::size_t place(std::uint64_t k) const {
    auto i = mix64(k) & (slots_.size() - 1);
    while (slots_[i] != kNone && slots_[i] != k) i = (i + 1) & (slots_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<std::uint64_t> old(2 * slots_.size(), kNone);
    old.swap(slots_);
    for (const auto k : old)
      if (k != kNone) slots_[place(k)] = k;
  }

  std::vector<std::uint64_t> slots_;
  std::size_t count_ = 0;
};

class Ring {
 public:
  Ring(std::int64_t n, std::int64_t half)
      : n_(n),
        half_(half),
        targets_(allocate<Index>(n * half)),
        degrees_(at(n), static_cast<Index>(2 * half)) {}

  /// The further end of edge e = u * half + j - 1 of vertex u.
  std::int64_t end(std::int64_t e) const { return targets_.data[e]; }

  void rewire(double p, std::uint64_t seed) {
    parallel_ranges(n_, 1 << 14, [&](std::int64_t first, std::int64_t last) {
      for (auto u = first; u < last; ++u)
        for (std::int64_t j = 1; j <= half_; ++j)
          targets_.data[u * half_ + j - 1] = static_cast<Index>(u + j < n_ ? u + j : u + j - n_);
    });
    const Random chosen(seed, 0x35), drawn(seed, 0x36);
    const auto limit = threshold(p);
    std::uint64_t draws = 0;
    for (std::int64_t j = 1; j <= half_; ++j)
      for (std::int64_t u = 0; u < n_; ++u) {
        if (u % 4096 == 0) poll_interrupt();
        const auto e = u * half_ + j - 1;
        if (chosen(static_cast<std::uint64_t>(e)) >= limit || degrees_[at(u)] >= n_ - 1) continue;
        auto w = u;
        do w = below(drawn(draws++), n_);
        while (w == u || joined(u, w));
        --degrees_[at(targets_.data[e])];
        ++degrees_[at(w)];
        targets_.data[e] = static_cast<Index>(w);
        others_.add(u, w);
      }
  }

 private:
  bool joined(std::int64_t u, std::int64_t w) const {
    const auto ahead = w > u ? w - u : w - u + n_;
    const auto on_ring = [&](std::int64_t from, std::int64_t to, std::int64_t j) {
      return j <= half_ && targets_.data[from * half_ + j - 1] == to;
    };
    return on_ring(u, w, ahead) || on_ring(w, u, n_ - ahead) || others_.has(u, w);
  }

  std::int64_t n_, half_;
  Array<Index> targets_;
  std::vector<Index> degrees_;
  EdgeSet others_;
};

}  // namespace

Csr<One> generate_small_world(std::int64_t n, std::int64_t k, double p, std::uint64_t seed) {
  require_extent("n", n);
  require(k >= 0 && k < n, "k = " + std::to_string(k) + " is not between 0 and n - 1 = " +
                               std::to_string(n - 1) + ": it is the number of neighbours on the ring");
  require_between("p", p, 0, 1, "it is the probability that an edge gets another end");
  const auto half = k / 2;
  require_memory("this small world", n, 4 * n * half);
  Ring ring(n, half);
  if (half > 0) ring.rewire(p, seed);
  return undirected(n, n * half, [&](std::int64_t e) { return Edge{e / half, ring.end(e)}; });
}

}  // namespace penstock
