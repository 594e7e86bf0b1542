#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// Runs of rows whose columns are those of the row above moved by one, as in discretised PDEs and banded matrices. In a run,
/// entries number j of consecutive rows read consecutive entries of x: there are no gathers, and no indices are read. If the
/// rows of a run also have equal values, one row of values is kept (`shared`); other runs keep their values lane by lane. Rows
/// in no run stay in CSR (`rows`).
template <class V>
struct StencilPlan {
  enum class Kind : std::uint8_t { rows, shared, own };
  struct Run {
    std::int64_t first_row = 0, rows = 0;
    Offset values = 0;  // if it is not shared: where its values begin in `values`
    Kind kind = Kind::rows;
  };
  std::vector<std::vector<Run>> chunks;  // a chunk is a unit of work for a thread
  Array<V> values;  // of runs that are not shared: groups of kLanes rows (fewer at the end), entry by entry
  std::int64_t run_nnz = 0;  // entries that lie in runs
  static constexpr std::int64_t kLanes = is_pattern<V> ? 8 : 64 / std::max<std::int64_t>(1, value_bytes<V>);
  std::int64_t bytes() const;
};

template <class V>
StencilPlan<V> make_stencil(const CsrView<V>& a);

/// The share of a's entries that runs would hold. It reads the indices once and builds nothing.
template <class V>
double stencil_share(const CsrView<V>& a);

template <Semiring S, class V>
void spmv_stencil(const StencilPlan<V>& plan, const CsrView<V>& a, const typename S::value_type* x,
                  typename S::value_type* y, Scale<S> scale,
                  ProductDots<typename S::value_type>* dots = nullptr);

/// Rows [first, last) of one run, written to out[0 ..). `columns` and `values` are those of the first row; if the run is not
/// shared, values are those of its groups, and `first` is a multiple of the lanes.
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
