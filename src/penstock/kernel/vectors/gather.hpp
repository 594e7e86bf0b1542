#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/semiring/semirings.hpp"

// Entries of a vector brought together, and added where they belong. The CPU is a device, too.
namespace penstock {

/// out[i] = x[indices[i]] for i in [0, count), entries of `entry_bytes` bytes; without indices, out[i] = x[i]. Ordered on
/// the stream. Every pointer is readable where the stream computes: x may lie on another GPU, out or the indices in
/// pinned memory.
void gather(const void* x, const Index* indices, std::int64_t count, std::int64_t entry_bytes, void* out,
            Stream stream);

/// y[indices[i]] = add(y[indices[i]], in[i]) in the semiring, for i in [0, count), each entry a row of `columns` values.
/// No index twice in one call: several calls, in their order, add in a fixed order. `in` may lie on another GPU.
template <Semiring S>
void scatter_add(const typename S::value_type* in, const Index* indices, std::int64_t count,
                 std::int64_t columns, typename S::value_type* y, Stream stream);

namespace gpu {
void gather(const void* x, const Index* indices, std::int64_t count, std::int64_t entry_bytes, void* out,
            Stream stream);
template <Semiring S>
void scatter_add(const typename S::value_type* in, const Index* indices, std::int64_t count,
                 std::int64_t columns, typename S::value_type* y, Stream stream);
}  // namespace gpu

}  // namespace penstock

#define PENSTOCK_FOR_EACH_SCATTER_ADD(X)             \
  X(PlusTimes<float>)                                \
  X(PlusTimes<double>)                               \
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_ALONE, X, float)  \
  PENSTOCK_RANK_SEMIRINGS(PENSTOCK_ALONE, X, double) \
  X(OrAnd)
