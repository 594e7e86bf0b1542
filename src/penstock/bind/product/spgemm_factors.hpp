#pragma once
#include <concepts>
#include <string>
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

// What the bindings of sparse products on a GPU share.
namespace penstock::bind {

/// A or B as factors of S on a GPU, or on the CPU (gpu < 0); a pattern's entries are ones, and over or_and only the pattern
/// counts. False for values that S does not take.
template <class S>
bool factor(const Matrix& m, int gpu, CsrView<typename S::value_type>& out) {
  using T = typename S::value_type;
  return std::visit(
      [&]<class V>(const Csr<V>& c) {
        if (!is_pattern<V> && !std::same_as<V, T> && !BooleanSemiring<S>) return false;
        if (gpu >= 0) readable_by(gpu, c, "spgemm_gpu");
        else require(can_read(Where{}, c.indices.place), "spgemm: the CPU cannot read a GPU's memory");
        out = {.rows = c.rows,
               .cols = c.cols,
               .indptr = c.indptr.data,
               .indices = c.indices.data,
               .count = c.nnz()};
        if constexpr (std::same_as<V, T>) out.values = c.values.data;
        return true;
      },
      m.any());
}

template <class S>
bool named(const std::string& semiring, const std::string& dtype) {
  return semiring == semiring_name<S>() && dtype == dtype_name<ProductValue<S>>();
}

[[noreturn]] inline void refuse(const std::string& semiring, const std::string& dtype) {
  throw Error(Errc::not_compiled,
              "no product of these matrices over " + semiring + " in " + dtype +
                  " on a GPU: there is plus_times of float32, float64 and patterns, and or_and");
}

/// Binds the product by blocks of rows.
void spgemm_blocks(nb::module_& m);

}  // namespace penstock::bind
