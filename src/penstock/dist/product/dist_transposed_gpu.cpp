// Products with the transpose on GPUs: the exchanges of a product go the other way. Where no row is shared, sums for ghosts
// travel while the owned rows are multiplied.
#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/dist/product/dist_product_gpu.hpp"
#include "penstock/kernel/structure/transpose.hpp"

namespace penstock {

/// The transpose of rows [first, last), on the device.
template <class V>
Csr<V> DistProductGpu<V>::transposed_of(const Csr<V>& a, std::int64_t first, std::int64_t last) {
  const auto begin = a.indptr.data[first], end = a.indptr.data[last];
  const auto offsets = allocate<Offset>(last - first + 1);
  for (auto r = first; r <= last; ++r) offsets.data[r - first] = a.indptr.data[r] - begin;
  Csr<V> some{last - first, a.cols, offsets, a.indices.slice(begin, end - begin), {}};
  if constexpr (!is_pattern<V>) some.values = a.values.slice(begin, end - begin);
  const auto t = transpose(some);
  Csr<V> here{t.rows, t.cols, copied(t.indptr), copied(t.indices), {}};
  if constexpr (!is_pattern<V>) here.values = copied(t.values);
  return here;
}

template <class V>
typename DistProductGpu<V>::Links& DistProductGpu<V>::links_back(std::int64_t value_bytes,
                                                                 std::int64_t columns) {
  const auto key = std::tuple(value_bytes, columns, true);
  if (const auto found = links_.find(key); found != links_.end()) return found->second;
  const ScopedTimer timer(&times_.setup);
  if (!transposed_) {
    const auto& l = a_.local;
    const auto& h = a_.halo;
    transposed_ = Transposed{transposed_of(l, 0, a_.rows()), transposed_of(l, a_.rows(), l.rows),
                             transposed_of(h, 0, a_.rows()), transposed_of(h, a_.rows(), h.rows)};
  }
  Links l;
  l.columns = columns;
  const auto planned = [&](const Csr<V>& a) {
    return plan(rows_of(a, 0, a.rows, 0, a.nnz()), value_bytes, columns);
  };
  l.own = planned(transposed_->own), l.foreign = planned(transposed_->foreign);
  l.halo_own = planned(transposed_->halo_own), l.halo_foreign = planned(transposed_->halo_foreign);
  const auto entry_bytes = value_bytes * columns;
  if (any_foreign_) {
    const HaloContext rows{a_.comm, a_.sums, entry_bytes, options_.where};
    if (strategy_.empty()) strategy_ = choose_gpu_halo(rows);
    l.x = make_gpu_halo(strategy_, rows);
  }
  if (any_ghosts_)
    l.sums = std::make_unique<SumsGpu>(HaloContext{a_.comm, a_.plan, entry_bytes, options_.where});
  return links_.emplace(key, std::move(l)).first->second;
}

template <class V>
template <Semiring S>
void DistProductGpu<V>::multiply_columns_transposed(const typename S::value_type* x,
                                                    typename S::value_type* y, std::int64_t columns,
                                                    Scale<S> scale, Stream stream) {
  using T = typename S::value_type;
  require_possible(columns, stream);
  require(!streaming_, "distributed product: a local block that is streamed has no transpose on the GPU");
  auto& l = links_back(sizeof(T), columns);
  const auto& t = *transposed_;
  auto& m = next_marks();
  auto* ghosts = l.sums ? static_cast<T*>(l.sums->values()) : nullptr;
  const auto multiply_block = [&](const Csr<V>& a, const T* from, T* to, Scale<S> block_scale,
                                  const Plan& plan) {
    if (a.rows > 0) block<S>(rows_of(a, 0, a.rows, 0, a.nnz()), from, to, columns, block_scale, stream, plan);
  };
  const Scale<S> more{scale.alpha, S::one()};
  try {
    m.begun.set(stream);
    if (l.x) l.x->begin(x, stream);
    if (ghosts) multiply_block(t.halo_own, x, ghosts, {scale.alpha}, l.halo_own);
    if (ghosts && !l.x) l.sums->begin(stream);
    multiply_block(t.own, x, y, scale, l.own);
    m.local.set(stream);
    if (l.x) l.x->end(stream);
    m.arrived.set(stream);
    if (l.x) {
      const auto* theirs = static_cast<const T*>(l.x->ghosts());
      if (ghosts) {
        if (t.halo_foreign.nnz() > 0) multiply_block(t.halo_foreign, theirs, ghosts, more, l.halo_foreign);
        l.sums->begin(stream);
      }
      if (t.foreign.nnz() > 0) multiply_block(t.foreign, theirs, y, more, l.foreign);
    }
    if (l.sums) l.sums->template end<S>(y, columns, stream);
    m.done.set(stream);
    m.open = true;
  } catch (...) {
    if (l.x) l.x->abandon();
    throw;
  }
  ++times_.products;
}

#define X(S, V)                                                                                         \
  template void DistProductGpu<V>::multiply_columns_transposed<S>(const S::value_type*, S::value_type*, \
                                                                  std::int64_t, Scale<S>, Stream);
PENSTOCK_FOR_EACH_DIST(X)
#undef X

}  // namespace penstock
