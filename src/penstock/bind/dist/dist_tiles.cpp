// Tiles of distributed matrices, plans of their products, and the products.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/dist/dist_tiles.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/tile/one_sided.hpp"
#include "penstock/dist/tile/tile_cover.hpp"
#include "penstock/dist/tile/tile_spans.hpp"

namespace penstock::bind {
namespace {

/// A tile, or the whole, as Python holds it: a Matrix or an array.
template <class T>
nb::object as_array(const Array<T>& a, std::int64_t rows, std::int64_t cols) {
  auto* owner = new std::shared_ptr<void>(a.owner);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(
      a.data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)}, keep));
}

/// Rows of a dense tile that is here.
nb::object copied_rows(TileValue value, const TileHere& here, std::int64_t cols, std::int64_t first,
                       std::int64_t end) {
  return with_value(value, [&]<class V>(V) -> nb::object {
    if constexpr (is_pattern<V>) refuse_values();
    else {
      const auto count = (end - first) * cols;
      auto out = allocate<V>(count);
      if (count > 0) std::copy_n(reinterpret_cast<const V*>(here.data()) + first * cols, count, out.data);
      return as_array(out, end - first, cols);
    }
  });
}

nb::object rows_of_tile(TileMatrix& t, std::int64_t i, std::int64_t j, std::int64_t first, std::int64_t end) {
  TileHere here;
  {
    const nb::gil_scoped_release release;
    here = t.get_rows_on_host(i, j, {first, end});
  }
  return copied_rows(t.map().value, here, t.map().at(i, j).cols, first, end);
}

nb::object tile(TileMatrix& t, std::int64_t i, std::int64_t j) {
  TileHere here;
  {
    const nb::gil_scoped_release release;
    here = t.get_on_host(i, j);
  }
  const auto& at = here.tile();
  if (!t.map().sparse) return copied_rows(t.map().value, here, at.cols, 0, at.rows);
  return with_value(t.map().value, [&]<class V>(V) -> nb::object {
    if constexpr (std::same_as<V, std::uint8_t>) refuse_values();
    else {
      const auto view = csr_of<V>(here.data(), at);
      auto blob = allocate<std::byte>(t.map().bytes(i, j));
      write_csr(view, blob.data);
      const auto copy = csr_of<V>(blob.data, at);
      Csr<V> csr{at.rows,
                 at.cols,
                 {copy.indptr, at.rows + 1, {}, blob.owner},
                 {copy.indices, at.nnz, {}, blob.owner},
                 {}};
      if constexpr (!is_pattern<V>) csr.values = {copy.values, at.nnz, {}, blob.owner};
      return nb::cast(Matrix(AnyCsr(std::move(csr))));
    }
  });
}

nb::object whole(TileMatrix& t) {
  const auto& map = t.map();
  return with_value(map.value, [&]<class V>(V) -> nb::object {
    if (map.sparse) {
      if constexpr (std::same_as<V, std::uint8_t>) refuse_values();
      else {
        Csr<V> csr;
        {
          const nb::gil_scoped_release release;
          csr = whole_of<V>(t);
          t.transport()->barrier();  // no rank frees tiles that others still fetch
        }
        return nb::cast(Matrix(AnyCsr(std::move(csr))));
      }
    } else {
      if constexpr (is_pattern<V>) refuse_values();
      else {
        auto out = allocate<V>(map.rows * map.cols);
        {
          const nb::gil_scoped_release release;
          whole_of_dense(t, reinterpret_cast<std::byte*>(out.data));
          t.transport()->barrier();
        }
        return as_array(out, map.rows, map.cols);
      }
    }
  });
}

void replace_tile(TileMatrix& t, std::int64_t i, std::int64_t j, const Dense& a) {
  require(value_of(a) == t.map().value, "replace_tile: the array has another type than the tiles");
  const auto& map = t.map();
  require(0 <= i && i < map.down() && 0 <= j && j < map.across(), "replace_tile: there is no such tile");
  require(static_cast<std::int64_t>(a.shape(0)) == map.at(i, j).rows &&
              static_cast<std::int64_t>(a.shape(1)) == map.at(i, j).cols,
          "replace_tile: the tile has shape " + std::to_string(map.at(i, j).rows) + " x " +
              std::to_string(map.at(i, j).cols));
  const nb::gil_scoped_release release;
  t.replace_tile(i, j, static_cast<const std::byte*>(a.data()));
}

