// Sorts entries by (row, column) on a device. Where there are no duplicates, which is the usual case, values travel with the
// keys in one sort. Otherwise numbers of entries are sorted: first by the bits of the values, then by the keys, so that equal
// entries are added up in the order that the CPU takes.
#include "penstock/kernel/structure/coo_gpu.hpp"

#include <limits>
#include <string>
#include <utility>

#include "penstock/format/faults.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock {
namespace {

constexpr int kMostKeyBits = 63;  // the key behind the last row fits 64 bits, too

/// Row and column in one number.
struct EntryKey {
  std::int64_t rows, cols;
  int column_bits, bits;

  EntryKey(std::int64_t rows_, std::int64_t cols_)
      : rows(rows_), cols(cols_), column_bits(bits_below(cols_)), bits(column_bits + bits_below(rows_)) {
    require(bits <= kMostKeyBits, "sorting entries on a GPU: " + std::to_string(rows) + " x " +
                                      std::to_string(cols) +
                                      " is too large, row and column must fit 63 bits: do it on the host");
  }
};

using Keys = Buffers<std::uint64_t>;

constexpr auto kKeyBytes = static_cast<std::int64_t>(sizeof(std::uint64_t));
constexpr int kLeastPayload = sizeof(Index);  // a sort moves at least so much with a key

/// What sorting takes on a device, the matrix included.
template <class V>
std::int64_t sorting_bytes(std::int64_t n, std::int64_t rows, Stream stream) {
  constexpr auto kPayload = std::max<int>(kLeastPayload, value_bytes<V>);
  return (rows + 1) * static_cast<std::int64_t>(sizeof(Offset)) +
         n * (2 * kKeyBytes + 2 * kPayload + static_cast<std::int64_t>(sizeof(Index))) +
         sort_pairs_bytes(kKeyBytes, kPayload, n, stream);
}

/// What duplicates take beside that.
template <class V>
std::int64_t merging_bytes(std::int64_t n, Stream stream) {
  return n * (4 * kKeyBytes + value_bytes<V>)+sort_pairs_bytes(kKeyBytes, kKeyBytes, n, stream);
}

/// The matrix of sorted keys that all differ, and their values.
template <class V>
Csr<V> from_keys(const EntryKey& key, const Array<std::uint64_t>& keys, const Array<V>& values,
                 Stream stream) {
  const auto here = device_place(stream.where);
  const auto indptr = allocate<Offset>(key.rows + 1, here);
  const auto indices = allocate<Index>(keys.size, here);
  each(key.rows + 1, FirstAtLeast<std::uint64_t>{keys.data, keys.size, key.column_bits, indptr.data}, stream);
  each(keys.size, KeyColumns{keys.data, key.column_bits, indices.data}, stream);
  synchronize(stream);
  return {key.rows, key.cols, indptr, indices, values};
}

/// The matrix of sorted keys whose equal ones become one. Values are in the order in which they are added up.
template <class V>
Csr<V> merged_keys(const EntryKey& key, const Array<std::uint64_t>& keys, const Array<V>& values,
                   Stream stream) {
  const auto here = device_place(stream.where);
  const auto n = keys.size;
  const auto starts = allocate<Offset>(n + 1, here);
  each(n + 1, KeyHeads{keys.data, n, starts.data}, stream);
  prefix_sums(starts.data, n + 1, stream);
  const auto left = fetch(starts.data + n, stream);
  const auto indptr = allocate<Offset>(key.rows + 1, here);
  const auto indices = allocate<Index>(left, here);
  each(key.rows + 1, MergedOffsets{keys.data, n, key.column_bits, starts.data, indptr.data}, stream);
  each(n, MergeColumns{keys.data, key.column_bits, starts.data, indices.data}, stream);
  Csr<V> out{key.rows, key.cols, indptr, indices, {}};
  if constexpr (!is_pattern<V>) {
    const auto sums = allocate<V>(left, here);
    each(n, MergeValues<Plain<V>>{keys.data, n, starts.data, plain(values.data), plain(sums.data)}, stream);
    out.values = sums;
  }
  synchronize(stream);
  return out;
}

/// Sorts keys and values by the keys, and equal ones by the bits of their values. The sort moves numbers of entries.
template <class V>
void sort_by_values(const EntryKey& key, Keys& keys, Array<V>& values, Stream stream) {
  const auto n = keys.first.size;
  Buffers<std::uint64_t> order(n, stream);
  Keys parts(n, stream);
  each(n, Numbers{order.first.data}, stream);
  for (int part = kKeysOfValue<V> - 1; part >= 0; --part) {  // the least significant one first
    each(n, ValueKeys<Plain<V>>{plain(values.data), order.first.data, part, parts.first.data}, stream);
    sort_pairs(parts, order, sizeof(V) == 4 ? 32 : 64, stream);
  }
  each(n, Gather<std::uint64_t>{keys.first.data, order.first.data, parts.first.data}, stream);
  sort_pairs(parts, order, key.bits, stream);
  std::swap(keys.first, parts.first);
  const auto sorted = allocate<V>(n, device_place(stream.where));
  each(n, Gather<Plain<V>>{plain(values.data), order.first.data, plain(sorted.data)}, stream);
  synchronize(stream);
  values = sorted;
}

/// The matrix of keys and values in any order, which it takes over. `merge` adds up equal ones; without it they keep their
/// order.
template <class V>
Csr<V> sorted_matrix(const EntryKey& key, Keys& keys, const Array<const V>& given, bool merge,
                     Stream stream) {
  const auto n = keys.first.size;
  if constexpr (is_pattern<V>) {
    Buffers<Index> none(n, stream);  // the least payload there is
    fill_async(none.first.data, 0, none.first.bytes(), stream);
    sort_pairs(keys, none, key.bits, stream);
    synchronize(stream);
    const bool repeats = merge && find_first(n, SameKey{keys.first.data}, stream) != kNone;
    return repeats ? merged_keys<V>(key, keys.first, {}, stream) : from_keys<V>(key, keys.first, {}, stream);
  } else {
    Buffers<V> values(n, stream);
    copy_async(values.first.data, given.data, given.bytes(), stream);
    sort_pairs(keys, values, key.bits, stream);
    if (!merge || find_first(n, SameKey{keys.first.data}, stream) == kNone) {
      synchronize(stream);  // before a buffer is freed
      values.second = {};
      return from_keys<V>(key, keys.first, values.first, stream);
    }
    values.second = {};
    require_room("adding up duplicates of " + std::to_string(n) + " entries", merging_bytes<V>(n, stream),
                 stream);
    sort_by_values(key, keys, values.first, stream);
    return merged_keys<V>(key, keys.first, values.first, stream);
  }
}

template <class T>
void check_numbers(const T* numbers, std::int64_t n, std::int64_t extent, const char* what, Stream stream) {
  const auto k = find_first(n, OutsideRange<T>{numbers, extent}, stream);
  if (k != kNone) refuse_entry(what, k, fetch(numbers + k, stream), extent);
}

/// f(pointer) for the width that the numbers have.
template <class F>
void with_width(const CooIndices& numbers, F&& f) {
  if (numbers.wide) f(static_cast<const std::int64_t*>(numbers.data));
  else f(static_cast<const std::int32_t*>(numbers.data));
}

}  // namespace

