#pragma once
#include <cmath>
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock {

/// Entries of a row of C if its products fell on `cols` columns evenly: cols (1 - exp(-products / cols)), by a series where
/// that has ten digits, which is most rows.
template <class T>
constexpr T expected_entries(Offset products, T cols) {
  const auto p = static_cast<T>(products);
  if (products < 2) return p;
  const auto x = p / cols;
  const auto entries = cols * (x < T(1e-3) ? x * (1 - x / 2 * (1 - x / 3)) : -std::expm1(-x));
  return entries > 1 ? entries : T(1);
}

/// Of all rows of A B: out[0] = products, out[1] = expected entries. Of B row offsets alone are read. Queued on the stream,
/// in whose memory all of it is; the same bits in every run. Throws Error{not_compiled} for a GPU in a build without CUDA.
void spgemm_expected(const CsrView<One>& a, const CsrView<One>& b, double* out, Stream stream);

namespace gpu {
inline constexpr int kExpectedParts = 512;
/// parts[2 p], parts[2 p + 1]: those of some of the rows, of which all parts together have each once.
void expected_parts(const Offset* products, std::int64_t rows, std::int64_t cols, double* parts,
                    Stream stream);
/// out: the sums of `count` parts.
void expected_sums(const double* parts, std::int64_t count, double* out, Stream stream);
}  // namespace gpu

}  // namespace penstock
