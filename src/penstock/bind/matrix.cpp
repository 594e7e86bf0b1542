// The matrix as Python holds it: what is checked of it, and when.
#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::bind {
namespace {

constexpr const char* kRemedy = ": the store is damaged, write it again from its source";

Guard guard_of(const AnyCsr& any) {
  return std::visit([](const auto& a) { return Guard::of(a.indptr, a.indices, a.values); }, any);
}

/// Calls check(). Its errors get the name of the file behind `array`, or else of `source`, and a remedy.
template <class T, class F>
void told_of(const Array<const T>& array, const std::string& source, F&& check) {
  try {
    check();
  } catch (const Error& e) {
    if (e.code() != Errc::invalid_argument) throw;
    const auto file = MappedFile::behind(array.data);
    throw Error(e.code(), (file ? file->name() : source) + ": " + e.what() + kRemedy);
  }
}

template <class V>
void check_rows(const Csr<V>& a, const std::string& source, std::int64_t first, std::int64_t last) {
  told_of(a.indptr, source, [&] { validate_offsets(a, first, last); });
  told_of(a.indices, source, [&] { validate_indices(a, a.indptr.data[first], a.indptr.data[last]); });
}

template <class V>
void check_all(const Csr<V>& a, const std::string& source) {
  told_of(a.indptr, source, [&] {
    require(a.indptr.data[0] == 0 && a.indptr.data[a.rows] == a.nnz(),
            "indptr does not begin at 0 and end at the entries");
  });
  check_rows(a, source, 0, a.rows);
}

template <class V>
Csr<V> rows_of(const Csr<V>& a, std::int64_t first, std::int64_t last) {
  const auto begin = a.indptr.data[first], end = a.indptr.data[last];
  const auto indptr = allocate<Offset>(last - first + 1);
  parallel_ranges(indptr.size, 1 << 18, [&](std::int64_t i, std::int64_t stop) {
    for (; i < stop; ++i) indptr.data[i] = a.indptr.data[first + i] - begin;
  });
  Csr<V> out{last - first, a.cols, indptr, a.indices.slice(begin, end - begin), {}};
  if constexpr (!is_pattern<V>) out.values = a.values.slice(begin, end - begin);
  return out;
}

}  // namespace

void require_host(std::initializer_list<Place> places, const std::string& reader) {
  for (const Place place : places)
    if (!can_read(Where{}, place))
      throw Error(Errc::not_accessible, reader + " reads the matrix on the CPU, but it is in " +
                                            std::string(name(place.memory)) +
                                            " memory: move it to the host first, with A.to(ps.host)");
}

Matrix::Matrix(AnyCsr a)
    : Guarded(std::move(a), {}),
      plans(std::visit(
          []<class V>(const Csr<V>&) { return std::make_shared<AnyPlans>(std::in_place_type<SpmvPlans<V>>); },
          any_)) {
  guard_ = guard_of(any_);
}

Matrix Matrix::unchecked(AnyCsr a, const std::string& source) {
  Matrix m(std::move(a));
  m.source_ = source;
  m.guard_.set_check(
      [any = m.any_, source] { std::visit([&](const auto& c) { check_all(c, source); }, any); });
  return m;
}

Matrix Matrix::pending(AnyCsr a, std::function<void()> wait) {
  Matrix m(std::move(a));
  m.guard_.set_check(std::move(wait));
  return m;
}

Matrix Matrix::row_range(std::int64_t first, std::int64_t last) const {
  guard_.require_whole();
  const nb::gil_scoped_release release;
  return std::visit(
      [&](const auto& a) {
        if (guard_.unchecked()) check_rows(a, source_, first, last);
        return Matrix{rows_of(a, first, last)};
      },
      any_);
}

void Matrix::check_part(std::int64_t i, std::int64_t n) const {
  guard_.require_whole();
  if (!guard_.unchecked()) return;
  const nb::gil_scoped_release release;
  std::visit(
      [&](const auto& a) {
        const auto cut = [&](std::int64_t size, std::int64_t part) {
          return size / n * part + size % n * part / n;
        };
        told_of(a.indptr, source_, [&] { validate_offsets(a, cut(a.rows, i), cut(a.rows, i + 1)); });
        told_of(a.indices, source_, [&] { validate_indices(a, cut(a.nnz(), i), cut(a.nnz(), i + 1)); });
      },
      any_);
}

}  // namespace penstock::bind
