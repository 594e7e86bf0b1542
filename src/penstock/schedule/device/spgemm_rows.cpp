#include "penstock/schedule/device/spgemm_rows.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsAtOnce =
    1 << 24;  // 8 bytes each on the device, and as much for offsets of the mask on the host

}  // namespace

SpgemmRows spgemm_rows(const CsrView<One>& a, const CsrView<One>& b, const Csr<One>* mask, Stream stream) {
  SpgemmRows found{.bounds = allocate<Offset>(a.rows + 1)};
  const auto chunk = std::min(a.rows, kRowsAtOnce);
  const auto there = allocate_scratch(chunk * static_cast<std::int64_t>(sizeof(Offset)), stream);
  auto* const products = static_cast<Offset*>(there.get());
  const auto masked = allocate<Offset>(mask ? chunk + 1 : 0);
  auto* const bounds = found.bounds.data;
  bounds[0] = 0;
  for (std::int64_t first = 0; first < a.rows; first += chunk) {
    const auto rows = std::min(chunk, a.rows - first);
    found.products += spgemm_products(device_rows(a, first, rows, stream), b, products, stream).products;
    copy_async(bounds + first + 1, products, rows * static_cast<std::int64_t>(sizeof(Offset)), stream);
    if (mask)
      copy_async(masked.data, mask->indptr.data + first,
                 (rows + 1) * static_cast<std::int64_t>(sizeof(Offset)), stream);
    synchronize(stream);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto most = std::min<Offset>(bounds[first + r + 1], b.cols);
      found.entries += mask ? std::min(most, masked.data[r + 1] - masked.data[r]) : most;
      bounds[first + r + 1] = bounds[first + r] + most;
    }
    poll_interrupt();
  }
  return found;
}

std::vector<RowBlock> whole_row_blocks(const Array<Offset>& bounds, std::int64_t entry_bytes,
                                       std::int64_t row_bytes, std::int64_t budget) {
  auto blocks = row_blocks(
      {bounds.data, static_cast<std::size_t>(bounds.size)},
      {.budget = std::max<std::int64_t>(budget, 1), .nnz_cost = entry_bytes, .row_cost = row_bytes});
  // A row that exceeds the budget comes in pieces: the first one stands for all.
  std::erase_if(blocks, [&](const RowBlock& b) { return b.piece && b.first_nnz > bounds.data[b.first_row]; });
  for (auto& b : blocks)
    if (b.piece) b.nnz = bounds.data[b.first_row + 1] - b.first_nnz, b.piece = false;
  return blocks;
}

}  // namespace penstock
