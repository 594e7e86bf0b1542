#include "penstock/kernel/spmv/spmv.hpp"

#include <algorithm>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"

namespace penstock {

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream) {
  if (!stream.where.is_gpu()) return cpu::spmv<S, V>(a, x, y, scale);
  if constexpr (have_cuda) gpu::spmv<S, V>(a, x, y, scale, stream);
  else no_cuda("spmv on a GPU");
}

template <Semiring S, class V>
void spmv(CsrView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
          Stream stream, [[maybe_unused]] const SpmvGpuPlan& plan) {
  if (!stream.where.is_gpu()) return cpu::spmv<S, V>(a, x, y, scale);
  if constexpr (have_cuda) gpu::spmv<S, V>(a, x, y, scale, stream, plan);
  else no_cuda("spmv on a GPU");
}

template <class V>
SpmvGpuPlan plan_spmv([[maybe_unused]] const CsrView<V>& a, [[maybe_unused]] std::int64_t entry_bytes,
                      Stream stream, [[maybe_unused]] bool tiles) {
  if (!stream.where.is_gpu()) return {};
  if constexpr (have_cuda) return gpu::plan_spmv(a, entry_bytes, stream, tiles);
  else no_cuda("spmv on a GPU");
}

std::int64_t rows_of_tile(std::int64_t rows, Offset nnz, Offset longest, std::int64_t tile_items) {
  constexpr Offset kShort = 64;           // the lanes of a warp share a row of this length evenly
  constexpr std::int64_t kOnePass = 255;  // rows that 256 threads finish at once
  constexpr double kLeastFilled = 0.6;    // the least share of a tile's items that must be used on average
  // Up to this many rows, a second pass for the few rows above kOnePass would cost more than smaller tiles do.
  constexpr std::int64_t kNotTwoPasses = kOnePass * 4 / 3;
  if (longest == 0 || longest > kShort) return 0;
  auto fit = tile_items / longest;
  if (fit > kOnePass && fit < kNotTwoPasses) fit = kOnePass;
  fit = std::min(fit, std::max<std::int64_t>(rows, 1));
  const auto mean = static_cast<double>(nnz) / static_cast<double>(rows);
  return mean * static_cast<double>(fit) >= kLeastFilled * static_cast<double>(tile_items) ? fit : 0;
}

// Microseconds on an H200 by tiles, by rows, and by cuSPARSE: bcsstk32 (45 entries a row) in float32 9.8, 5.7, 9.5;
// web-NotreDame (5, uneven) in float64 17.6, 13.1, 17.2; cnr-2000 (10, uneven) in float32 18.1, 14.2, 14.0. Of 2, 4, 8, 16 and
// 32 threads a row the best were 16, 4 and 4. For matrices beyond the cache tiles are faster: a stencil of 256^3 in float64
// took 424 by tiles and 461 by rows.
int lanes_of_rows(std::int64_t rows, Offset nnz, Offset longest, std::int64_t value_bytes,
                  std::int64_t cache_bytes) {
  constexpr Offset kLongest = 4096;       // 16 rounds of a block
  constexpr double kEntriesOfLane = 2.4;  // gives the best numbers of threads that are named above
  constexpr int kFewest = 2, kMost = 16;  // threads of a row
  if (rows == 0 || rows > 0x7fffffff || longest > kLongest) return 0;
  // The matrix may take four fifths of the cache; the rest is for x and y.
  const auto most_bytes = cache_bytes / 5 * 4;
  if (rows * 8 + nnz * (4 + value_bytes) > most_bytes) return 0;
  const auto wanted = static_cast<double>(nnz) / static_cast<double>(rows) / kEntriesOfLane;
  int lanes = kFewest;
  while (lanes < kMost && 2 * lanes <= wanted) lanes *= 2;
  return lanes;
}

#define X(S, V)                                                                                 \
  template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream); \
  template void spmv<S, V>(CsrView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream,  \
                           const SpmvGpuPlan&);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X
#define X(V) template SpmvGpuPlan plan_spmv(const CsrView<V>&, std::int64_t, Stream, bool);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
