// Matrices that are made of matrices: the transpose, and operations on entries that are not products.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/on_gpu.hpp"
#include "penstock/core/error.hpp"
#include "penstock/format/short_floats.hpp"
#include "penstock/kernel/structure/coo_gpu.hpp"
#include "penstock/kernel/structure/elementwise.hpp"
#include "penstock/kernel/structure/entries_gpu.hpp"
#include "penstock/kernel/structure/filter.hpp"
#include "penstock/kernel/structure/filter_gpu.hpp"
#include "penstock/kernel/structure/permute.hpp"
#include "penstock/kernel/structure/scale.hpp"
#include "penstock/kernel/structure/sort_rows.hpp"
#include "penstock/kernel/structure/symmetric.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/kernel/structure/transpose_gpu.hpp"

namespace penstock::bind {
namespace {

/// The matrix f(csr), computed without the interpreter's lock, for the type that the matrix has.
template <class F>
Matrix made(const Matrix& a, const char* reader, F&& f) {
  return std::visit(
      [&](const auto& c) -> Matrix {
        require_host(c, reader);
        const nb::gil_scoped_release release;
        return {AnyCsr(f(c))};
      },
      a.any());
}

template <class V>
Csr<One> pattern_of(const Csr<V>& a) {
  return {a.rows, a.cols, a.indptr, a.indices, {}};
}

/// The same for two matrices of one value type.
template <class F>
Matrix made(const Matrix& a, const Matrix& b, const char* reader, F&& f) {
  b.guard().look();
  return made(a, reader, [&]<class V>(const Csr<V>& c) {
    const auto* const other = std::get_if<Csr<V>>(&b.unread());
    require(other, std::string(reader) + ": two matrices of one value type");
    require_host(*other, reader);
    return f(c, *other);
  });
}

Join join_of(const std::string& name) {
  if (name == "plus") return Join::plus;
  if (name == "minus") return Join::minus;
  if (name == "min") return Join::min;
  if (name == "max") return Join::max;
  throw Error(Errc::invalid_argument, "join \"" + name + "\" is not plus, minus, min or max");
}

template <class T>
std::span<const T> span_of(const nb::object& array) {
  if (array.is_none()) return {};
  const auto a = nb::cast<ReadArray<T>>(array);
  return {a.data(), a.shape(0)};
}

/// diag(rows) A diag(cols). T is the type of rows and cols, and A has this type, too, or is a pattern.
template <class T>
bool try_scale(const Matrix& a, const std::string& dtype, const char* name, const nb::object& rows,
               const nb::object& cols, AnyCsr& out) {
  if (dtype != name) return false;
  const auto r = span_of<T>(rows), c = span_of<T>(cols);
  std::visit(
      [&]<class V>(const Csr<V>& m) {
        const auto gpu = gpu_that_holds(a);
        if (gpu) require_on(*gpu, m, "scale");
        else require_host(m, "scale");
        if constexpr (is_pattern<V> || std::same_as<V, T>) {
          require((rows.is_none() || std::ssize(r) == m.rows) && (cols.is_none() || std::ssize(c) == m.cols),
                  "scale: one factor for each row and column");
          const nb::gil_scoped_release release;
          if (gpu) out = scale_on<T>(m, r.data(), c.data(), OwnedStream(*gpu));
          else out = Csr<T>{m.rows, m.cols, m.indptr, m.indices, scaled_values<T>(m, r.data(), c.data())};
        } else {
          throw Error(Errc::invalid_argument, "scale: factors of the matrix's type");
        }
      },
      a.any());
  return true;
}

Matrix scale(const Matrix& a, const std::string& dtype, const nb::object& rows, const nb::object& cols) {
  AnyCsr out;
  require(try_scale<float>(a, dtype, "float32", rows, cols, out) ||
              try_scale<double>(a, dtype, "float64", rows, cols, out) ||
              try_scale<Complex64>(a, dtype, "complex64", rows, cols, out) ||
              try_scale<Complex128>(a, dtype, "complex128", rows, cols, out),
          "scale: factors must be float32, float64, complex64 or complex128");
  return {std::move(out)};
}

/// With values of type T, where T has a place for all that they have.
template <class T>
bool try_convert(const Matrix& a, const std::string& dtype, AnyCsr& out) {
  const auto gpu = gpu_that_holds(a);
  if (dtype != dtype_name<T>() || !gpu) return false;
  return std::visit(
      [&]<class V>(const Csr<V>& c) {
        constexpr bool kKeeps = is_pattern<V> || std::is_floating_point_v<V> || !std::is_floating_point_v<T>;
        if constexpr (kKeeps && !std::same_as<V, T>) {
          require_on(*gpu, c, "astype");
          const nb::gil_scoped_release release;
          out = converted_on<T>(c, OwnedStream(*gpu));
          return true;
        } else {
          return false;
        }
      },
      a.any());
}

Matrix convert_on_gpu(const Matrix& a, const std::string& dtype) {
  AnyCsr out;
  if (try_convert<float>(a, dtype, out) || try_convert<double>(a, dtype, out) ||
      try_convert<Complex64>(a, dtype, out) || try_convert<Complex128>(a, dtype, out))
    return {std::move(out)};
  throw Error(Errc::not_accessible, "a matrix in a GPU's memory is not converted to " + dtype +
                                        " there: do it on the host, with A.to(ps.host).astype(...)");
}

Matrix bound_transpose(const Matrix& a) {
  if (const auto gpu = gpu_that_holds(a))
    return made_on(*gpu, a, "transpose",
                   [](const auto& c, Stream stream) { return transpose_on(c, stream); });
  return made(a, "transpose", [](const auto& c) { return transpose(c); });
}

Matrix bound_rounded(const Matrix& a, const std::string& to) {
  const auto* type = std::find_if(std::begin(kShortFloats), std::end(kShortFloats),
                                  [&](const ShortFloat& s) { return s.name == to; });
  require(type != std::end(kShortFloats), "\"" + to + "\" is none of " + list_names(kShortFloats));
  return made(a, "store_as", [&]<class V>(const Csr<V>& c) -> Csr<V> {
    if constexpr (std::is_floating_point_v<V>) return rounded(c, *type);
    else throw Error(Errc::not_compiled, "store_as is for matrices in float32 or float64");
  });
}

Matrix bound_pattern(const Matrix& a) {
  return std::visit([](const auto& c) -> Matrix { return {AnyCsr(pattern_of(c))}; }, a.any());
}

bool bound_symmetric(const Matrix& a) {
  return std::visit(
      [](const auto& c) {
        require_host(c, "has_symmetric_pattern");
        const nb::gil_scoped_release release;
        return has_symmetric_pattern(pattern_of(c));
      },
      a.any());
}

std::pair<bool, bool> bound_row_order(const Matrix& a) {
  if (const auto gpu = gpu_that_holds(a))
    return with_entries_on(*gpu, a, "row_order", [](const auto& c, Stream stream) {
      const auto order = row_order_on(pattern_of(c), stream);
      return std::pair(order.sorted, order.canonical);
    });
  return std::visit(
      [](const auto& c) {
        require_host(c, "row_order");
        const nb::gil_scoped_release release;
        const auto order = row_order(pattern_of(c));
        return std::pair(order.sorted, order.canonical);
      },
      a.any());
}

Matrix bound_sort_rows(const Matrix& a, bool merge) {
  if (const auto gpu = gpu_that_holds(a))
    return made_on(*gpu, a, "sort_rows",
                   [&](const auto& c, Stream stream) { return sort_rows_on(c, merge, stream); });
  return made(a, "sort_rows", [&](const auto& c) { return sort_rows(c, merge); });
}

Matrix bound_join(const Matrix& a, const Matrix& b, const std::string& op) {
  return made(a, b, "join", [&](const auto& c, const auto& d) { return join(c, d, join_of(op)); });
}

Matrix bound_multiply_entries(const Matrix& a, const Matrix& b) {
  return made(a, b, "multiply", [](const auto& c, const auto& d) { return multiply(c, d); });
}

Matrix bound_mask(const Matrix& a, const Matrix& pattern, bool complement) {
  const auto* const p = std::get_if<Csr<One>>(&pattern.any());
  require(p, "mask: the second matrix must be a pattern");
  if (const auto gpu = gpu_that_holds(a)) {
    require_on(*gpu, *p, "mask");
    return made_on(*gpu, a, "mask",
                   [&](const auto& c, Stream stream) { return mask_on(c, *p, complement, stream); });
  }
  require_host(*p, "mask");
  return made(a, "mask", [&](const auto& c) { return mask(c, *p, complement); });
}

Matrix bound_triangle(const Matrix& a, std::int64_t k, bool upper) {
  if (const auto gpu = gpu_that_holds(a))
    return made_on(*gpu, a, "triangle",
                   [&](const auto& c, Stream stream) { return triangle_on(c, k, upper, stream); });
  return made(a, "triangle", [&](const auto& c) { return triangle(c, k, upper); });
}

Matrix bound_without_zeros(const Matrix& a) {
  if (const auto gpu = gpu_that_holds(a))
    return made_on(*gpu, a, "without_zeros",
                   [](const auto& c, Stream stream) { return without_zeros_on(c, stream); });
  return made(a, "without_zeros", [](const auto& c) { return without_zeros(c); });
}

Matrix bound_take_rows(const Matrix& a, const nb::object& rows, const nb::object& places) {
  const auto r = span_of<std::int64_t>(rows);
  const auto p = span_of<Index>(places);
  if (const auto gpu = gpu_that_holds(a))
    return made_on(*gpu, a, "take_rows",
                   [&](const auto& c, Stream stream) { return take_rows_on(c, r, p, stream); });
  return made(a, "take_rows", [&](const auto& c) { return take_rows(c, r, p); });
}

/// `argument` is what errors call p.
nb::object bound_inverse_permutation(const nb::object& p, std::int64_t n, const std::string& argument) {
  const auto numbers = span_of<std::int64_t>(p);
  Array<Index> inverse;
  {
    const nb::gil_scoped_release release;
    inverse = inverse_permutation(numbers, n, argument);
  }
  return as_numpy<Index>(inverse);
}

}  // namespace

void structure(nb::module_& m) {
  m.def("rounded", bound_rounded, nb::arg("a"), nb::arg("to"),
        "The same matrix with each value rounded to a type of short_floats(), to the nearest, ties to even.");
  using nb::arg;
  m.def("transpose", bound_transpose, arg("a"));
  m.def("pattern", bound_pattern, arg("a"));
  m.def("convert_on_gpu", convert_on_gpu, arg("a"), arg("dtype"),
        "The matrix with values of another type, for one in a GPU's memory.");
  m.def("has_symmetric_pattern", bound_symmetric, arg("a"));
  m.def("row_order", bound_row_order, arg("a"), "(columns never fall within a row, they always rise)");
  m.def("sort_rows", bound_sort_rows, arg("a"), arg("merge"));
  m.def("join", bound_join, arg("a"), arg("b"), arg("op"));
  m.def("multiply_entries", bound_multiply_entries, arg("a"), arg("b"));
  m.def("mask", bound_mask, arg("a"), arg("pattern"), arg("complement"));
  m.def("triangle", bound_triangle, arg("a"), arg("k"), arg("upper"));
  m.def("without_zeros", bound_without_zeros, arg("a"));
  m.def("scale", scale, arg("a"), arg("dtype"), arg("rows").none(), arg("cols").none());
  m.def("take_rows", bound_take_rows, arg("a"), arg("rows"), arg("places").none());
  m.def("inverse_permutation", bound_inverse_permutation, arg("p"), arg("n"), arg("what"));
}

}  // namespace penstock::bind
