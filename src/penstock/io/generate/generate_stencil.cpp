#include "penstock/io/generate/generate_stencil.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_check.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLargestCube = 1290;

/// The value towards the lower and the higher neighbour along each axis, and on the diagonal.
struct Stencil {
  double down, centre, up;
};

template <class V>
Csr<V> on_grid(std::array<std::int64_t, 3> extent, const Stencil& s, const KeptRows& keep) {
  const auto [nx, ny, nz] = extent;
  const std::array<std::int64_t, 3> stride{1, nx, nx * ny};
  const auto rows = nx * ny * nz;
  // Calls visit(axis, has a lower neighbour, has a higher one) for each axis.
  const auto inside = [=](std::int64_t row, auto&& visit) {
    const auto line = row / nx;
    const std::array<std::int64_t, 3> at{row - line * nx, line % ny, line / ny};
    for (const int axis : {0, 1, 2}) visit(axis, at[axis] > 0, at[axis] + 1 < extent[axis]);
  };
  // Goes through the entries that a row has in the whole matrix; those in kept columns are counted or written.
  const auto entries = [=](std::int64_t row, auto&& f) {
    std::array<bool, 3> low, high;
    inside(row, [&](int axis, bool l, bool h) { low[axis] = l, high[axis] = h; });
    for (const int axis : {2, 1, 0})
      if (low[axis]) f(row - stride[axis], s.down);
    f(row, s.centre);
    for (const int axis : {0, 1, 2})
      if (high[axis]) f(row + stride[axis], s.up);
  };
  const bool all = keep.first_col == 0 && keep.last_col >= rows;
  return fill_rows<V>(
      keep.count, rows,
      [&](std::int64_t i) {
        int n = all;
        if (all) inside(keep.row(i), [&](int, bool low, bool high) { n += low + high; });
        else entries(keep.row(i), [&](std::int64_t column, double) { n += keep.has_column(column); });
        return n;
      },
      [&](std::int64_t i, RowWriter<V>& write) {
        entries(keep.row(i), [&](std::int64_t column, double value) {
          if (all || keep.has_column(column)) write(column, value);
        });
      });
}

}  // namespace

template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& o) {
  const auto side = std::clamp<std::int64_t>(n, 0, kLargestCube);  // n itself is checked by the call below
  return generate_advection_diffusion<V>(n, o, {.count = side * side * side});
}

template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& o,
                                    const KeptRows& keep) {
  require_between("n", static_cast<double>(n), 1, kLargestCube,
                  "the cube has n^3 rows, and columns have 31 bits");
  require_memory("this stencil", keep.count, 7 * keep.count, value_bytes<V>);
  const auto per_h = static_cast<double>(n + 1);
  const auto diffusion = o.a * per_h * per_h, advection = o.b * per_h / 2;
  return on_grid<V>({n, n, n}, {-diffusion - advection, 6 * diffusion + o.c, -diffusion + advection}, keep);
}

namespace {

/// Three extents, and in `rows` the number of points of their grid. Throws where they are not valid.
std::array<std::int64_t, 3> checked(const std::vector<std::int64_t>& extents, std::int64_t& rows) {
  require(extents.size() >= 1 && extents.size() <= 3,
          "a grid of " + std::to_string(extents.size()) + " extents: give (nx,), (nx, ny) or (nx, ny, nz)");
  std::array<std::int64_t, 3> extent{1, 1, 1};
  rows = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    require_extent("extent " + std::to_string(axis), extents[axis]);
    require(extents[axis] <= std::numeric_limits<Index>::max() / rows,
            "the grid has more than 2^31 - 1 points: column indices have 31 bits; make it smaller");
    rows *= extent[axis] = extents[axis];
  }
  return extent;
}

}  // namespace

template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents) {
  std::int64_t rows = 1;
  checked(extents, rows);
  return generate_laplacian<V>(extents, {.count = rows});
}

template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents, const KeptRows& keep) {
  std::int64_t rows = 1;
  const auto extent = checked(extents, rows);
  require_memory("this Laplacian", keep.count, keep.count * static_cast<std::int64_t>(2 * extents.size() + 1),
                 value_bytes<V>);
  return on_grid<V>(extent, {-1, 2.0 * static_cast<double>(extents.size()), -1}, keep);
}

#define X(V)                                                                                    \
  template Csr<V> generate_advection_diffusion(std::int64_t, const AdvectionDiffusionOptions&); \
  template Csr<V> generate_advection_diffusion(std::int64_t, const AdvectionDiffusionOptions&,  \
                                               const KeptRows&);                                \
  template Csr<V> generate_laplacian(const std::vector<std::int64_t>&);                         \
  template Csr<V> generate_laplacian(const std::vector<std::int64_t>&, const KeptRows&);
X(One) X(float) X(double)
#undef X

}  // namespace penstock
