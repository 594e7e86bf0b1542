#include "penstock/kernel/structure/transpose_gpu.hpp"

#include <limits>

#include "penstock/kernel/structure/entry_steps.hpp"
#include "penstock/kernel/structure/transpose.hpp"

namespace penstock {
namespace {

using TransposeKeys = Buffers<std::uint32_t>;  // columns

template <class V>
std::int64_t transpose_bytes(const Csr<V>& a, Stream stream) {
  constexpr auto kKey = static_cast<int>(sizeof(std::uint32_t));
  const auto n = a.nnz();
  const auto with_rows = 2 * n * static_cast<std::int64_t>(kKey + sizeof(Index)) +
                         sort_pairs_bytes(kKey, sizeof(Index), n, stream);
  std::int64_t with_values = 0;
  if constexpr (!is_pattern<V>)
    with_values = n * static_cast<std::int64_t>(2 * kKey + sizeof(Index) + 2 * sizeof(V)) +
                  sort_pairs_bytes(kKey, sizeof(V), n, stream);
  return (a.cols + 1) * static_cast<std::int64_t>(sizeof(Offset)) + std::max(with_rows, with_values);
}

}  // namespace

template <class V>
Csr<V> transpose_on(const Csr<V>& a, Stream stream) {
  require(a.rows <= std::numeric_limits<Index>::max(),
          "transpose: " + std::to_string(a.rows) +
              " rows exceed 2^31 - 1, the columns that a matrix may have: split the matrix by rows first");
  require_room("transpose: a matrix of " + std::to_string(a.nnz()) + " entries", transpose_bytes(a, stream),
               stream);
  const auto n = a.nnz();
  const int bits = bits_below(a.cols);
  const auto indptr = allocate<Offset>(a.cols + 1, device_place(stream.where));
  Csr<V> out{a.cols, a.rows, indptr, {}, {}};
  TransposeKeys columns(n, stream);
  copy_async(columns.first.data, a.indices.data, a.indices.bytes(), stream);
  {
    Buffers<Index> rows(n, stream);
    each(n, RowNumbers{a.indptr.data, a.rows, rows.first.data}, stream);
    sort_pairs(columns, rows, bits, stream);
    synchronize(stream);  // before one of the buffers is freed
    out.indices = rows.first;
  }
  each(a.cols + 1, FirstAtLeast<std::uint32_t>{columns.first.data, n, 0, indptr.data}, stream);
  if constexpr (!is_pattern<V>) {
    // The same sort moves the values: it keeps the order of equal columns, so that both agree.
    Buffers<V> values(n, stream);
    copy_async(columns.first.data, a.indices.data, a.indices.bytes(), stream);
    copy_async(values.first.data, a.values.data, a.values.bytes(), stream);
    sort_pairs(columns, values, bits, stream);
    synchronize(stream);
    out.values = values.first;
  }
  synchronize(stream);
  return out;
}

#define X(V) template Csr<V> transpose_on(const Csr<V>&, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
