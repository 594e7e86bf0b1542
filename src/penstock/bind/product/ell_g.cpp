// ELL-G: conversion, the product on the CPU, timing on a GPU.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/ell_g.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/kernel/spmv/spmv_ell_g.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::bind {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

EllGMatrix convert(const Matrix& m, std::int64_t block_bytes) {
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(const Csr<V>& a) -> EllGMatrix {
        for (const Place place : {a.indptr.place, a.indices.place, a.values.place}) check(InCore{}, place);
        EllOptions options;
        if (block_bytes != 0) options.block_bytes = block_bytes;
        return {to_ell_g(a, options)};
      },
      m.any(release));
}

EllGMatrix moved(const EllGMatrix& m, const std::string& memory, int gpu) {
  const auto place = place_named(memory, gpu);
  const nb::gil_scoped_release release;
  return std::visit([&](const auto& a) -> EllGMatrix { return {copy_to(a, place)}; }, m.unread());
}

/// The alternative of `m` with values V, where the semiring and the vector are S's; else null.
template <class S, class V>
const EllG<V>* chosen(const EllGMatrix& m, const AnyVector& x, std::string_view semiring) {
  const auto* a = std::get_if<EllG<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<typename S::value_type>())
    return nullptr;
  require(std::int64_t(x.shape(0)) == a->cols,
          "ELL-G: x must have as many entries as the matrix has columns");
  return a;
}

template <class S, class V>
bool try_multiply(const EllGMatrix& m, const AnyVector& x, const nb::object& y, std::string_view semiring,
                  const nb::object& alpha, const nb::object& beta) {
  using T = typename S::value_type;
  const auto* a = chosen<S, V>(m, x, semiring);
  if (!a) return false;
  auto out = nb::cast<WriteArray<T>>(y, false);  // not converted: a copy would get the result
  require(std::int64_t(out.shape(0)) == a->rows, "ELL-G: y must have as many entries as the matrix has rows");
  check(InCore{}, a->bytes.place);
  const auto scale = scale_of<S>(alpha, beta);
  const nb::gil_scoped_release release;
  spmv_ell_g<S, V>(*a, {}, static_cast<const T*>(x.data()), out.data(), scale, Stream{});
  return true;
}

void multiply_ell_g(const EllGMatrix& a, const AnyVector& x, const nb::object& y, const std::string& semiring,
                    const nb::object& alpha, const nb::object& beta) {
#define X(S, V) \
  if (try_multiply<S, V>(a, x, y, semiring, alpha, beta)) return;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

template <class S, class V>
bool try_time_ell_g(const EllGMatrix& m, const AnyVector& x, std::string_view semiring, int repeats, int gpu,
                    nb::tuple& result) {
  using T = typename S::value_type;
  const auto* a = chosen<S, V>(m, x, semiring);
  if (!a) return false;
  require(gpu >= 0, "time_spmv_ell_g_gpu: gpu = " + std::to_string(gpu) + "; give a number from 0");
  check(InCore{Where{gpu}}, a->bytes.place);
  const auto y = allocate<T>(a->rows);
  std::vector<double> seconds;
  {
    const nb::gil_scoped_release release;
    const Place here{Memory::device, static_cast<std::int16_t>(gpu)};
    const auto device_x = allocate<T>(a->cols, here), device_y = allocate<T>(a->rows, here);
    const OwnedStream stream(Where{gpu});
    const auto table = ell_table(*a, stream);
    copy_async(device_x.data, x.data(), device_x.bytes(), stream);
    seconds = time_runs(stream, repeats,
                        [&] { spmv_ell_g<S, V>(*a, table, device_x.data, device_y.data, {}, stream); });
    copy_async(y.data, device_y.data, y.bytes(), stream);
    synchronize(stream);
  }
  result = nb::make_tuple(seconds, as_numpy<T>(y));
  return true;
}

nb::tuple time_spmv_ell_g_gpu(const EllGMatrix& a, const AnyVector& x, const std::string& semiring,
                              int repeats, int gpu) {
  nb::tuple result;
#define X(S, V) \
  if (try_time_ell_g<S, V>(a, x, semiring, repeats, gpu, result)) return result;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  no_kernel(semiring);
}

/// A property that needs no entries: get(matrix) of the type that it has.
template <class Get>
auto ell_g_property(Get get) {
  return [get](const EllGMatrix& m) { return std::visit(get, m.unread()); };
}

Matrix back_to_csr(const EllGMatrix& m) {
  const nb::gil_scoped_release release;
  return std::visit(
      [](const auto& a) -> Matrix {
        check(InCore{}, a.bytes.place);
        return {to_csr(a)};
      },
      m.unread());
}

}  // namespace

void ell_g(nb::module_& m) {
  nb::class_<EllGMatrix>(
      m, "EllG",
      "A matrix in ELL-G (cardellini-2014): column-major rows of equal width with an array of their "
      "lengths, in blocks that travel by themselves.")
      .def_prop_ro("shape", ell_g_property([](const auto& a) { return std::pair(a.rows, a.cols); }))
      .def_prop_ro("nnz", ell_g_property([](const auto& a) { return a.nnz; }))
      .def_prop_ro("nbytes", ell_g_property([](const auto& a) { return a.bytes.size; }))
      .def_prop_ro("dtype", ell_g_property([]<class V>(const EllG<V>&) { return dtype_name<V>(); }))
      .def_prop_ro("blocks", ell_g_property([](const auto& a) { return std::ssize(a.blocks); }))
      .def_prop_ro("padding", ell_g_property([](const auto& a) { return a.padding(); }),
                   "Entries stored for nothing, as a share of all that are stored.")
      .def_prop_ro("place",
                   ell_g_property([](const auto& a) { return std::string(name(a.bytes.place.memory)); }))
      .def("to_csr", back_to_csr, "The matrix as CSR, every row in the order that it had.")
      .def("to_place", moved, nb::arg("memory"), nb::arg("gpu") = 0,
           "A copy in \"host\", \"pinned\", \"managed\" or \"device\" memory.");
  m.def("to_ell_g", convert, nb::arg("a"), nb::arg("block_bytes") = 0,
        "ELL-G of a matrix in host memory. block_bytes: of a block at most, 0 is 16 MiB. ValueError where "
        "long rows would make it more than three times as large as the CSR.");
  m.def("multiply_ell_g", multiply_ell_g, nb::arg("a"), nb::arg("x"), nb::arg("y"),
        nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(),
        "y = alpha A x + beta y on the CPU.");
  m.def("time_spmv_ell_g_gpu", time_spmv_ell_g_gpu, nb::arg("a"), nb::arg("x"),
        nb::arg("semiring") = "plus_times", nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "(seconds of each kernel call, y) for y = A x with x and y on the GPU and A where the GPU can read "
        "it.");
}

}  // namespace penstock::bind
