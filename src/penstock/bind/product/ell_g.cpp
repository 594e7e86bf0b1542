// ELL-G: conversion, the product on the CPU, timing on a GPU.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/ell_g.hpp"
#include "penstock/bind/product/form.hpp"
#include "penstock/kernel/spmv/spmv_ell_g.hpp"

namespace penstock::bind {
namespace {

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

void multiply_ell_g(const EllGMatrix& a, const FormVector& x, const nb::object& y,
                    const std::string& semiring, const nb::object& alpha, const nb::object& beta) {
  multiply_form<EllG>("multiply_ell_g", a, x, y, semiring, alpha, beta,
                      []<class S, class V>(const EllG<V>& m, const auto* from, auto* to, Scale<S> scale) {
                        spmv_ell_g<S, V>(m, {}, from, to, scale, Stream{});
                      });
}

nb::tuple time_spmv_ell_g_gpu(const EllGMatrix& a, const FormVector& x, const std::string& semiring,
                              int repeats, int gpu) {
  std::visit([&](const auto& m) { check(InCore{Where{gpu}}, m.bytes.place); }, a.unread());
  return time_form<EllG>(
      "time_spmv_ell_g_gpu", a, x, semiring, repeats, gpu, [](const auto& m, Stream stream) {
        return [&m, table = ell_table(m, stream)]<class S, class V>(const auto* from, auto* to, Stream on) {
          spmv_ell_g<S, V>(m, table, from, to, {}, on);
        };
      });
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
