// Text to entries and numbers, and rows to text.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/io/format_rows.hpp"
#include "penstock/io/parse_entries.hpp"
#include "penstock/io/parse_numbers.hpp"

namespace penstock::bind {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyArray = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view view(const Bytes& text) { return {reinterpret_cast<const char*>(text.data()), text.shape(0)}; }

ValueKind kind_of(const AnyArray& values) {
  if (values.dtype() == nb::dtype<float>()) return ValueKind::float32;
  if (values.dtype() == nb::dtype<double>()) return ValueKind::float64;
  if (values.dtype() == nb::dtype<Complex64>()) return ValueKind::complex64;
  require(values.dtype() == nb::dtype<Complex128>(), "values must be float32, float64, complex64 or complex128");
  return ValueKind::complex128;
}

std::pair<std::int64_t, std::int64_t> entries(const Bytes& text, const std::string& columns, const std::string& separator, const std::string& comments,
                     std::int64_t base, std::int64_t rows, std::int64_t cols, const AnyArray& row,
                     const WriteArray<std::int32_t>& col, const nb::object& values, const std::string& file,
                     std::int64_t first_line, const std::string& hint) {
  const EntryFormat format{columns, separator.empty() ? '\0' : separator[0], comments, base, rows, cols, hint};
  const bool wide = row.dtype() == nb::dtype<std::int64_t>();
  require(wide || row.dtype() == nb::dtype<std::int32_t>(), "row must be int32 or int64");
  EntryArrays out{0, row.data(), wide, col.data()};
  std::size_t room = std::min(row.shape(0), col.shape(0));
  if (!values.is_none()) {
    const auto array = nb::cast<AnyArray>(values);
    out.kind = kind_of(array);
    out.values = array.data();
    room = std::min(room, array.shape(0));
  }
  const nb::gil_scoped_release release;
  out.room = static_cast<std::int64_t>(room);
  const auto parsed = parse_entries(view(text), format, out, {file, first_line});
  return {parsed.entries, parsed.lines};
}

template <class T>
nb::object as_array(std::vector<T>&& data) {
  auto owner = std::make_shared<std::vector<T>>(std::move(data));
  return as_numpy<T>({owner->data(), static_cast<std::int64_t>(owner->size()), {}, owner});
}

template <class T>
nb::tuple numbers(const Bytes& text, const std::string& comments, const std::string& file, std::int64_t first_line) {
  Numbers<T> found;
  {
    const nb::gil_scoped_release release;
    found = parse_numbers<T>(view(text), comments, {file, first_line});
  }
  return nb::make_tuple(as_array(std::move(found.values)), as_array(std::move(found.per_line)));
}

nb::bytes rows_as_text(const Matrix& a, std::int64_t first, std::int64_t last, bool lists, const std::string& prefix,
                       const std::string& separator, std::int64_t base) {
  std::string text;
  {
    const nb::gil_scoped_release release;
    const RowFormat format{lists, prefix, separator.at(0), base};
    text = std::visit([&](const auto& c) { return format_rows(c, first, last, format); }, a.any);
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void text(nb::module_& m) {
  m.def("parse_entries", entries, nb::arg("text"), nb::arg("columns"), nb::arg("separator"), nb::arg("comments"),
        nb::arg("base"), nb::arg("rows"), nb::arg("cols"), nb::arg("row"), nb::arg("col"), nb::arg("values").none(),
        nb::arg("file"), nb::arg("first_line"), nb::arg("hint"));
  m.def("parse_integers", numbers<std::int64_t>, nb::arg("text"), nb::arg("comments"), nb::arg("file"), nb::arg("first_line"));
  m.def("parse_reals", numbers<double>, nb::arg("text"), nb::arg("comments"), nb::arg("file"), nb::arg("first_line"));
  m.def("format_rows", rows_as_text, nb::arg("matrix"), nb::arg("first"), nb::arg("last"), nb::arg("lists") = false,
        nb::arg("prefix") = "", nb::arg("separator") = " ", nb::arg("base") = 0);
}

}  // namespace penstock::bind
