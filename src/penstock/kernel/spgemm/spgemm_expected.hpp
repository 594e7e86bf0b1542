#pragma once
#include <cmath>
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock {

/// How many entries a row of C would have if its products fell on `cols` columns evenly: cols (1 - exp(-products / cols)). For
/// most rows a short series gives ten digits of it.
template <class T>
constexpr T expected_entries(Offset products, T cols) {
  const auto p = static_cast<T>(products);
  if (products < 2) return p;
  const auto x = p / cols;
  constexpr T kSmall = T(1e-3);  // below it, three terms of the series are exact to ten digits
  const auto entries = cols * (x < kSmall ? x * (1 - x / 2 * (1 - x / 3)) : -std::expm1(-x));
  return entries > 1 ? entries : T(1);
}

/// Sums over all rows of A B: out[0] = products, out[1] = expected entries. Only the row offsets of B are read. It is queued
/// on the stream, and all arrays are in that device's memory. The bits are the same in every run. Throws Error{not_compiled}
/// for a GPU in a build without CUDA.
void spgemm_expected(const CsrView<One>& a, const CsrView<One>& b, double* out, Stream stream);

namespace gpu {
inline constexpr int kExpectedParts = 512;
/// Writes partial sums: parts[2 p] and parts[2 p + 1] are the products and expected entries of some rows. Each row is in
/// exactly one part.
void expected_parts(const Offset* products, std::int64_t rows, std::int64_t cols, double* parts,
                    Stream stream);
/// Writes the sums of `count` parts to `out`.
void expected_sums(const double* parts, std::int64_t count, double* out, Stream stream);
}  // namespace gpu

}  // namespace penstock
