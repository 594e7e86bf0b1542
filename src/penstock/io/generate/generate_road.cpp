#include "penstock/io/generate/generate_road.hpp"

#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

/// A step from a vertex to one of its four neighbours of higher number. An edge belongs to its lower vertex, so that both
/// ends ask the same hash whether it exists.
struct Step {
  int dx, dy;
};
constexpr Step kSteps[] = {{1, 0}, {-1, 1}, {0, 1}, {1, 1}};

struct Road {
  std::int64_t nx, ny;
  std::uint64_t keep, diagonal;
  Random random;

  /// Calls visit(neighbour, weight) for all neighbours in ascending order.
  template <class Visit>
  void neighbours(std::int64_t v, Visit&& visit) const {
    const auto y = v / nx, x = v - y * nx;
    const auto offer = [&](int step, int direction) {
      const auto [dx, dy] = kSteps[step];
      const auto to_x = x + direction * dx, to_y = y + direction * dy;
      if (to_x < 0 || to_x >= nx || to_y < 0 || to_y >= ny) return;
      const auto to = to_y * nx + to_x;
      const auto edge =
          static_cast<std::uint64_t>(direction > 0 ? v : to) * 8 + static_cast<std::uint64_t>(step) * 2;
      const bool slanted = dx != 0 && dy != 0;
      if (random(edge) >= (slanted ? diagonal : keep)) return;
      visit(to,
            static_cast<double>(slanted ? 2 + below(random(edge + 1), 13) : 1 + below(random(edge + 1), 10)));
    };
    for (int step = 3; step >= 0; --step) offer(step, -1);
    for (int step = 0; step <= 3; ++step) offer(step, 1);
  }
};

}  // namespace

template <class V>
Csr<V> generate_road(const RoadOptions& o) {
  require_extent("nx", o.nx);
  require_extent("ny", o.ny);
  require(o.ny <= std::numeric_limits<Index>::max() / o.nx, "nx * ny = " + std::to_string(o.nx) + " * " +
                                                                std::to_string(o.ny) +
                                                                " exceeds 2^31 - 1: make the grid smaller");
  require_between("removed", o.removed, 0, 1, "it is a share of the grid's edges");
  require_between("diagonals", o.diagonals, 0, 1, "it is a share of the diagonals");
  const auto n = o.nx * o.ny;
  require_memory("this grid", n, 4 * n, value_bytes<V>);
  const Road road{o.nx, o.ny, threshold(1 - o.removed), threshold(o.diagonals), Random(o.seed, 3)};
  return fill_rows<V>(
      n, n,
      [&](std::int64_t v) {
        int degree = 0;
        road.neighbours(v, [&](std::int64_t, double) { ++degree; });
        return degree;
      },
      [&](std::int64_t v, RowWriter<V>& write) { road.neighbours(v, write); });
}

template Csr<One> generate_road(const RoadOptions&);
template Csr<float> generate_road(const RoadOptions&);
template Csr<double> generate_road(const RoadOptions&);

}  // namespace penstock
