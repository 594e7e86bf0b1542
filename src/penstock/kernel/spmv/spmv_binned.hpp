#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Binning, or propagation blocking (the second CPU rival of buono-2017; Beamer, Asanovic, Patterson, IPDPS 2017, with
/// destinations written once). Phase one walks ranges of columns that are small enough for their part of x to stay in the
/// cache, and writes every product to its place in a bin. Phase two adds up each bin, whose rows are a part of y that fits the
/// cache. All memory is read and written in order.
template <class V>
struct BinnedPlan {
  std::int64_t rows = 0, row_bins = 0, col_bins = 0;
  std::vector<Offset> start = {};  // where each (bin, column range) begins, bin by bin; and the end
  Array<std::uint16_t> cols = {}, row_ids = {};  // the column within its range, the row within its bin
  Array<V> values = {};
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(start.size() * sizeof(Offset)) + cols.bytes() + row_ids.bytes() +
           values.size * value_bytes<V>;
  }
  static constexpr std::int64_t kShift = 16;
};

template <class V>
BinnedPlan<V> make_binned(const CsrView<V>& a);

template <Semiring S, class V>
void spmv_binned(const BinnedPlan<V>& plan, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale);

}  // namespace penstock