void renew_tiles(TileMatrix& t, const std::vector<std::pair<std::int64_t, const Matrix*>>& tiles) {
  std::map<std::int64_t, Offset> entries;
  std::map<std::int64_t, const Matrix*> found;
  for (const auto& [n, m] : tiles) {
    require(0 <= n && n < std::ssize(t.map().tiles), "renew_tiles: there is no such tile");
    const auto& at = t.map().tiles[static_cast<std::size_t>(n)];
    with_csr(*m, [&]<class V>(const Csr<V>& csr) {
      require(tile_value<V>() == t.map().value && csr.rows == at.rows && csr.cols == at.cols,
              "renew_tiles: tile " + std::to_string(n) + " has " + std::to_string(at.rows) + " x " +
                  std::to_string(at.cols) + " entries of the matrix's type: give the same");
      entries[n] = csr.nnz();
    });
    found[n] = m;
  }
  const nb::gil_scoped_release release;
  t.renew_tiles(entries, [&](std::int64_t i, std::int64_t j, std::byte* blob) {
    with_csr(
        *found.at(t.map().number(i, j)), [&]<class V>(const Csr<V>& csr) { write_csr(csr.view(), blob); },
        release);
  });
}

template <class T, class F>
nb::object column(const std::vector<TileProduct>& products, F&& f) {
  auto out = allocate<T>(std::ssize(products));
  for (std::size_t p = 0; p < products.size(); ++p) out.data[p] = static_cast<T>(f(products[p]));
  return as_numpy<T>(out);
}

/// A plan with the directory of C, which its text and its loads need.
struct Plan {
  MultiplyPlan plan;
  TileMap c;
};

nb::dict products_of(const Plan& p) {
  nb::dict d;
  const auto add = [&]<class T>(const char* name, T TileProduct::*member) {
    d[name] = column<T>(p.plan.products, [=](const TileProduct& x) { return x.*member; });
  };
  add("i", &TileProduct::i), add("k", &TileProduct::k), add("j", &TileProduct::j);
  add("owner", &TileProduct::owner), add("flops", &TileProduct::flops);
  add("fetched", &TileProduct::fetched), add("sent", &TileProduct::sent);
  add("far_fetched", &TileProduct::far_fetched), add("far_sent", &TileProduct::far_sent);
  add("parts", &TileProduct::parts);
  d["first_part"] = column<std::int32_t>(p.plan.products, [](const TileProduct& x) { return x.first_part; });
  d["end_part"] = column<std::int32_t>(p.plan.products,
                                       [](const TileProduct& x) { return x.first_part + x.parts_here(); });
  return d;
}

Plan plan_of(const TileMap& a, const TileMap& b, const std::string& kept, int replicas) {
  auto c = product_map(a, b, b.sparse ? a.value : b.value);
  auto plan = plan_multiply(a, b, c, stationary(kept), {}, nullptr, replicas);
  return {std::move(plan), std::move(c)};
}

nb::dict times_of(const TileTimes& t) {
  nb::dict d;
  d["seconds"] = t.seconds, d["prepare"] = t.prepare, d["compute"] = t.compute,
  d["communication"] = t.communication;
  d["accumulation"] = t.accumulation, d["imbalance"] = t.imbalance, d["own"] = t.own, d["stolen"] = t.stolen;
  d["fetched_bytes"] = t.fetched, d["sent_bytes"] = t.sent, d["received_bytes"] = t.received,
  d["flops"] = t.flops, d["counted_bytes"] = t.counted;
  d["far_fetched_bytes"] = t.far_fetched, d["far_sent_bytes"] = t.far_sent;
  if (!t.broadcasts.empty()) d["broadcasts"] = t.broadcasts;
  return d;
}

