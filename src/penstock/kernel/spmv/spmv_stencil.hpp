#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Runs of rows whose columns are those of the row above moved by one, as discretised PDEs and banded matrices have
/// them. In a run the entry j of consecutive rows reads consecutive x: no gather and no index is read. A run whose rows
/// also have equal values keeps one row of them (`shared`); another keeps its values lane by lane. The other rows
/// stay in CSR (`rows`).
template <class V>
struct StencilPlan {
  enum class Kind : std::uint8_t { rows, shared, own };
  struct Run {
    std::int64_t first_row = 0, rows = 0;
    Offset values = 0;  // of an own run: where its values begin in `values`
    Kind kind = Kind::rows;
  };
  std::vector<std::vector<Run>> chunks;  // a chunk is a unit of work for a thread
  Array<V> values;           // of own runs: groups of kLanes rows (fewer at a run's end), entry by entry
  std::int64_t run_nnz = 0;  // entries that lie in runs
  static constexpr std::int64_t kLanes = is_pattern<V> ? 8 : 64 / std::max<std::int64_t>(1, value_bytes<V>);
  std::int64_t bytes() const;
};

template <class V>
StencilPlan<V> make_stencil(const CsrView<V>& a);

/// The share of a's entries that runs would hold, without building anything: a pass over the indices.
template <class V>
double stencil_share(const CsrView<V>& a);

template <Semiring S, class V>
void spmv_stencil(const StencilPlan<V>& plan, const CsrView<V>& a, const typename S::value_type* x,
                  typename S::value_type* y, Scale<S> scale,
                  ProductDots<typename S::value_type>* dots = nullptr);

/// Rows [first, last) of one run, into out[0 ..). `columns` and `values` are the first row's; an own run's values are
/// those of its groups, and `first` is a multiple of the lanes.
template <class T, class V>
struct StencilArgs {
  const Index* columns;
  std::int64_t length;
  const V* values;
  bool shared;
  std::int64_t rows, first, last;
  const T* x;
  T* out;
};
template <class T, class V>
using StencilKernel = void (*)(const StencilArgs<T, V>&);
namespace avx2 {
template <class T, class V>
void stencil(const StencilArgs<T, V>&);
}
namespace avx512 {
template <class T, class V>
void stencil(const StencilArgs<T, V>&);
}

}  // namespace penstock
