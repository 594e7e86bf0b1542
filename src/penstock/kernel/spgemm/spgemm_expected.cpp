#include "penstock/kernel/spgemm/spgemm_expected.hpp"

#include <algorithm>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kExpectedRowsOfATask = 4 << 10;  // rows of a task
constexpr std::int64_t kChunk = 1 << 24;  // rows studied at a time: 12 bytes of scratch memory each

void expected_here(const CsrView<One>& a, const CsrView<One>& b, double* out) {
  const auto cols = static_cast<double>(b.cols);
  std::vector<double> parts(
      static_cast<std::size_t>((a.rows + kExpectedRowsOfATask - 1) / kExpectedRowsOfATask * 2));
  parallel_for(std::ssize(parts) / 2, [&](std::int64_t part) {
    double products = 0, entries = 0;
    for (auto r = part * kExpectedRowsOfATask; r < std::min(a.rows, (part + 1) * kExpectedRowsOfATask); ++r) {
      Offset n = 0;
      for (auto e = a.indptr[r] - a.first_nnz; e < a.indptr[r + 1] - a.first_nnz; ++e)
        n += b.indptr[a.indices[e] + 1] - b.indptr[a.indices[e]];
      products += static_cast<double>(n), entries += expected_entries(n, cols);
    }
    parts[static_cast<std::size_t>(2 * part)] = products;
    parts[static_cast<std::size_t>(2 * part + 1)] = entries;
  });
  out[0] = out[1] = 0;
  for (std::size_t p = 0; p < parts.size(); p += 2) out[0] += parts[p], out[1] += parts[p + 1];
}

}  // namespace

void spgemm_expected(const CsrView<One>& a, const CsrView<One>& b, double* out, Stream stream) {
  require(a.cols == b.rows, "spgemm_expected: A's columns are B's rows");
  if (!stream.where.is_gpu()) return expected_here(a, b, out);
  if constexpr (have_cuda) {
    const auto chunks = (a.rows + kChunk - 1) / kChunk, most = std::min(a.rows, kChunk);
    const auto count = chunks * gpu::kExpectedParts;
    const auto products = allocate_scratch(8 * most, stream), list = allocate_scratch(4 * most, stream),
               counter = allocate_scratch(sizeof(int), stream), parts = allocate_scratch(16 * count, stream);
    for (std::int64_t c = 0; c < chunks; ++c) {
      const auto first = c * kChunk, rows = std::min(kChunk, a.rows - first);
      auto* const per_row = static_cast<Offset*>(products.get());
      fill_async(counter.get(), 0, sizeof(int), stream);
      gpu::row_products(a, b, first, rows, per_row, nullptr, static_cast<Index*>(list.get()),
                        static_cast<int*>(counter.get()), stream);
      gpu::expected_parts(per_row, rows, b.cols,
                          static_cast<double*>(parts.get()) + 2 * c * gpu::kExpectedParts, stream);
    }
    gpu::expected_sums(static_cast<const double*>(parts.get()), count, out, stream);
  } else {
    no_cuda("spgemm_expected on a GPU");
  }
}

}  // namespace penstock