nb::tuple multiply_tiles(TileMatrix& a, TileMatrix& b, const std::string& algorithm,
                         const std::string& stealing, int prefetch, const std::string& semiring,
                         std::int64_t memory, std::uint64_t seed, TileMatrix* mask, int replicas,
                         const std::vector<int>& nodes, double flops_per_byte) {
  TileMultiplyOptions options{.semiring = semiring, .prefetch = prefetch, .memory = memory, .seed = seed};
  options.flops_per_byte = flops_per_byte;
  options.steal = steal(stealing);
  options.mask = mask, options.replicas = replicas, options.nodes = nodes;
  if (algorithm != "summa") options.kept = stationary(algorithm);
  std::shared_ptr<TileMatrix> c;
  Plan plan;
  TileTimes times;
  {
    const nb::gil_scoped_release release;
    auto result = algorithm == "summa" ? multiply_summa(a, b, options) : multiply_one_sided(a, b, options);
    plan = {std::move(result.plan), result.c.map()};
    times = result.times;
    c = std::make_shared<TileMatrix>(std::move(result.c));
  }
  return nb::make_tuple(c, plan, times_of(times));
}

/// The directories of both parts of A: what is multiplied where C is, and where B is. None: no memory for them.
nb::object split_maps(TileMatrix& a) {
  const auto split = [&] {
    const nb::gil_scoped_release release;
    return split_if_it_fits(a);
  }();
  if (!split) return nb::none();
  return nb::make_tuple(split->at_c.map(), split->at_b.map());
}

std::string dtype_of(TileValue value) {
  return with_value(value, []<class V>(V) -> std::string {
    if constexpr (std::same_as<V, std::uint8_t>) return "uint8";
    else return dtype_name<V>();
  });
}

std::string dtype_of_product(const TileMatrix& a, const TileMatrix& b, const std::string& semiring) {
  return dtype_of(local_product(semiring, a.map().value, b.map().value, b.map().sparse)->result());
}

nb::object numbers(const std::vector<double>& from) {
  auto out = allocate<double>(std::ssize(from));
  std::copy(from.begin(), from.end(), out.data);
  return as_numpy<double>(out);
}

std::unique_ptr<RowNeeds> needs_of_rows(TileMatrix& a, TileMatrix& b, const std::string& kept, int prefetch,
                                        const std::string& semiring, TileMatrix* mask, int replicas,
                                        const std::vector<int>& nodes) {
  TileMultiplyOptions options{.semiring = semiring, .prefetch = prefetch};
  options.mask = mask, options.replicas = replicas, options.nodes = nodes;
  if (kept != "summa") options.kept = stationary(kept);
  const nb::gil_scoped_release release;
  return std::make_unique<RowNeeds>(a, b, options);
}

/// For each tile: where its rows and columns with entries begin and end, and, as left factor of a dense tile whose rows have at
/// least kLeastRow bytes, how many rows travel of a sum and of that tile.
nb::object spans_of(const TileMap& map) {
  auto out = allocate<std::int64_t>(6 * std::ssize(map.tiles));
  auto* to = out.data;
  for (const auto& t : map.tiles) {
    const auto rows = t.row_span(), cols = t.col_span();
    for (const auto& s : {rows, cols}) *to++ = s.first, *to++ = s.end;
    for (const auto& [met, all] : {std::pair{t.rows_met, rows}, std::pair{t.cols_met, cols}})
      *to++ = map.gathers && met >= 0 && worth_naming(met, all, kLeastRow) ? met : all.size();
  }
  return as_numpy<std::int64_t>(out);
}

nb::object spans_of_whole(const Matrix& a, std::int64_t tile_rows, std::int64_t tile_cols, bool gathers,
                          const Cuts& cuts) {
  return with_csr(a, [&]<class V>(const Csr<V>& csr) {
    auto map = tile_map(csr.rows, csr.cols, tile_rows, tile_cols, {1, 1}, tile_value<V>(), true, cuts.first,
                        cuts.second);
    map.gathers = gathers;
    {
      const nb::gil_scoped_release release;
      find_spans(csr.view(), map);
    }
    return spans_of(map);
  });
}

/// A directory from shapes alone and, where it is sparse, the entries of each tile. It is cheap, and needs no ranks.
TileMap map_of(std::int64_t rows, std::int64_t cols, std::int64_t tile_rows, std::int64_t tile_cols,
               Grid grid, const std::string& dtype, const nb::object& nnz, const Cuts& cuts) {
  const auto value = dtype == "bool"      ? TileValue::pattern
                     : dtype == "uint8"   ? TileValue::byte
                     : dtype == "float32" ? TileValue::float32
                                          : TileValue::float64;
  auto map = tile_map(rows, cols, tile_rows, tile_cols, {grid.first, grid.second}, value, !nnz.is_none(),
                      cuts.first, cuts.second);
  if (nnz.is_none()) return map;
  const auto given = nb::cast<ReadArray<Offset>>(nnz);
  require(given.shape(0) == map.tiles.size(),
          "nnz: one number for each of the " + std::to_string(map.tiles.size()) + " tiles");
  for (std::size_t n = 0; n < map.tiles.size(); ++n) map.tiles[n].nnz = given.data()[n];
  return map;
}