template <class V>
Csr<V> coo_to_csr_on(const CooView<V>& coo, Stream stream) {
  require(coo.rows >= 0 && coo.cols >= 0 && coo.cols <= std::numeric_limits<Index>::max(),
          "a shape of " + std::to_string(coo.rows) + " x " + std::to_string(coo.cols) +
              " is negative, or has more than 2^31 - 1 columns");
  const EntryKey key(coo.rows, coo.cols);
  const auto n = coo.entries;
  with_width(coo.row, [&](const auto* row) { check_numbers(row, n, coo.rows, "row", stream); });
  with_width(coo.col, [&](const auto* col) { check_numbers(col, n, coo.cols, "column", stream); });
  require_room("a matrix of " + std::to_string(n) + " entries, sorted there,",
               sorting_bytes<V>(n, coo.rows, stream), stream);
  Keys keys(n, stream);
  with_width(coo.row, [&]<class R>(const R* row) {
    with_width(coo.col, [&]<class C>(const C* col) {
      each(n, TripleKeys<R, C>{row, col, key.column_bits, keys.first.data}, stream);
    });
  });
  return sorted_matrix<V>(key, keys, {coo.values, n, device_place(stream.where), nullptr}, true, stream);
}

template <class V>
Csr<V> sort_rows_on(const Csr<V>& a, bool merge, Stream stream) {
  const EntryKey key(a.rows, a.cols);
  require_room("sorting the rows of " + std::to_string(a.nnz()) + " entries",
               sorting_bytes<V>(a.nnz(), a.rows, stream), stream);
  Keys keys(a.nnz(), stream);
  each(a.nnz(), EntryKeys{a.indptr.data, a.rows, a.indices.data, key.column_bits, keys.first.data}, stream);
  return sorted_matrix<V>(key, keys, a.values, merge, stream);
}

RowOrder row_order_on(const Csr<One>& a, Stream stream) {
  const auto any = [&](bool repeats) {
    return find_first(a.nnz(), OutOfOrder{a.indptr.data, a.rows, a.indices.data, repeats}, stream) != kNone;
  };
  const bool sorted = !any(false);
  return {sorted, sorted && !any(true)};
}

#define X(V)                                                \
  template Csr<V> coo_to_csr_on(const CooView<V>&, Stream); \
  template Csr<V> sort_rows_on(const Csr<V>&, bool, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
