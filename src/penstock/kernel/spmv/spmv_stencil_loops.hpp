#pragma once
#include "penstock/kernel/spmv/spmv_stencil.hpp"

// The stencil kernel as plain loops over lanes, which every compiler vectorises. It is compiled once for each instruction set:
// `Isa` is a type of the including file's own unnamed namespace, so that the linker keeps all versions.
namespace penstock::stencil_loops {

template <class Isa, class T, class V>
void lanes(const StencilArgs<T, V>& p, std::int64_t row, std::int64_t count) {
  constexpr std::int64_t kLanes = StencilPlan<V>::kLanes;
  T sum[kLanes] = {};
  const V* v = p.values;
  if constexpr (!is_pattern<V>)
    if (!p.shared) v += row * p.length;
  for (std::int64_t j = 0; j < p.length; ++j) {
    const T* x = p.x + p.columns[j] + row;
    if constexpr (is_pattern<V>) {
      for (std::int64_t l = 0; l < count; ++l) sum[l] += x[l];
    } else if (p.shared) {
      const T c = v[j];
      for (std::int64_t l = 0; l < count; ++l) sum[l] += c * x[l];
    } else {
      for (std::int64_t l = 0; l < count; ++l) sum[l] += v[l] * x[l];
      v += count;
    }
  }
  for (std::int64_t l = 0; l < count; ++l) p.out[row - p.first + l] = sum[l];
}

template <class Isa, class T, class V>
void stencil(const StencilArgs<T, V>& p) {
  constexpr std::int64_t kLanes = StencilPlan<V>::kLanes;
  auto row = p.first;
  for (; row + kLanes <= p.last; row += kLanes) lanes<Isa>(p, row, kLanes);
  if (row < p.last) lanes<Isa>(p, row, p.last - row);
}

}  // namespace penstock::stencil_loops
