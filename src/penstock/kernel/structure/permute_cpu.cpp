#include "penstock/kernel/structure/permute.hpp"

#include <algorithm>
#include <limits>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"
#include "penstock/kernel/structure/row_sorter.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPermutedAtOnce = 1 << 15;

std::string outside(const std::string& what, std::size_t at, std::int64_t number, std::int64_t n) {
  return what + "[" + std::to_string(at) + "] = " + std::to_string(number) + " is outside [0, " +
         std::to_string(n) + ")";
}

}  // namespace

template <class V>
Csr<V> take_rows(const Csr<V>& a, std::span<const std::int64_t> rows, std::span<const Index> places) {
  require(places.empty() || std::ssize(places) == a.cols, "take_rows: one place for each column");
  const auto indptr = allocate<Offset>(std::ssize(rows) + 1);
  parallel_ranges(std::ssize(rows), kPermutedAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      const auto r = rows[i];
      if (r < 0 || r >= a.rows) throw Error(Errc::invalid_argument, outside("rows", i, r, a.rows));
      indptr.data[i + 1] = a.indptr.data[r + 1] - a.indptr.data[r];
    }
  });
  const auto nnz = lengths_to_offsets(indptr);
  const auto columns = allocate<Index>(nnz);
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(nnz);
  detail::Lent<RowSorter<V>> sorters;
  const auto cost = [&](std::int64_t i) { return indptr.data[i] + i; };
  for_row_ranges(std::ssize(rows), cost, [&](std::int64_t first, std::int64_t last) {
    sorters.with([&](RowSorter<V>& sorter) {
      for (auto i = first; i < last; ++i) {
        const auto to = indptr.data[i], n = indptr.data[i + 1] - to;
        const auto from = a.indptr.data[rows[static_cast<std::size_t>(i)]];
        V* v = nullptr;
        if constexpr (!is_pattern<V>) v = std::copy_n(a.values.data + from, n, values.data + to) - n;
        if (places.empty()) {
          std::copy_n(a.indices.data + from, n, columns.data + to);
          continue;
        }
        for (Offset k = 0; k < n; ++k)
          columns.data[to + k] = places[static_cast<std::size_t>(a.indices.data[from + k])];
        sorter.sort(columns.data + to, v, n, a.cols);
      }
    });
  });
  return {std::ssize(rows), a.cols, indptr, columns, values};
}

Array<Index> inverse_permutation(std::span<const std::int64_t> p, std::int64_t n, const std::string& what) {
  require(std::ssize(p) == n, what + " has " + std::to_string(p.size()) + " numbers: a permutation of " +
                                  std::to_string(n) + " needs each of them once");
  require(n <= std::numeric_limits<Index>::max(), what + " has more than 2^31 - 1 numbers");
  const auto inverse = allocate<Index>(n);
  std::fill_n(inverse.data, n, -1);
  for (std::size_t i = 0; i < p.size(); ++i) {  // in order: the first fault is the one that is named
    if (p[i] < 0 || p[i] >= n) throw Error(Errc::invalid_argument, outside(what, i, p[i], n));
    auto& place = inverse.data[p[i]];
    if (place >= 0)
      throw Error(Errc::invalid_argument, what + "[" + std::to_string(place) + "] and " + what + "[" +
                                              std::to_string(i) + "] are both " + std::to_string(p[i]) +
                                              ": a permutation has every number once");
    place = static_cast<Index>(i);
  }
  return inverse;
}

template Csr<One> take_rows(const Csr<One>&, std::span<const std::int64_t>, std::span<const Index>);
template Csr<float> take_rows(const Csr<float>&, std::span<const std::int64_t>, std::span<const Index>);
template Csr<double> take_rows(const Csr<double>&, std::span<const std::int64_t>, std::span<const Index>);
template Csr<Complex64> take_rows(const Csr<Complex64>&, std::span<const std::int64_t>,
                                  std::span<const Index>);
template Csr<Complex128> take_rows(const Csr<Complex128>&, std::span<const std::int64_t>,
                                   std::span<const Index>);

}  // namespace penstock
