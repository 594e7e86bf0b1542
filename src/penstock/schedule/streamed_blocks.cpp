#include "penstock/schedule/streamed_blocks.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/schedule/gpu_room.hpp"

namespace penstock {
namespace {

// A host slot stays in its thread's second-level cache (2 MB where this was measured) while it is computed on, and so
// does what is prefetched meanwhile. Of 32 KiB to 1 MiB, 128 and 256 KiB reached 0.73 to 1.0 of the in-core speed; 1 MiB
// 0.5 to 0.75 (Laplacian 128^3, a band, R-MAT 18, uniform).
constexpr std::int64_t kHostSlotBytes = 128 << 10;
constexpr std::int64_t kGpuSlotBytes = 64 << 20;  // the copy engine is at full speed from 16 MiB

}  // namespace

std::int64_t host_rings(const Streamed& settings) {
  if (settings.ring_bytes == 0) return num_threads();
  const auto rings = settings.ring_bytes / (settings.slots * kLeastSlotBytes);
  return std::clamp<std::int64_t>(rings, 1, num_threads());
}

template <class V>
void check_matrix(const Schedule& schedule, const Csr<V>& a) {
  check(schedule, a.indices.place);
  if constexpr (!is_pattern<V>) check(schedule, a.values.place);
  const auto* streamed = std::get_if<Streamed>(&schedule);
  if (streamed || !first_device(schedule).is_gpu()) check(InCore{}, a.indptr.place);
  if (streamed && streamed->ring_bytes > 0)
    slot_within_ring(streamed->ring_bytes, streamed->slots, kLeastSlotBytes);  // throws where it is too small
}

std::int64_t slot_bytes(const Streamed& settings) {
  const bool gpu = settings.devices.front().is_gpu();
  auto bytes = settings.block_bytes;
  if (bytes == 0) bytes = gpu ? kGpuSlotBytes : kHostSlotBytes;
  if (settings.ring_bytes > 0) {
    const auto rings = gpu ? 1 : host_rings(settings);
    bytes = std::min(bytes, settings.ring_bytes / (settings.slots * rings) - kSlotPadding);
  }
  return std::max(bytes, kLeastBlockBudget);
}

template <class V>
std::vector<RowBlock> streamed_blocks(const Csr<V>& a, const Streamed& settings) {
  return row_blocks(a.indptr.span(), csr_block_shape<V>(slot_bytes(settings)));
}

#define X(V)                                                  \
  template void check_matrix(const Schedule&, const Csr<V>&); \
  template std::vector<RowBlock> streamed_blocks(const Csr<V>&, const Streamed&);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
