// The generators. Each takes plain numbers and the name of a value type, and returns a matrix.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_bter.hpp"
#include "penstock/io/generate/generate_lift.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/generate/generate_rmat_among.hpp"
#include "penstock/io/generate/generate_road.hpp"
#include "penstock/io/generate/generate_stencil.hpp"
#include "penstock/io/generate/generate_uniform.hpp"
#include "penstock/io/generate/models/generate_models.hpp"

namespace penstock::bind {
namespace {

/// make.operator()<V>() for the value type of that name.
template <class Make>
Matrix of_type(const std::string& dtype, Make&& make) {
  const nb::gil_scoped_release release;
  if (dtype == "bool") return {make.template operator()<One>()};
  if (dtype == "float32") return {make.template operator()<float>()};
  if (dtype == "float64") return {make.template operator()<double>()};
  throw Error(Errc::invalid_argument,
              "dtype = " + dtype + " is not bool (a pattern), float32 or float64: use astype after");
}

Matrix rmat(int scale, double edge_factor, double a, double b, double c, bool undirected, bool self_loops,
            bool scramble, const std::string& dtype, std::uint64_t seed, const KeptRows* keep) {
  const RmatOptions options{scale, edge_factor, a, b, c, undirected, self_loops, scramble, seed};
  if (keep)
    return of_type(dtype, [&]<class V> {
      return with_uniform_values<V>(generate_rmat(options, *keep), seed, undirected, *keep);
    });
  return of_type(dtype,
                 [&]<class V> { return with_uniform_values<V>(generate_rmat(options), seed, undirected); });
}

/// The same of the rows that a rank of `comm` has by `p`: all ranks draw, each a part of the edges.
Matrix rmat_among(const std::shared_ptr<Comm>& comm, const Partition& p, int scale, double edge_factor,
                  double a, double b, double c, bool undirected, bool self_loops, bool scramble,
                  const std::string& dtype, std::uint64_t seed, const KeptRows& keep) {
  const RmatOptions options{scale, edge_factor, a, b, c, undirected, self_loops, scramble, seed};
  return of_type(dtype, [&]<class V> {
    return with_uniform_values<V>(generate_rmat_among(*comm, options, p, keep), seed, undirected, keep);
  });
}

Matrix bter(const std::vector<std::int64_t>& degrees, const std::vector<double>& clustering, bool scramble,
            const std::string& dtype, std::uint64_t seed) {
  const BterOptions options{scramble, seed};
  return of_type(dtype, [&]<class V> {
    return with_uniform_values<V>(generate_bter(degrees, clustering, options), seed, true);
  });
}

Matrix uniform(std::int64_t rows, std::int64_t cols, double nnz_per_row, const std::string& dtype,
               std::uint64_t seed, const KeptRows* keep) {
  const UniformOptions options{rows, cols, nnz_per_row, seed};
  if (keep)
    return of_type(dtype, [&]<class V> {
      return with_uniform_values<V>(generate_uniform(options, *keep), seed, false, *keep);
    });
  return of_type(dtype,
                 [&]<class V> { return with_uniform_values<V>(generate_uniform(options), seed, false); });
}

Matrix banded(std::int64_t n, const std::vector<std::int64_t>& offsets, const std::string& dtype,
              std::uint64_t seed, const KeptRows* keep) {
  if (keep)
    return of_type(dtype, [&]<class V> {
      return with_uniform_values<V>(generate_banded(n, offsets, *keep), seed, false, *keep);
    });
  return of_type(dtype,
                 [&]<class V> { return with_uniform_values<V>(generate_banded(n, offsets), seed, false); });
}

Matrix advection_diffusion(std::int64_t n, double a, double b, double c, const std::string& dtype,
                           const KeptRows* keep) {
  if (keep)
    return of_type(dtype, [&]<class V> { return generate_advection_diffusion<V>(n, {a, b, c}, *keep); });
  return of_type(dtype, [&]<class V> { return generate_advection_diffusion<V>(n, {a, b, c}); });
}

Matrix laplacian(const std::vector<std::int64_t>& extents, const std::string& dtype, const KeptRows* keep) {
  if (keep) return of_type(dtype, [&]<class V> { return generate_laplacian<V>(extents, *keep); });
  return of_type(dtype, [&]<class V> { return generate_laplacian<V>(extents); });
}

Matrix road_grid(std::int64_t nx, std::int64_t ny, double removed, double diagonals, const std::string& dtype,
                 std::uint64_t seed) {
  const RoadOptions options{nx, ny, removed, diagonals, seed};
  return of_type(dtype, [&]<class V> { return generate_road<V>(options); });
}

Matrix lift(const Matrix& a, std::int64_t copies, double mix, std::uint64_t seed) {
  return std::visit(
      [&](const auto& c) -> Matrix {
        require_host(c, "lift");
        const nb::gil_scoped_release release;
        return {generate_lift(c, {copies, mix, seed})};
      },
      a.any());
}

nb::tuple geometric(std::int64_t n, double radius, bool scramble, const std::string& dtype,
                    std::uint64_t seed) {
  Array<const double> xy;
  const auto a = of_type(dtype, [&]<class V> {
    const auto made = generate_geometric<V>({n, radius, scramble, seed});
    xy = made.xy;
    return made.graph;
  });
  return nb::make_tuple(a, as_numpy(xy));
}

/// An undirected pattern, with the values of with_uniform_values.
template <class Make>
Matrix weighted(const std::string& dtype, std::uint64_t seed, Make&& make) {
  return of_type(dtype, [&]<class V> { return with_uniform_values<V>(make(), seed, true); });
}

/// The graphs of generate_models.hpp.
void models(nb::module_& m) {
  using nb::arg;
  m.def("generate_geometric", geometric, arg("n"), arg("radius"), arg("scramble"), arg("dtype"), arg("seed"),
        "(graph, x and y of each vertex in turn)");
  m.def(
      "generate_attachment",
      [](std::int64_t n, std::int64_t k, const std::string& dtype, std::uint64_t seed) {
        return weighted(dtype, seed, [&] { return generate_attachment(n, k, seed); });
      },
      arg("n"), arg("m"), arg("dtype"), arg("seed"));
  m.def(
      "generate_blocks",
      [](const std::vector<std::int64_t>& sizes, const std::vector<double>& p, const std::string& dtype,
         std::uint64_t seed) {
        return weighted(dtype, seed, [&] { return generate_blocks(sizes, p, seed); });
      },
      arg("sizes"), arg("p"), arg("dtype"), arg("seed"));
  m.def(
      "generate_planted",
      [](std::int64_t groups, std::int64_t size, double p_in, double p_out, const std::string& dtype,
         std::uint64_t seed) {
        return weighted(dtype, seed, [&] { return generate_planted(groups, size, p_in, p_out, seed); });
      },
      arg("groups"), arg("size"), arg("p_in"), arg("p_out"), arg("dtype"), arg("seed"));
  m.def(
      "generate_small_world",
      [](std::int64_t n, std::int64_t k, double p, const std::string& dtype, std::uint64_t seed) {
        return weighted(dtype, seed, [&] { return generate_small_world(n, k, p, seed); });
      },
      arg("n"), arg("k"), arg("p"), arg("dtype"), arg("seed"));
}

}  // namespace

void generate(nb::module_& m) {
  using nb::arg;
  nb::class_<KeptRows>(m, "KeptRows",
                       "Some rows, and a range of columns, of a matrix that is never made as a whole.");
  m.def(
      "kept_range",
      [](std::int64_t first, std::int64_t count, std::int64_t first_col, std::int64_t last_col) {
        return KeptRows{.first = first, .count = count, .first_col = first_col, .last_col = last_col};
      },
      arg("first"), arg("count"), arg("first_col"), arg("last_col"));
  m.def("kept_rows", kept_rows, arg("partition"), arg("part"), nb::call_guard<nb::gil_scoped_release>());
  m.def("generate_rmat", rmat, arg("scale"), arg("edge_factor"), arg("a"), arg("b"), arg("c"),
        arg("undirected"), arg("self_loops"), arg("scramble"), arg("dtype"), arg("seed"),
        arg("keep").none() = nb::none());
  m.def("generate_rmat_among", rmat_among, arg("comm"), arg("partition"), arg("scale"), arg("edge_factor"),
        arg("a"), arg("b"), arg("c"), arg("undirected"), arg("self_loops"), arg("scramble"), arg("dtype"),
        arg("seed"), arg("keep"));
  m.def("generate_bter", bter, arg("degrees"), arg("clustering"), arg("scramble"), arg("dtype"), arg("seed"));
  m.def("ideal_degrees", ideal_degrees, arg("vertices"), arg("average"), arg("max_degree"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "ideal_clustering",
      [](const std::vector<std::int64_t>& degrees, double max_clustering, double global) {
        return ideal_clustering(degrees, max_clustering, global);
      },
      arg("degrees"), arg("max_clustering"), arg("clustering"));
  m.def("generate_uniform", uniform, arg("rows"), arg("cols"), arg("nnz_per_row"), arg("dtype"), arg("seed"),
        arg("keep").none() = nb::none());
  m.def("generate_banded", banded, arg("n"), arg("offsets"), arg("dtype"), arg("seed"),
        arg("keep").none() = nb::none());
  m.def("generate_advection_diffusion", advection_diffusion, arg("n"), arg("a"), arg("b"), arg("c"),
        arg("dtype"), arg("keep").none() = nb::none());
  m.def("generate_laplacian", laplacian, arg("extents"), arg("dtype"), arg("keep").none() = nb::none());
  m.def("generate_road", road_grid, arg("nx"), arg("ny"), arg("removed"), arg("diagonals"), arg("dtype"),
        arg("seed"));
  m.def("generate_lift", lift, arg("a"), arg("copies"), arg("mix"), arg("seed"));
  models(m);
}

}  // namespace penstock::bind
