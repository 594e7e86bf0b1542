// Random geometric graphs (Gilbert 1961): points in the unit square, joined where they are near. The square is cut into cells
// at least `radius` wide, so that a point's neighbours are in its cell and the eight around it. Points are sorted by cell, and
// cells of a row lie side by side: three ranges of points are all that is looked at.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/generate/models/generate_models.hpp"
#include "penstock/io/random.hpp"

namespace penstock {
namespace {

/// The points by number, in [0, 1).
struct Points {
  Random random;
  double at(std::int64_t i, int axis) const {
    return static_cast<double>(random(static_cast<std::uint64_t>(2 * i + axis)) >> 11) * 0x1p-53;
  }
};

struct InCells {
  Points points;
  std::int64_t n, side;

  std::int64_t units() const { return n; }
  std::int64_t max_per_unit() const { return 1; }
  std::int64_t cell(double x) const {
    return std::min(side - 1, static_cast<std::int64_t>(x * static_cast<double>(side)));
  }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto i = first; i < last; ++i) emit(cell(points.at(i, 1)) * side + cell(points.at(i, 0)), i, One{});
  }
};

/// Points by cell, and who is near whom.
class Plane {
 public:
  Plane(const GeometricOptions& o, std::int64_t side)
      : side_(side), reach_(o.radius * o.radius), points_{Random(o.seed, 0x6e0)} {
    cells_ = assemble<One>(side * side, o.n, InCells{points_, o.n, side});
    x_ = allocate<double>(o.n), y_ = allocate<double>(o.n);
    parallel_ranges(o.n, 1 << 14, [&](std::int64_t first, std::int64_t last) {
      for (auto k = first; k < last; ++k)
        x_.data[k] = points_.at(drawn(k), 0), y_.data[k] = points_.at(drawn(k), 1);
    });
  }

  /// The number by which the point at place k was drawn.
  Index drawn(std::int64_t k) const { return cells_.indices.data[k]; }
  double x(std::int64_t k) const { return x_.data[k]; }
  double y(std::int64_t k) const { return y_.data[k]; }

  /// visit(k, near) for each place k, where near(take) calls take(other place, squared distance) in ascending order.
  template <class Visit>
  void each(Visit&& visit) const {
    const auto* begin = cells_.indptr.data;
    parallel_ranges(side_ * side_, 256, [&](std::int64_t first, std::int64_t last) {
      for (auto c = first; c < last; ++c) {
        const auto row = c / side_, column = c % side_;
        const auto low = std::max<std::int64_t>(column - 1, 0), high = std::min(column + 1, side_ - 1);
        for (auto k = begin[c]; k < begin[c + 1]; ++k)
          visit(k, [&](auto&& take) {
            const double px = x(k), py = y(k);
            for (auto r = std::max<std::int64_t>(row - 1, 0); r <= std::min(row + 1, side_ - 1); ++r)
              for (auto j = begin[r * side_ + low]; j < begin[r * side_ + high + 1]; ++j) {
                const double dx = px - x(j), dy = py - y(j), d = dx * dx + dy * dy;
                if (d <= reach_ && j != k) take(j, d);
              }
          });
      }
    });
  }

 private:
  std::int64_t side_;
  double reach_;
  Points points_;
  Csr<One> cells_;
  Array<double> x_, y_;
};

}  // namespace

template <class V>
Geometric<V> generate_geometric(const GeometricOptions& o) {
  require_extent("n", o.n);
  require_between("radius", o.radius, 0, 1.5, "the square's diagonal is 1.42");
  const auto n = static_cast<double>(o.n);
  const auto near = std::min(1.0, 3.15 * o.radius * o.radius);
  require_bytes("this geometric graph", 8 * 7 * n + near * n * n * (4 + value_bytes<V>),
                "vertices or a smaller radius");
  const auto most = std::max(1.0, std::sqrt(n));  // cells need not be fewer than points
  const auto side = o.radius > 0 ? std::clamp((1 - 1e-9) / o.radius, 1.0, most) : most;
  const Plane plane(o, static_cast<std::int64_t>(side));
  const auto name = [&](std::int64_t k) { return o.scramble ? plane.drawn(k) : static_cast<Index>(k); };
  auto indptr = allocate<Offset>(o.n + 1);
  auto xy = allocate<double>(2 * o.n);
  indptr.data[0] = 0;
  plane.each([&](std::int64_t k, auto&& near_k) {
    Offset count = 0;
    near_k([&](std::int64_t, double) { ++count; });
    indptr.data[name(k) + 1] = count;
    xy.data[2 * name(k)] = plane.x(k), xy.data[2 * name(k) + 1] = plane.y(k);
  });
  for (std::int64_t i = 0; i < o.n; ++i) indptr.data[i + 1] += indptr.data[i];
  const auto nnz = indptr.data[o.n];
  auto indices = allocate<Index>(nnz);
  auto values = allocate<V>(is_pattern<V> ? 0 : nnz);
  plane.each([&](std::int64_t k, auto&& near_k) {
    thread_local std::vector<std::pair<Index, double>> row;
    row.clear();
    near_k([&](std::int64_t j, double d) { row.emplace_back(name(j), d); });
    if (o.scramble) std::sort(row.begin(), row.end());
    auto to = indptr.data[name(k)];
    for (const auto& [column, d] : row) {
      if constexpr (!is_pattern<V>) values.data[to] = static_cast<V>(std::sqrt(d));
      indices.data[to++] = column;
    }
  });
  return {{o.n, o.n, indptr, indices, values}, xy};
}

template Geometric<One> generate_geometric(const GeometricOptions&);
template Geometric<float> generate_geometric(const GeometricOptions&);
template Geometric<double> generate_geometric(const GeometricOptions&);

}  // namespace penstock