/// Where tiles begin, and the end.
template <class First>
nb::object cuts_of(std::int64_t tiles, const First& first) {
  auto out = allocate<std::int64_t>(tiles + 1);
  for (std::int64_t n = 0; n <= tiles; ++n) out.data[n] = first(n);
  return as_numpy<std::int64_t>(out);
}

nb::object nnz_of(const TileMap& t) {
  auto out = allocate<Offset>(std::ssize(t.tiles));
  for (std::size_t n = 0; n < t.tiles.size(); ++n) out.data[n] = t.tiles[n].nnz;
  return as_numpy<Offset>(out);
}

std::int64_t bytes_of_tile(const TileMap& t, std::int64_t i, std::int64_t j) {
  require(0 <= i && i < t.down() && 0 <= j && j < t.across(), "there is no such tile");
  return t.bytes(i, j);
}

nb::list loads_of(const Plan& p) {
  nb::list out;
  for (const auto& l : loads(p.plan, p.c)) {
    nb::dict d;
    d["products"] = l.products, d["fetched"] = l.fetched, d["sent"] = l.sent, d["received"] = l.received;
    d["flops"] = l.flops, d["far_fetched"] = l.far_fetched, d["far_sent"] = l.far_sent;
    out.append(d);
  }
  return out;
}

/// What the ranks of nodes share: copies of tiles of A and B, sums for tiles of C.
nb::list shared_of(const Plan& p) {
  nb::list out;
  const auto add = [&](const char* of, int node, std::int64_t tile, int rank, std::int64_t bytes) {
    nb::dict d;
    d["of"] = of, d["node"] = node, d["tile"] = tile, d["rank"] = rank, d["bytes"] = bytes;
    out.append(d);
  };
  for (const auto& c : p.plan.copies) add(c.of_a ? "A" : "B", c.node, c.tile, c.rank, c.bytes);
  for (const auto& s : p.plan.sums) add("C", s.node, s.tile, s.rank, s.bytes);
  return out;
}

int device_of(const TileMatrix& t) {
  if (t.where().is_gpu()) return t.where().gpu;
  return t.on_device() ? kCpuAsDevice : kNoDevice;
}

Grid bound_square_grid(int ranks) {
  const auto g = square_grid(ranks);
  return {g.rows, g.cols};
}

using nb::arg;

void add_map(nb::module_& m) {
  nb::class_<TileMap>(m, "TileMap")
      .def_prop_ro("shape", [](const TileMap& t) { return nb::make_tuple(t.rows, t.cols); })
      .def_prop_ro("tile_shape", [](const TileMap& t) { return nb::make_tuple(t.tile_rows, t.tile_cols); })
      .def_prop_ro("tiles", [](const TileMap& t) { return nb::make_tuple(t.down(), t.across()); })
      .def_prop_ro("row_cuts",
                   [](const TileMap& t) { return cuts_of(t.down(), [&](auto n) { return t.first_row(n); }); })
      .def_prop_ro(
          "col_cuts",
          [](const TileMap& t) { return cuts_of(t.across(), [&](auto n) { return t.first_col(n); }); })
      .def_prop_ro("grid", [](const TileMap& t) { return nb::make_tuple(t.grid.rows, t.grid.cols); })
      .def_ro("sparse", &TileMap::sparse)
      .def_ro("gathers", &TileMap::gathers)
      .def_prop_ro("dtype", [](const TileMap& t) { return dtype_of(t.value); })
      .def_prop_ro("nnz", nnz_of)
      .def_prop_ro("spans", spans_of)
      .def("owner", &TileMap::owner, arg("i"), arg("j"))
      .def("bytes", bytes_of_tile, arg("i"), arg("j"))
      .def("__repr__", &TileMap::text);
  m.def("least_row_bytes", [] { return kLeastRow; });
  m.def("tile_spans", spans_of_whole, arg("a"), arg("tile_rows"), arg("tile_cols"), arg("gathers") = true,
        arg("cuts") = Cuts{});
  m.def("tile_map", map_of, arg("rows"), arg("cols"), arg("tile_rows"), arg("tile_cols"), arg("grid"),
        arg("dtype"), arg("nnz").none(), arg("cuts") = Cuts{});
}

