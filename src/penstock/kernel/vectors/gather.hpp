#pragma once
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/semiring/semirings.hpp"

// Copies entries of a vector to one place, and adds them where they belong. The CPU is a device, too.
namespace penstock {

/// out[i] = x[indices[i]] for i in [0, count), with entries of `entry_bytes` bytes; without indices, out[i] = x[i]. It is done
/// in the order of the stream, whose device can use every pointer: x may be on another GPU, and out or the indices in pinned
/// memory.
void gather(const void* x, const Index* indices, std::int64_t count, std::int64_t entry_bytes, void* out,
            Stream stream);

/// y[indices[i]] = add(y[indices[i]], in[i]) in the semiring, for i in [0, count). Each entry is a row of `columns` values. No
/// index comes twice in one call; several calls, one after the other, add in a fixed order. `in` may be on another GPU.
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
  PENSTOCK_RANK_BOOLEAN_SEMIRINGS(PENSTOCK_BOOLEAN_ALONE, X)
