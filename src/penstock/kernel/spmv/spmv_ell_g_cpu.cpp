#include <algorithm>
#include <array>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/spmv_ell_g.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kStrip = 64;       // rows whose sums stay in registers and first-level cache
constexpr std::int64_t kTaskRows = 4096;  // rows that a thread claims

constexpr const char* kOnGpu = "ELL-G on a GPU";

}  // namespace

namespace cpu {

template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, std::int64_t first, std::int64_t last, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale) {
  using T = typename S::value_type;
  const auto at = a.layout();
  const auto* lengths = reinterpret_cast<const Index*>(a.bytes);
  const auto* columns = reinterpret_cast<const Index*>(a.bytes + at.columns);
  const auto* values = reinterpret_cast<const V*>(a.bytes + at.values);
  for (auto r = first; r < last; r += kStrip) {
    const auto rows = std::min(kStrip, last - r);
    std::array<T, kStrip> sums;
    sums.fill(S::zero());
    const auto longest = *std::max_element(lengths + r, lengths + r + rows);
    for (std::int64_t j = 0; j < longest; ++j)
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto k = j * at.stride + r + i;
        if (j < lengths[r + i])
          sums[std::size_t(i)] = S::add(sums[std::size_t(i)], S::mul(entry<S>(values, k), x[columns[k]]));
      }
    for (std::int64_t i = 0; i < rows; ++i) y[r + i] = scale(sums[std::size_t(i)], y[r + i]);
  }
}

}  // namespace cpu

template <Semiring S, class V>
void spmv_ell_g(EllView<V> a, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                Stream stream) {
  if (!stream.where.is_gpu()) return cpu::spmv_ell_g<S, V>(a, 0, a.rows, x, y, scale);
  if constexpr (have_cuda) gpu::spmv_ell_g<S, V>(a, x, y, scale, stream);
  else no_cuda(kOnGpu);
}

template <Semiring S, class V>
void spmv_ell_g(const EllG<V>& a, [[maybe_unused]] const Array<const EllBlock>& table,
                const typename S::value_type* x, typename S::value_type* y, Scale<S> scale, Stream stream) {
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) return gpu::spmv_ell_g<S, V>(a, table.data, x, y, scale, stream);
    else no_cuda(kOnGpu);
  }
  const auto tasks = (a.block_rows + kTaskRows - 1) / kTaskRows;
  parallel_for(std::ssize(a.blocks) * tasks, [&](std::int64_t task) {
    poll_interrupt();
    const auto& b = a.blocks[std::size_t(task / tasks)];
    const auto first = task % tasks * kTaskRows, last = std::min(b.rows, first + kTaskRows);
    if (first < last)
      cpu::spmv_ell_g<S, V>({b.rows, b.width, a.bytes.data + b.offset}, first, last, x, y + b.first_row,
                            scale);
  });
}

template <class V>
Array<const EllBlock> ell_table(const EllG<V>& a, Stream stream) {
  if (!stream.where.is_gpu()) return {};
  const auto count = std::ssize(a.blocks);
  const auto table = allocate<EllBlock>(count, {Memory::device, static_cast<std::int16_t>(stream.where.gpu)});
  copy_async(table.data, a.blocks.data(), table.bytes(), stream);
  synchronize(stream);
  return table;
}

#define X(S, V)                                                                                       \
  template void cpu::spmv_ell_g<S, V>(EllView<V>, std::int64_t, std::int64_t, const S::value_type*,   \
                                      S::value_type*, Scale<S>);                                      \
  template void spmv_ell_g<S, V>(EllView<V>, const S::value_type*, S::value_type*, Scale<S>, Stream); \
  template void spmv_ell_g<S, V>(const EllG<V>&, const Array<const EllBlock>&, const S::value_type*,  \
                                 S::value_type*, Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X
#define X(V) template Array<const EllBlock> ell_table(const EllG<V>&, Stream);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