void add_plan(nb::module_& m) {
  nb::class_<Plan>(m, "TilePlan")
      .def_prop_ro("products", products_of)
      .def_prop_ro("stationary", [](const Plan& p) { return std::string(name(p.plan.kept)); })
      .def_prop_ro("tiles", [](const Plan& p) { return nb::make_tuple(p.plan.m, p.plan.k, p.plan.n); })
      .def_prop_ro("skipped", [](const Plan& p) { return p.plan.skipped; })
      .def_prop_ro("dealt", [](const Plan& p) { return p.plan.dealt; })
      .def_prop_ro("undealt", [](const Plan& p) { return p.plan.undealt; })
      .def_prop_ro("loads", loads_of)
      .def_prop_ro("shared", shared_of)
      .def(
          "text", [](const Plan& p, std::int64_t n) { return text(p.plan, p.c, n); }, arg("most") = 20)
      .def("__repr__", [](const Plan& p) { return text(p.plan, p.c); });
  m.def("tile_plan", plan_of, arg("a"), arg("b"), arg("stationary"), arg("replicas") = 1);
}

void add_tiles(nb::module_& m) {
  nb::class_<TileMatrix>(m, "TileMatrix")
      .def_prop_ro("comm", [](const TileMatrix& t) { return t.comm(); })
      .def_prop_ro("map", [](const TileMatrix& t) { return t.map(); })
      .def_prop_ro("device", device_of)
      .def_prop_ro("transport", [](const TileMatrix& t) { return t.transport()->name(); })
      .def("tile", tile, arg("i"), arg("j"))
      .def("rows_of_tile", rows_of_tile, arg("i"), arg("j"), arg("first"), arg("end"))
      .def("whole", whole)
      .def("replace_tile", replace_tile, arg("i"), arg("j"), arg("a"))
      .def("gathers_rows", &TileMatrix::gather_rows, arg("wanted"),
           "False: all rows from the first to the last travel from now on, and whole sparse tiles, for a "
           "comparison. On all ranks alike.")
      .def("renew_tiles", renew_tiles, arg("tiles"))
      .def_prop_ro("is_split", [](TileMatrix& t) { return t.split() != nullptr; })
      .def("drop_split", [](TileMatrix& t) { t.split() = nullptr; })
      .def("rows_of_tiles", &TileMatrix::rows_of_tiles, arg("first"), arg("last"))
      .def(
          "barrier", [](TileMatrix& t) { t.transport()->barrier(); },
          nb::call_guard<nb::gil_scoped_release>());
  m.def("square_grid", bound_square_grid, arg("ranks"));
}

void add_products(nb::module_& m) {
  nb::class_<RowNeeds>(m, "TileRowNeeds")
      .def_prop_ro("rows", [](const RowNeeds& n) { return numbers(n.rows()); })
      .def_prop_ro("landings", &RowNeeds::landings)
      .def(
          "shared",
          [](const RowNeeds& n, std::int64_t first, std::int64_t last) {
            return numbers(n.shared(first, last));
          },
          arg("first"), arg("last"));
  m.def("tile_row_needs", needs_of_rows, nb::keep_alive<0, 6>(), arg("a"), arg("b"), arg("algorithm"),
        arg("prefetch"), arg("semiring"), arg("mask").none(), arg("replicas") = 1,
        arg("nodes") = std::vector<int>{});
  m.def("tile_split_maps", split_maps, arg("a"));
  m.def("tile_product_dtype", dtype_of_product, arg("a"), arg("b"), arg("semiring"));
  m.def("tiles_multiply", multiply_tiles, arg("a"), arg("b"), arg("algorithm"), arg("steal"), arg("prefetch"),
        arg("semiring"), arg("memory"), arg("seed"), arg("mask").none(), arg("replicas") = 1,
        arg("nodes") = std::vector<int>{}, arg("flops_per_byte") = -1.0);
}

}  // namespace

void dist_tiles(nb::module_& m) {
  add_map(m);
  add_plan(m);
  add_tiles(m);
  tile_sources(m);
  add_products(m);
}

}  // namespace penstock::bind
