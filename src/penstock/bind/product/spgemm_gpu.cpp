// The product of two sparse matrices on a GPU, its timing, and that of cuSPARSE's.
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/cusparse.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/bind/product/spgemm_factors.hpp"
#include "penstock/kernel/cusparse/cusparse_spgemm.hpp"

namespace penstock::bind {
namespace {

SpgemmGpuMethod method_of(const std::string& name) {
  if (name == "auto") return SpgemmGpuMethod::automatic;
  if (name == "hash") return SpgemmGpuMethod::hash;
  if (name == "bitmap") return SpgemmGpuMethod::bitmap;
  throw Error(Errc::invalid_argument, "method \"" + name + "\" is not one of auto, hash, bitmap");
}

template <class S>
bool try_gpu_spgemm(const Matrix& ma, const Matrix& mb, const std::string& semiring, const std::string& dtype,
                    int gpu, const SpgemmGpuOptions& options, AnyCsr& c) {
  CsrView<typename S::value_type> a, b;
  if (!named<S>(semiring, dtype) || !factor<S>(ma, gpu, a) || !factor<S>(mb, gpu, b)) return false;
  const nb::gil_scoped_release release;
  const OwnedStream stream(Where{gpu});
  c = spgemm_on<S>(a, b, stream, options);
  return true;
}

Matrix gpu_spgemm(const Matrix& a, const Matrix& b, const std::string& semiring, const std::string& dtype,
                  int gpu, const std::string& method, std::int64_t memory, std::int64_t chunk_rows,
                  std::int64_t window) {
  const SpgemmGpuOptions options{
      .memory = memory, .method = method_of(method), .chunk_rows = chunk_rows, .window = window};
  AnyCsr c;
#define X(S) \
  if (try_gpu_spgemm<S>(a, b, semiring, dtype, gpu, options, c)) return {std::move(c)};
  PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X
  refuse(semiring, dtype);
}

template <class S>
bool try_time_spgemm(const Matrix& ma, const Matrix& mb, const std::string& semiring,
                     const std::string& dtype, int repeats, int gpu, const std::string& method,
                     nb::object& seconds) {
  CsrView<typename S::value_type> a, b;
  if (!named<S>(semiring, dtype) || !factor<S>(ma, gpu, a) || !factor<S>(mb, gpu, b)) return false;
  std::vector<double> times;
  {
    const nb::gil_scoped_release release;
    const OwnedStream stream(Where{gpu});
    const SpgemmGpuOptions options{.pooled = true, .method = method_of(method)};
    times = time_runs(stream, repeats, [&] { spgemm_on<S>(a, b, stream, options); });
  }
  seconds = nb::cast(times);
  return true;
}

nb::object time_product(const Matrix& a, const Matrix& b, const std::string& semiring,
                        const std::string& dtype, int repeats, int gpu, const std::string& method) {
  nb::object seconds;
#define X(S) \
  if (try_time_spgemm<S>(a, b, semiring, dtype, repeats, gpu, method, seconds)) return seconds;
  PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X
  refuse(semiring, dtype);
}

/// X + Y where both are on the GPU: what sums of partial products are made of.
template <class S>
bool try_add(const Matrix& mx, std::int64_t first_x, const Matrix& my, std::int64_t first_y, int gpu,
             AnyCsr& sum) {
  using P = ProductValue<S>;
  const auto *x = std::get_if<Csr<P>>(&mx.unread()), *y = std::get_if<Csr<P>>(&my.unread());
  if (!x || !y) return false;
  mx.guard().look(), my.guard().look();
  readable_by(gpu, *x, "add_rows_gpu"), readable_by(gpu, *y, "add_rows_gpu");
  const nb::gil_scoped_release release;
  const OwnedStream stream(Where{gpu});
  sum = add_on<S>({x->view(), first_x}, {y->view(), first_y}, stream);
  return true;
}

Matrix add(const Matrix& x, std::int64_t first_x, const Matrix& y, std::int64_t first_y, int gpu) {
  AnyCsr sum;
#define X(S) \
  if (try_add<S>(x, first_x, y, first_y, gpu, sum)) return {std::move(sum)};
  PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X
  refuse("plus_times", "other types");
}

nb::dict count(const Matrix& ma, const Matrix& mb, int gpu) {
  CsrView<std::uint8_t> a, b;
  factor<OrAnd>(ma, gpu, a), factor<OrAnd>(mb, gpu, b);
  const auto pattern = [](const auto& m) {
    return CsrView<One>{
        .rows = m.rows, .cols = m.cols, .indptr = m.indptr, .indices = m.indices, .count = m.count};
  };
  const auto per_row = allocate<Offset>(a.rows);
  SpgemmGpuCounts counts;
  {
    const nb::gil_scoped_release release;
    const OwnedStream stream(Where{gpu});
    const auto there = allocate<Offset>(a.rows, {Memory::device, static_cast<std::int16_t>(gpu)});
    counts = spgemm_products(pattern(a), pattern(b), there.data, stream);
    copy_async(per_row.data, there.data, there.bytes(), stream);
    synchronize(stream);
  }
  nb::dict d;
  d["products"] = counts.products, d["bound"] = counts.bound, d["per_row"] = as_numpy<Offset>(per_row);
  return d;
}

template <class T>
bool try_cusparse(const Matrix& ma, const Matrix& mb, int number, int repeats, int gpu, nb::object& out) {
  const auto *a = std::get_if<Csr<T>>(&ma.unread()), *b = std::get_if<Csr<T>>(&mb.unread());
  if (!a || !b) return false;
  ma.guard().look(), mb.guard().look();
  std::vector<double> seconds;
  AnyCsr c;
  {
    const nb::gil_scoped_release release;
    cusparse::Spgemm<T> work(*a, *b, Where{gpu});
    const OwnedStream stream(Where{gpu});
    typename cusparse::Spgemm<T>::Product product;
    seconds = time_runs(stream, repeats, [&] {
      product = {};
      product = work.multiply(number, stream);
    });
    c = product.csr(stream);
  }
  out = nb::make_tuple(seconds, Matrix(std::move(c)));
  return true;
}

nb::object time_cusparse(const Matrix& a, const Matrix& b, const std::string& algorithm, int repeats,
                         int gpu) {
  open_cusparse();
  const int number = cusparse::spgemm_algorithm(algorithm);
  nb::object out;
  if (try_cusparse<float>(a, b, number, repeats, gpu, out) ||
      try_cusparse<double>(a, b, number, repeats, gpu, out))
    return out;
  throw Error(Errc::invalid_argument, "cuSPARSE multiplies here two matrices of float32, or two of float64");
}

}  // namespace

void spgemm_gpu(nb::module_& m) {
  m.def("spgemm_gpu", gpu_spgemm, nb::arg("a"), nb::arg("b"), nb::arg("semiring") = "plus_times",
        nb::arg("dtype") = "float64", nb::arg("gpu") = 0, nb::arg("method") = "auto", nb::arg("memory") = -1,
        nb::arg("chunk_rows") = std::int64_t{1} << 24, nb::arg("window") = 0,
        "C = A B on a GPU that can read A and B, left there; columns ascend in each row. `dtype` is C's: "
        "float32, float64, "
        "or bool over or_and. method: auto, hash, bitmap. MemoryError where C's entries take more than "
        "`memory` bytes (-1: "
        "what is free). `chunk_rows` rows are studied at a time; a bitmap holds `window` columns (0: what "
        "fits).");
  m.def("add_rows_gpu", add, nb::arg("x"), nb::arg("first_x"), nb::arg("y"), nb::arg("first_y"),
        nb::arg("gpu") = 0,
        "X + Y, whose rows begin at first_x and first_y of a taller matrix and ascend; from the smaller "
        "first row on.");
  m.def("spgemm_products_gpu", count, nb::arg("a"), nb::arg("b"), nb::arg("gpu") = 0,
        "Products of A B: of all, of each row (`per_row`), and the sum over rows of min(products, columns) "
        "(`bound`).");
  m.def("time_spgemm_gpu", time_product, nb::arg("a"), nb::arg("b"), nb::arg("semiring") = "plus_times",
        nb::arg("dtype") = "float64", nb::arg("repeats") = 7, nb::arg("gpu") = 0, nb::arg("method") = "auto",
        "Seconds of each product, everything on the GPU, the allocation of C included.");
  m.def("time_cusparse_spgemm_gpu", time_cusparse, nb::arg("a"), nb::arg("b"),
        nb::arg("algorithm") = "default", nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "(seconds of each product, C) of cuSPARSE, whose rows may be in any order; all its steps and "
        "workspaces included. "
        "algorithm: default, alg1, alg2, alg3.");
  spgemm_blocks(m);
}

}  // namespace penstock::bind
