#include "penstock/io/format_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

template <class T>
void put(std::string& out, T number) {
  char text[40];
  if constexpr (std::floating_point<T>)
    if (std::isnan(number)) return out.append("nan"), void();  // readers differ about the sign of one
  const auto result = std::to_chars(text, text + sizeof text, number);
  out.append(text, result.ptr);
}

template <class V>
void put_value(std::string& out, char separator, const Csr<V>& a, Offset k) {
  if constexpr (is_pattern<V>) return;
  else {
    const auto value = a.values.data[k];
    out += separator;
    if constexpr (std::floating_point<V>) put(out, value);
    else put(out, value.real()), out += separator, put(out, value.imag());
  }
}

template <class V>
void put_row(std::string& out, const Csr<V>& a, std::int64_t row, const RowFormat& f) {
  const auto first = a.indptr.data[row], last = a.indptr.data[row + 1];
  if (f.lists) out += f.prefix;
  for (auto k = first; k < last; ++k) {
    if (f.lists) {
      if (k != first) out += f.separator;
    } else {
      out += f.prefix;
      put(out, row + f.base);
      out += f.separator;
    }
    put(out, a.indices.data[k] + f.base);
    put_value(out, f.separator, a, k);
    if (!f.lists) out += '\n';
  }
  if (f.lists) out += '\n';
}

}  // namespace

template <class V>
std::string format_rows(const Csr<V>& a, std::int64_t first, std::int64_t last, const RowFormat& format) {
  require(0 <= first && first <= last && last <= a.rows, "format_rows: outside the matrix");
  // Pieces of about as many entries each: a hub must not make one thread write everything.
  const auto pieces = std::max<std::int64_t>(1, (a.indptr.data[last] - a.indptr.data[first] + last - first) >> 14);
  std::vector<std::string> texts(static_cast<std::size_t>(pieces));
  const auto row_at = [&](std::int64_t piece) {
    if (piece == pieces) return last;
    const auto* row = a.indptr.data;
    const auto at = row[first] + (row[last] - row[first]) * piece / pieces;
    const auto by_entries = std::lower_bound(row + first, row + last, at) - row;
    return row[first] == row[last] ? first + (last - first) * piece / pieces : static_cast<std::int64_t>(by_entries);
  };
  parallel_for(pieces, [&](std::int64_t i) {
    for (auto r = row_at(i), end = row_at(i + 1); r < end; ++r) put_row(texts[static_cast<std::size_t>(i)], a, r, format);
  });
  std::string out;
  std::size_t size = 0;
  for (const auto& text : texts) size += text.size();
  out.reserve(size);
  for (const auto& text : texts) out += text;
  return out;
}

template std::string format_rows(const Csr<One>&, std::int64_t, std::int64_t, const RowFormat&);
template std::string format_rows(const Csr<float>&, std::int64_t, std::int64_t, const RowFormat&);
template std::string format_rows(const Csr<double>&, std::int64_t, std::int64_t, const RowFormat&);
template std::string format_rows(const Csr<Complex64>&, std::int64_t, std::int64_t, const RowFormat&);
template std::string format_rows(const Csr<Complex128>&, std::int64_t, std::int64_t, const RowFormat&);

}  // namespace penstock
