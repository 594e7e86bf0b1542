#include "penstock/kernel/structure/check_gpu.hpp"

#include <limits>

#include "penstock/format/faults.hpp"
#include "penstock/kernel/structure/entry_steps.hpp"

namespace penstock {

template <class V>
void validate_on(const Csr<V>& a, Stream stream) {
  Offset first = 0, last = 0;
  if (a.indptr.size > 0)
    first = fetch(a.indptr.data, stream), last = fetch(a.indptr.data + a.indptr.size - 1, stream);
  validate_sizes(a, first, last);
  if (const auto r = find_first(a.rows, OffsetsFall{a.indptr.data}, stream); r != kNone)
    refuse_offsets(r, fetch(a.indptr.data + r, stream), fetch(a.indptr.data + r + 1, stream));
  const auto k = find_first(a.nnz(), OutsideRange<Index>{a.indices.data, a.cols}, stream);
  if (k != kNone) refuse_column(k, fetch(a.indices.data + k, stream), a.cols);
}

Array<const Offset> wide_offsets(const std::int32_t* offsets, std::int64_t n, Stream stream) {
  const auto wide = allocate<Offset>(n, device_place(stream.where));
  each(n, ConvertIndices<std::int32_t, std::int64_t>{offsets, wide.data}, stream);
  synchronize(stream);
  return wide;
}

Array<const Index> narrow_columns(const std::int64_t* columns, std::int64_t n, const std::string& name,
                                  Stream stream) {
  constexpr std::int64_t kEnd = std::int64_t{std::numeric_limits<Index>::max()} + 1;
  const auto k = find_first(n, OutsideRange<std::int64_t>{columns, kEnd}, stream);
  require(k == kNone, [&] {
    return name + "[" + std::to_string(k) + "] = " + std::to_string(fetch(columns + k, stream)) +
           " is outside 0 .. 2^31 - 1, the columns that one matrix may have: split a wider matrix by columns";
  });
  const auto narrow = allocate<Index>(n, device_place(stream.where));
  each(n, ConvertIndices<std::int64_t, std::int32_t>{columns, narrow.data}, stream);
  synchronize(stream);
  return narrow;
}

Array<const std::int32_t> narrow_offsets(const Array<const Offset>& offsets, Offset entries, Stream stream) {
  require(entries <= std::numeric_limits<std::int32_t>::max(), [&] {
    return std::to_string(entries) +
           " entries are more than row offsets of 32 bits count, 2^31 - 1, which CuPy and PyTorch want "
           "beside columns "
           "of 32 bits: hand over parts, A[i:j]";
  });
  const auto narrow = allocate<std::int32_t>(offsets.size, device_place(stream.where));
  each(offsets.size, ConvertIndices<std::int64_t, std::int32_t>{offsets.data, narrow.data}, stream);
  synchronize(stream);
  return narrow;
}

#define X(V) template void validate_on(const Csr<V>&, Stream);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
