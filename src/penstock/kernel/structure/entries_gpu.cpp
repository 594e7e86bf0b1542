#include "penstock/kernel/structure/entries_gpu.hpp"

#include <algorithm>

#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock {
namespace {

/// A copy on the stream's device of n numbers of the host; nothing for none.
template <class T>
Array<T> uploaded(const T* numbers, std::int64_t n, Stream stream) {
  if (!numbers) return {};
  const auto there = allocate<T>(n, device_place(stream.where));
  copy_async(there.data, numbers, there.bytes(), stream);
  return there;
}

}  // namespace

template <class V>
Csr<V> row_range_on(const Csr<V>& a, std::int64_t first, std::int64_t last, Stream stream) {
  const auto begin = fetch(a.indptr.data + first, stream), end = fetch(a.indptr.data + last, stream);
  const auto indptr = allocate<Offset>(last - first + 1, device_place(stream.where));
  each(indptr.size, LessBase{a.indptr.data + first, begin, indptr.data}, stream);
  synchronize(stream);
  Csr<V> out{last - first, a.cols, indptr, a.indices.slice(begin, end - begin), {}};
  if constexpr (!is_pattern<V>) out.values = a.values.slice(begin, end - begin);
  return out;
}

template <class T, class V>
Csr<T> scale_on(const Csr<V>& a, const T* rows, const T* cols, Stream stream) {
  const auto by_row = uploaded(rows, a.rows, stream), by_column = uploaded(cols, a.cols, stream);
  const auto values = allocate<T>(a.nnz(), device_place(stream.where));
  each(a.nnz(),
       ScaleValues<Plain<T>, Plain<V>>{a.indptr.data, a.rows, a.indices.data, plain(a.values.data),
                                       plain(by_row.data), plain(by_column.data), plain(values.data)},
       stream);
  synchronize(stream);
  return {a.rows, a.cols, a.indptr, a.indices, values};
}

template <class V>
Array<std::conditional_t<is_pattern<V>, bool, V>> diagonal_on(const Csr<V>& a, std::int64_t k,
                                                              Stream stream) {
  using T = std::conditional_t<is_pattern<V>, bool, V>;
  const auto first_row = std::max<std::int64_t>(-k, 0), first_column = std::max<std::int64_t>(k, 0);
  const auto out = allocate<T>(std::min(a.rows - first_row, a.cols - first_column));
  const auto there = allocate<T>(out.size, device_place(stream.where));
  each(out.size,
       TakeDiagonal<Plain<V>>{a.indptr.data, a.indices.data, plain(a.values.data), first_row, first_column,
                              plain(there.data)},
       stream);
  copy_async(out.data, there.data, out.bytes(), stream);
  synchronize(stream);
  return out;
}

template <class T, class V>
Csr<T> converted_on(const Csr<V>& a, Stream stream) {
  const auto values = allocate<T>(a.nnz(), device_place(stream.where));
  each(a.nnz(), ConvertValues<Plain<V>, Plain<T>>{plain(a.values.data), plain(values.data)}, stream);
  synchronize(stream);
  return {a.rows, a.cols, a.indptr, a.indices, values};
}

#define X(V)                                                                       \
  template Csr<V> row_range_on(const Csr<V>&, std::int64_t, std::int64_t, Stream); \
  template Array<std::conditional_t<is_pattern<V>, bool, V>> diagonal_on(const Csr<V>&, std::int64_t, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X
#define PENSTOCK_CONVERTED(From, To) template Csr<To> converted_on(const Csr<From>&, Stream);
PENSTOCK_FOR_EACH_CONVERSION(PENSTOCK_CONVERTED)
#undef PENSTOCK_CONVERTED

#define X(T)                                                             \
  template Csr<T> scale_on(const Csr<One>&, const T*, const T*, Stream); \
  template Csr<T> scale_on(const Csr<T>&, const T*, const T*, Stream);   \
  template Csr<T> converted_on(const Csr<One>&, Stream);
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
