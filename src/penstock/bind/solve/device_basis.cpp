// Vectors of a Krylov method in a device's memory.
#include "penstock/solver/device_basis.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/product.hpp"
#include "penstock/bind/solve/device_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/schedule/device/stream_columns.hpp"
#include "penstock/schedule/device/stream_normal.hpp"

namespace penstock::bind {
namespace {

template <class T>
using HostRows = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// How many rows there are in `host`, for a copy of them from or to the rows from `first` on.
template <class T, class Host>
std::int64_t rows_from(const DeviceBasis<T>& basis, std::int64_t first, const Host& host) {
  const auto count = static_cast<std::int64_t>(host.shape(0));
  require(first >= 0 && first + count <= basis.rows() &&
              static_cast<std::int64_t>(host.shape(1)) == basis.columns(),
          "a basis: rows that are not there");
  return count;
}

/// Which rows of a basis a streamed product reads and writes.
struct BlockOfRows {
  std::int64_t from, to, count;
  double factor;
  bool normal;
};

template <class T, class V>
bool try_stream(DeviceBasis<T>& basis, const Matrix& m, const Streamed& settings, const BlockOfRows& rows,
                Trace& trace) {
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a) return false;
  require(a->cols == basis.columns() && (rows.normal || a->rows == basis.columns()),
          "multiply_streamed: the basis and A do not belong together");
  m.guard().look();
  const nb::gil_scoped_release release;
  basis.multiply_block(rows.from, rows.to, rows.count, rows.normal ? 1.0 : rows.factor,
                       [&](DenseView<const T> x, DenseView<T> y, Stream stream) {
                         if (rows.normal) stream_normal<T, V>(*a, x, y, rows.factor, settings, stream, trace);
                         else stream_columns<T, V>(*a, x, y, settings, {}, stream, trace);
                       });
  return true;
}

template <class T>
nb::object multiply_streamed(DeviceBasis<T>& basis, const Matrix& a, const AnySchedule& schedule,
                             std::int64_t from, std::int64_t to, std::int64_t count, double factor,
                             bool normal) {
  const auto* settings = std::get_if<Streamed>(&schedule.value);
  require(settings, "multiply_streamed: give a streamed schedule of one device");
  const BlockOfRows rows{from, to, count, factor, normal};
  Trace trace;
  bool done = try_stream<T, One>(basis, a, *settings, rows, trace) ||
              try_stream<T, float>(basis, a, *settings, rows, trace);
  if constexpr (std::is_same_v<T, double>)
    done = done || try_stream<T, double>(basis, a, *settings, rows, trace);
  if (!done)
    throw Error(Errc::not_compiled,
                "multiply_streamed: no kernel for these vectors and the values of this matrix");
  return as_event(trace, true);
}

template <class T, class V>
bool try_home(DeviceBasis<T>& basis, const Matrix& m, const Streamed& settings, const HostRows<T>& y,
              Trace& trace) {
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a) return false;
  const auto rows = static_cast<std::int64_t>(y.shape(0)), count = static_cast<std::int64_t>(y.shape(1));
  require(a->cols == basis.columns() && a->rows == rows,
          "multiply_home: the basis, A and y do not belong together");
  m.guard().look();
  const nb::gil_scoped_release release;
  basis.beside_one_another(0, count, [&](DenseView<const T> x, Stream stream) {
    stream_home<T, V>(*a, x, {y.data(), rows, count, count, 1}, settings, stream, trace);
  });
  return true;
}

template <class T>
nb::object multiply_home(DeviceBasis<T>& basis, const Matrix& a, const AnySchedule& schedule,
                         const HostRows<T>& y) {
  const auto* settings = std::get_if<Streamed>(&schedule.value);
  require(settings, "multiply_home: give a streamed schedule of one device");
  Trace trace;
  bool done =
      try_home<T, One>(basis, a, *settings, y, trace) || try_home<T, float>(basis, a, *settings, y, trace);
  if constexpr (std::is_same_v<T, double>) done = done || try_home<T, double>(basis, a, *settings, y, trace);
  if (!done)
    throw Error(Errc::not_compiled,
                "multiply_home: no kernel for these vectors and the values of this matrix");
  return as_event(trace, true);
}

