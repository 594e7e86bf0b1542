#include "penstock/kernel/structure/filter_gpu.hpp"

#include <string>

#include "penstock/kernel/structure/coo_gpu.hpp"
#include "penstock/kernel/structure/filter_steps.hpp"

namespace penstock {
namespace {

/// The entries of A that have a property.
template <class V, class Test>
Csr<V> kept_entries(const Csr<V>& a, const Test& test, Stream stream) {
  const auto here = device_place(stream.where);
  const auto n = a.nnz();
  constexpr auto kOffset = static_cast<std::int64_t>(sizeof(Offset));
  constexpr auto kEntry = static_cast<std::int64_t>(sizeof(Index)) + value_bytes<V>;
  require_room("a part of a matrix of " + std::to_string(n) + " entries",
               (n + a.rows + 2) * kOffset + n * kEntry, stream);
  const auto starts = allocate<Offset>(n + 1, here);
  each(n + 1, Flags<Test>{test, n, starts.data}, stream);
  prefix_sums(starts.data, n + 1, stream);
  const auto left = fetch(starts.data + n, stream);
  const auto indptr = allocate<Offset>(a.rows + 1, here);
  const auto indices = allocate<Index>(left, here);
  each(a.rows + 1, KeptOffsets{a.indptr.data, starts.data, indptr.data}, stream);
  each(n, Compact<Index>{a.indices.data, starts.data, indices.data}, stream);
  Csr<V> out{a.rows, a.cols, indptr, indices, {}};
  if constexpr (!is_pattern<V>) {
    const auto values = allocate<V>(left, here);
    each(n, Compact<Plain<V>>{plain(a.values.data), starts.data, plain(values.data)}, stream);
    out.values = values;
  }
  synchronize(stream);
  return out;
}

template <class T>
Array<T> taken_there(std::span<const T> numbers, Stream stream) {
  const auto there = allocate<T>(std::ssize(numbers), device_place(stream.where));
  copy_async(there.data, numbers.data(), there.bytes(), stream);
  return there;
}

}  // namespace

template <class V>
Csr<V> triangle_on(const Csr<V>& a, std::int64_t k, bool upper, Stream stream) {
  return kept_entries(a, InTriangle{a.indptr.data, a.rows, a.indices.data, k, upper}, stream);
}

template <class V>
Csr<V> without_zeros_on(const Csr<V>& a, Stream stream) {
  if constexpr (is_pattern<V>) return a;
  else return kept_entries(a, IsNonzero<Plain<V>>{plain(a.values.data)}, stream);
}

template <class V>
Csr<V> mask_on(const Csr<V>& a, const Csr<One>& m, bool complement, Stream stream) {
  require(a.rows == m.rows && a.cols == m.cols, "mask: matrices of one shape");
  return kept_entries(
      a, InMask{a.indptr.data, a.rows, a.indices.data, m.indptr.data, m.indices.data, complement}, stream);
}

template <class V>
Csr<V> take_rows_on(const Csr<V>& a, std::span<const std::int64_t> rows, std::span<const Index> places,
                    Stream stream) {
  require(places.empty() || std::ssize(places) == a.cols, "take_rows: one place for each column");
  for (std::size_t i = 0; i < rows.size(); ++i)
    require(rows[i] >= 0 && rows[i] < a.rows, [&] {
      return "rows[" + std::to_string(i) + "] = " + std::to_string(rows[i]) + " is outside [0, " +
             std::to_string(a.rows) + ")";
    });
  const auto here = device_place(stream.where);
  const auto n = std::ssize(rows);
  const auto taken = taken_there(rows, stream);
  const auto there = taken_there(places, stream);
  const auto indptr = allocate<Offset>(n + 1, here);
  each(n + 1, TakenLengths{a.indptr.data, taken.data, n, indptr.data}, stream);
  prefix_sums(indptr.data, n + 1, stream);
  const auto entries = fetch(indptr.data + n, stream);
  require_room("rows with " + std::to_string(entries) + " entries",
               entries * (static_cast<std::int64_t>(sizeof(Index)) + value_bytes<V>), stream);
  const auto indices = allocate<Index>(entries, here);
  each(entries,
       TakeEntries<Index>{indptr.data, n, a.indptr.data, taken.data, a.indices.data,
                          places.empty() ? nullptr : there.data, indices.data},
       stream);
  Csr<V> out{n, a.cols, indptr, indices, {}};
  if constexpr (!is_pattern<V>) {
    const auto values = allocate<V>(entries, here);
    each(entries,
         TakeEntries<Plain<V>>{indptr.data, n, a.indptr.data, taken.data, plain(a.values.data), nullptr,
                               plain(values.data)},
         stream);
    out.values = values;
  }
  synchronize(stream);
  return places.empty() ? out : sort_rows_on(out, false, stream);
}

#define X(V)                                                              \
  template Csr<V> triangle_on(const Csr<V>&, std::int64_t, bool, Stream); \
  template Csr<V> without_zeros_on(const Csr<V>&, Stream);                \
  template Csr<V> mask_on(const Csr<V>&, const Csr<One>&, bool, Stream);  \
  template Csr<V> take_rows_on(const Csr<V>&, std::span<const std::int64_t>, std::span<const Index>, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
