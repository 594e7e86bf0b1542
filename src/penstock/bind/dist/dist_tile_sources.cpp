// Matrices of tiles made of other matrices, and what is counted of these before they are cut.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>

#include "penstock/bind/dist/dist_tiles.hpp"
#include "penstock/dist/tile/tile_entries.hpp"

namespace penstock::bind {
namespace {

using Shared = std::shared_ptr<TileMatrix>;

MakeTransport transport_on(const std::string& kind, int device) {
  require(device >= kNoDevice, "tiles: there is no device " + std::to_string(device));
  return device == kNoDevice ? transport_of_kind(kind) : transport_of_kind(kind, Where{device});
}

Shared tiles_of_whole(const std::shared_ptr<Comm>& comm, const Matrix& a, std::int64_t tile_rows,
                      std::int64_t tile_cols, Grid grid, const std::string& transport, int device,
                      const Cuts& cuts) {
  return with_csr(a, [&]<class V>(const Csr<V>& csr) {
    const nb::gil_scoped_release release;
    for (const Place place : {csr.indptr.place, csr.indices.place, csr.values.place}) check(InCore{}, place);
    auto map = tile_map(csr.rows, csr.cols, tile_rows, tile_cols, {grid.first, grid.second}, tile_value<V>(),
                        true, cuts.first, cuts.second);
    return std::make_shared<TileMatrix>(
        tiles_of_whole<V>(comm, csr, std::move(map), transport_on(transport, device)));
  });
}

Shared tiles_of_dense(const std::shared_ptr<Comm>& comm, const Dense& a, std::int64_t tile_rows,
                      std::int64_t tile_cols, Grid grid, const std::string& transport, int device,
                      const Cuts& cuts) {
  const auto value = value_of(a);
  const nb::gil_scoped_release release;
  auto map = tile_map(static_cast<std::int64_t>(a.shape(0)), static_cast<std::int64_t>(a.shape(1)), tile_rows,
                      tile_cols, {grid.first, grid.second}, value, false, cuts.first, cuts.second);
  return std::make_shared<TileMatrix>(tiles_of_dense(comm, static_cast<const std::byte*>(a.data()),
                                                     std::move(map), transport_on(transport, device)));
}

/// Entries of rows from first_row on, which this rank has made; other ranks may have more entries of these rows.
Shared tiles_of_rows(const std::shared_ptr<Comm>& comm, const Matrix& a, std::int64_t first_row,
                     std::int64_t rows, std::int64_t tile_rows, std::int64_t tile_cols, Grid grid,
                     const std::string& transport, int device, const Cuts& cuts) {
  return with_csr(a, [&]<class V>(const Csr<V>& csr) {
    const nb::gil_scoped_release release;
    require(0 <= first_row && first_row + csr.rows <= rows, "rows of tiles are outside the matrix");
    std::vector<GlobalIndex> ids(static_cast<std::size_t>(csr.rows)),
        cols(static_cast<std::size_t>(csr.cols));
    for (std::size_t r = 0; r < ids.size(); ++r) ids[r] = first_row + static_cast<GlobalIndex>(r);
    for (std::size_t c = 0; c < cols.size(); ++c) cols[c] = static_cast<GlobalIndex>(c);
    auto map = tile_map(rows, csr.cols, tile_rows, tile_cols, {grid.first, grid.second}, tile_value<V>(),
                        true, cuts.first, cuts.second);
    return std::make_shared<TileMatrix>(
        tiles_of_part<V>(comm, {csr.view()}, {ids}, {cols}, std::move(map), transport_on(transport, device)));
  });
}

Shared tiles_of_dist(const DistMatrix& a, std::int64_t tile_rows, std::int64_t tile_cols, Grid grid,
                     const std::string& transport, int device, const Cuts& cuts) {
  return visit(a, [&]<class V>(const DistProduct<V>& product) {
    const nb::gil_scoped_release release;
    const auto& d = product.matrix();
    auto map = tile_map(d.all_rows(), d.all_cols(), tile_rows, tile_cols, {grid.first, grid.second},
                        tile_value<V>(), true, cuts.first, cuts.second);
    return std::make_shared<TileMatrix>(tiles_of_dist<V>(d, std::move(map), transport_on(transport, device)));
  });
}

/// Counts of the entries of a matrix that is not cut yet, of all ranks.
struct EntryCounts {
  std::int64_t rows = 0, cols = 0;
  std::function<std::vector<std::int64_t>(std::int64_t width)> lines;
  std::function<std::vector<std::int64_t>(const Cuts&)> cells;
};

template <class V, class Kept>
EntryCounts counts_of(const std::shared_ptr<Comm>& comm, TileEntries<V> here, Kept kept) {
  const auto shared = std::make_shared<const TileEntries<V>>(std::move(here));
  return {shared->rows, shared->cols,
          [comm, shared, kept](std::int64_t width) { return count_lines(*comm, *shared, width); },
          [comm, shared, kept](const Cuts& cuts) {
            return count_cells<V>(*comm, *shared, cuts.first, cuts.second);
          }};
}

EntryCounts counts_of_whole(const std::shared_ptr<Comm>& comm, const Matrix& a) {
  return with_csr(a, [&]<class V>(const Csr<V>& csr) {
    for (const Place place : {csr.indptr.place, csr.indices.place}) check(InCore{}, place);
    return counts_of(comm, share_of_whole(*comm, csr), csr);
  });
}

EntryCounts counts_of_rows(const std::shared_ptr<Comm>& comm, const Matrix& a, std::int64_t first_row,
                           std::int64_t rows) {
  return with_csr(a, [&]<class V>(const Csr<V>& csr) {
    require(0 <= first_row && first_row + csr.rows <= rows, "rows of tiles are outside the matrix");
    return counts_of(comm, entries_of_rows(csr.view(), first_row, rows), csr);
  });
}

EntryCounts counts_of_dist(const DistMatrix& a) {
  return visit(a, [&]<class V>(const DistProduct<V>& product) {
    const nb::gil_scoped_release release;
    const auto& d = product.matrix();
    return counts_of(d.comm, entries_of_dist(d), std::pair{d.local, d.halo});
  });
}

nb::object as_counts(const std::vector<std::int64_t>& found) {
  auto out = allocate<std::int64_t>(std::ssize(found));
  std::copy(found.begin(), found.end(), out.data);
  return as_numpy<std::int64_t>(out);
}

nb::object line_counts(const EntryCounts& counts, std::int64_t width) {
  require(width > 0, "lines: a width of at least 1");
  std::vector<std::int64_t> found;
  {
    const nb::gil_scoped_release release;
    found = counts.lines(width);
  }
  return as_counts(found);
}

nb::object cell_counts(const EntryCounts& counts, const Cuts& cuts) {
  std::vector<std::int64_t> found;
  {
    const nb::gil_scoped_release release;
    found = counts.cells(cuts);
  }
  return as_counts(found);
}

}  // namespace

void tile_sources(nb::module_& m) {
  using nb::arg;
  m.def("tiles_of_whole", tiles_of_whole, arg("comm"), arg("a"), arg("tile_rows"), arg("tile_cols"),
        arg("grid"), arg("transport"), arg("device"), arg("cuts") = Cuts{});
  m.def("tiles_of_dense", tiles_of_dense, arg("comm"), arg("a"), arg("tile_rows"), arg("tile_cols"),
        arg("grid"), arg("transport"), arg("device"), arg("cuts") = Cuts{});
  m.def("tiles_of_rows", tiles_of_rows, arg("comm"), arg("a"), arg("first_row"), arg("rows"),
        arg("tile_rows"), arg("tile_cols"), arg("grid"), arg("transport"), arg("device"),
        arg("cuts") = Cuts{});
  m.def("tiles_of_dist", tiles_of_dist, arg("a"), arg("tile_rows"), arg("tile_cols"), arg("grid"),
        arg("transport"), arg("device"), arg("cuts") = Cuts{});
  nb::class_<EntryCounts>(m, "EntryCounts")
      .def_prop_ro("shape", [](const EntryCounts& c) { return nb::make_tuple(c.rows, c.cols); })
      .def("lines", line_counts, arg("width"))
      .def("cells", cell_counts, arg("cuts"));
  m.def("entries_of_whole", counts_of_whole, arg("comm"), arg("a"));
  m.def("entries_of_rows", counts_of_rows, arg("comm"), arg("a"), arg("first_row"), arg("rows"));
  m.def("entries_of_dist", counts_of_dist, arg("a"));
}

}  // namespace penstock::bind
