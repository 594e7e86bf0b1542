// The generators that a GPU can run: (matrix in its memory, what it took).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/io/generate/generate_gpu.hpp"
#include "penstock/io/generate/generate_lift.hpp"

namespace penstock::bind {
namespace {

OnGpu target(int gpu, std::int64_t memory) {
  require(gpu >= 0 && gpu <= 0x7fff,
          "device = " + std::to_string(gpu) + " is not a GPU: they are numbered from 0");
  require(memory >= 0, "memory = " + std::to_string(memory) + " bytes are negative: 0 is what is free");
  return {gpu, memory};
}

template <class V>
std::pair<Matrix, nb::dict> both(const MadeOnGpu<V>& made) {
  nb::dict took;
  took["passes"] = made.passes;
  took["peak_bytes"] = made.peak_bytes;
  return {Matrix{made.matrix}, took};
}

/// make.operator()<V>() for the value type of that name.
template <class Make>
std::pair<Matrix, nb::dict> made_of_type(const std::string& dtype, Make&& make) {
  const auto run = [&]<class V>() {
    const nb::gil_scoped_release release;
    return make.template operator()<V>();
  };
  if (dtype == "bool") return both(run.template operator()<One>());
  if (dtype == "float32") return both(run.template operator()<float>());
  if (dtype == "float64") return both(run.template operator()<double>());
  throw Error(Errc::invalid_argument,
              "dtype = " + dtype + " is not bool (a pattern), float32 or float64: use astype after");
}

}  // namespace

void generate_gpu(nb::module_& m) {
  using nb::arg;
  m.def(
      "generate_rmat_gpu",
      [](int scale, double edge_factor, double a, double b, double c, bool undirected, bool self_loops,
         bool scramble, const std::string& dtype, std::uint64_t seed, int gpu, std::int64_t memory) {
        const RmatOptions options{scale, edge_factor, a, b, c, undirected, self_loops, scramble, seed};
        return made_of_type(dtype,
                            [&]<class V> { return generate_rmat_on<V>(target(gpu, memory), options); });
      },
      arg("scale"), arg("edge_factor"), arg("a"), arg("b"), arg("c"), arg("undirected"), arg("self_loops"),
      arg("scramble"), arg("dtype"), arg("seed"), arg("gpu"), arg("memory") = 0,
      "(the matrix of generate_rmat in the memory of GPU `gpu`, {passes, peak_bytes}); memory bounds the "
      "bytes it takes.");
  m.def(
      "generate_uniform_gpu",
      [](std::int64_t rows, std::int64_t cols, double nnz_per_row, const std::string& dtype,
         std::uint64_t seed, int gpu, std::int64_t memory) {
        const UniformOptions options{rows, cols, nnz_per_row, seed};
        return made_of_type(dtype,
                            [&]<class V> { return generate_uniform_on<V>(target(gpu, memory), options); });
      },
      arg("rows"), arg("cols"), arg("nnz_per_row"), arg("dtype"), arg("seed"), arg("gpu"), arg("memory") = 0,
      "(the matrix of generate_uniform in the memory of GPU `gpu`, {passes, peak_bytes}).");
  m.def(
      "generate_lift_gpu",
      [](const Matrix& a, std::int64_t copies, double mix, std::uint64_t seed, int gpu, std::int64_t memory) {
        return std::visit(
            [&]<class V>(const Csr<V>& c) {
              require_host(c, "lift");
              MadeOnGpu<V> made;
              {
                const nb::gil_scoped_release release;
                made = generate_lift_on(target(gpu, memory), c, {copies, mix, seed});
              }
              return both(made);
            },
            a.any());
      },
      arg("a"), arg("copies"), arg("mix"), arg("seed"), arg("gpu"), arg("memory") = 0,
      "(the matrix of generate_lift, of a matrix in host memory, in the memory of GPU `gpu`, {passes, "
      "peak_bytes}).");
}

}  // namespace penstock::bind
