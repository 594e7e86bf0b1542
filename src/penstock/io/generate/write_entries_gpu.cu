// Makes the arrays of a matrix from sorted keys.
#include "penstock/io/generate/keys_gpu.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

template <class V>
__global__ void __launch_bounds__(kThreads)
    write_columns(const std::uint64_t* __restrict__ keys, std::int64_t count, int bits, std::uint64_t first,
                  EntryValues value, Index* __restrict__ indices, V* __restrict__ values) {
  const auto k = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= count) return;
  const auto key = __ldcs(reinterpret_cast<const unsigned long long*>(keys) + k) + first;
  const auto row = std::int64_t(key >> bits), column = std::int64_t(key & ((std::uint64_t{1} << bits) - 1));
  indices[k] = Index(column);
  if constexpr (!is_pattern<V>) values[k] = value.template of<V>(row, column);
}

/// Searches the keys once for each row. A loop over the rows that an entry skips could take one thread through all rows.
__global__ void __launch_bounds__(kThreads)
    write_offsets(const std::uint64_t* __restrict__ keys, std::int64_t count, int bits, std::uint64_t first,
                  Offset begin, std::int64_t first_row, std::int64_t last_row, Offset* __restrict__ indptr) {
  const auto row = first_row + std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= last_row) return;
  const auto start = (std::uint64_t(row) << bits) - first;
  std::int64_t low = 0, high = count;
  while (low < high) {
    const auto middle = (low + high) / 2;
    if (keys[middle] < start) low = middle + 1;
    else high = middle;
  }
  indptr[row] = begin + low;
}

}  // namespace

template <class V>
void write_entries(const std::uint64_t* keys, std::int64_t count, KeyShape shape, KeyRange range,
                   Offset begin, EntryValues value, Offset* indptr, Index* indices, V* values,
                   Stream stream) {
  const int bits = shape.column_bits();
  if (count > 0)
    launch(write_columns<V>, blocks_for(count), stream, keys, count, bits, range.first, value,
           indices + begin, is_pattern<V> ? values : values + begin);
  const auto [first_row, last_row] = rows_starting_in(shape, range);
  if (last_row > first_row)
    launch(write_offsets, blocks_for(last_row - first_row), stream, keys, count, bits, range.first, begin,
           first_row, last_row, indptr);
}

#define X(V)                                                                                               \
  template void write_entries(const std::uint64_t*, std::int64_t, KeyShape, KeyRange, Offset, EntryValues, \
                              Offset*, Index*, V*, Stream);
X(One) X(float) X(double)
#undef X

}  // namespace penstock::gpu
