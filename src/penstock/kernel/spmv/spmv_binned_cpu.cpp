#include "penstock/kernel/spmv/spmv_binned.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/spmv_blocked.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSide = std::int64_t{1} << BinnedPlan<One>::kShift;
constexpr std::uint32_t kLocal = kSide - 1;
constexpr std::int64_t kStep = 16 << 10;  // entries between two calls of poll_interrupt()

/// Calls f(entry, row inside the bin, column) for the entries of bin `bin`, in row order.
template <class V, class F>
void for_each_entry(const CsrView<V>& a, std::int64_t bin, F&& f) {
  for (auto r = bin * kSide; r < std::min(a.rows, (bin + 1) * kSide); ++r)
    for (Offset k = a.indptr[r] - a.first_nnz, end = a.indptr[r + 1] - a.first_nnz; k < end;) {
      for (const auto stop = std::min(end, k + kStep); k < stop; ++k)
        f(k, static_cast<std::uint16_t>(r & kLocal), a.indices[k]);
      if (r % 256 == 0 || k < end) poll_interrupt();
    }
}

}  // namespace

template <class V>
BinnedPlan<V> make_binned(const CsrView<V>& a) {
  BinnedPlan<V> plan{
      .rows = a.rows, .row_bins = (a.rows + kSide - 1) / kSide, .col_bins = (a.cols + kSide - 1) / kSide};
  plan.start.assign(static_cast<std::size_t>(plan.row_bins * plan.col_bins + 1), 0);
  parallel_for(plan.row_bins, [&](std::int64_t bin) {
    Offset* count = plan.start.data() + bin * plan.col_bins + 1;
    for_each_entry(a, bin,
                   [&](Offset, std::uint16_t, Index column) { ++count[column >> BinnedPlan<V>::kShift]; });
  });
  for (std::size_t i = 1; i < plan.start.size(); ++i) plan.start[i] += plan.start[i - 1];
  plan.cols = allocate<std::uint16_t>(plan.start.back());
  plan.row_ids = allocate<std::uint16_t>(plan.start.back());
  if constexpr (!is_pattern<V>) plan.values = allocate<V>(plan.start.back());
  parallel_for(plan.row_bins, [&](std::int64_t bin) {
    const Offset* first = plan.start.data() + bin * plan.col_bins;
    std::vector<Offset> at(first, first + plan.col_bins);
    for_each_entry(a, bin, [&](Offset k, std::uint16_t row, Index column) {
      const auto to = at[static_cast<std::size_t>(column >> BinnedPlan<V>::kShift)]++;
      plan.cols.data[to] = static_cast<std::uint16_t>(static_cast<std::uint32_t>(column) & kLocal);
      plan.row_ids.data[to] = row;
      if constexpr (!is_pattern<V>) plan.values.data[to] = a.values[k];
    });
  });
  return plan;
}

template <Semiring S, class V>
void spmv_binned(const BinnedPlan<V>& plan, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale) {
  using T = typename S::value_type;
  const auto products = allocate<T>(plan.start.back());
  parallel_for(plan.col_bins, [&](std::int64_t c) {
    const T* from = x + c * kSide;
    for (std::int64_t bin = 0; bin < plan.row_bins; ++bin) {
      const auto* range = plan.start.data() + bin * plan.col_bins + c;
      for (Offset k = range[0]; k < range[1];) {
        for (const auto stop = std::min(range[1], k + 64 * kStep); k < stop; ++k) {
          if constexpr (is_pattern<V>) products.data[k] = from[plan.cols.data[k]];
          else products.data[k] = plan.values.data[k] * from[plan.cols.data[k]];
        }
        poll_interrupt();
      }
    }
  });
  parallel_for(plan.row_bins, [&](std::int64_t bin) {
    const auto first = bin * kSide, count = std::min(kSide, plan.rows - first);
    std::vector<T> sums(static_cast<std::size_t>(count), S::zero());
    const auto last = plan.start[static_cast<std::size_t>((bin + 1) * plan.col_bins)];
    for (auto k = plan.start[static_cast<std::size_t>(bin * plan.col_bins)]; k < last;) {
      for (const auto stop = std::min(last, k + kStep); k < stop; ++k)
        sums[plan.row_ids.data[k]] += products.data[k];
      poll_interrupt();
    }
    for (std::int64_t r = 0; r < count; ++r)
      y[first + r] = scale(sums[static_cast<std::size_t>(r)], y[first + r]);
  });
}

#define X(T, V) \
  template void spmv_binned<PlusTimes<T>, V>(const BinnedPlan<V>&, const T*, T*, Scale<PlusTimes<T>>);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X
template BinnedPlan<One> make_binned(const CsrView<One>&);
template BinnedPlan<float> make_binned(const CsrView<float>&);
template BinnedPlan<double> make_binned(const CsrView<double>&);

}  // namespace penstock