template <class T>
void bind_basis(nb::module_& m, const char* name) {
  using Basis = DeviceBasis<T>;
  nb::class_<Basis>(m, name, "Vectors in a device's memory, as rows.")
      .def(
          "__init__",
          [](Basis* self, std::int64_t rows, std::int64_t n, int gpu) {
            const nb::gil_scoped_release release;
            new (self) Basis(rows, n, Where{gpu});
          },
          nb::arg("rows"), nb::arg("n"), nb::arg("gpu"))
      .def_prop_ro("rows", &Basis::rows)
      .def_static("bytes", &Basis::bytes, nb::arg("rows"), nb::arg("n"))
      .def(
          "put",
          [](Basis& basis, std::int64_t first, const HostRows<const T>& from) {
            const auto count = rows_from(basis, first, from);
            const nb::gil_scoped_release release;
            basis.put(first, count, from.data());
          },
          nb::arg("first"), nb::arg("rows").noconvert())
      .def(
          "get",
          [](Basis& basis, std::int64_t first, const HostRows<T>& to) {
            const auto count = rows_from(basis, first, to);
            const nb::gil_scoped_release release;
            basis.get(first, count, to.data());
          },
          nb::arg("first"), nb::arg("rows").noconvert())
      .def(
          "multiply",
          [](Basis& basis, const AnyDeviceOp& a, std::int64_t from, std::int64_t to, double factor) {
            const auto* op = std::get_if<DeviceOp<T>>(&a.op);
            require(op && from >= 0 && to >= 0 && from < basis.rows() && to < basis.rows() && from != to,
                    "multiply: a basis and an A that do not belong together");
            a.guard.require_whole();
            const nb::gil_scoped_release release;
            basis.multiply(*op, from, to, factor);
          },
          nb::arg("a"), nb::arg("old"), nb::arg("new"), nb::arg("factor"))
      .def_static("block_bytes", &Basis::block_bytes, nb::arg("count"), nb::arg("n"))
      .def("multiply_streamed", multiply_streamed<T>, nb::arg("a"), nb::arg("schedule"), nb::arg("old"),
           nb::arg("new"), nb::arg("count"), nb::arg("factor"), nb::arg("normal"),
           "Rows new, ... = factor A, or with `normal` factor^2 A^T A, times rows old, ..., A streamed once "
           "through "
           "the basis' device; returns what the product did")
      .def(
          "multiply_home", multiply_home<T>, nb::arg("a"), nb::arg("schedule"), nb::arg("y").noconvert(),
          "Columns of y, in host memory, = A times the first rows, A streamed once through the basis' device")
      .def(
          "orthogonalise",
          [](Basis& basis, std::int64_t count, std::int64_t near, std::int64_t at) {
            std::vector<double> h(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
            double squares[2] = {};
            const nb::gil_scoped_release release;
            basis.orthogonalise(count, near, at, h.data(), squares);
            return std::tuple(std::move(h), squares[0], squares[1]);
          },
          nb::arg("count"), nb::arg("near"), nb::arg("at"),
          "Row `at` less its part in the first `count` rows; the coefficients, its square before, and after")
      .def(
          "scale",
          [](Basis& basis, std::int64_t at, double by) {
            require(at >= 0 && at < basis.rows(), "scale: a row that is not there");
            basis.scale(at, by);
          },
          nb::arg("at"), nb::arg("by"))
      .def(
          "copy",
          [](Basis& basis, std::int64_t from, std::int64_t to) {
            require(from >= 0 && to >= 0 && from < basis.rows() && to < basis.rows(),
                    "copy: rows that are not there");
            basis.copy(from, to);
          },
          nb::arg("old"), nb::arg("new"))
      .def(
          "rotate",
          [](Basis& basis, std::int64_t first, const HostRows<const T>& y) {
            const nb::gil_scoped_release release;
            basis.rotate(first, static_cast<std::int64_t>(y.shape(0)), static_cast<std::int64_t>(y.shape(1)),
                         y.data());
          },
          nb::arg("first"), nb::arg("y").noconvert());
}

}  // namespace

void device_basis(nb::module_& m) {
  bind_basis<float>(m, "DeviceBasis_float32");
  bind_basis<double>(m, "DeviceBasis_float64");
}

}  // namespace penstock::bind
