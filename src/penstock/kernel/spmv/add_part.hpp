#pragma once
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// sums[*first + i] = add(sums[*first + i], part[i]) in the semiring, for i in [0, count), in the order of the stream. The
/// stream's device can read all three arrays, so the host need not know where a part belongs.
template <Semiring S>
void add_part(typename S::value_type* sums, const std::int64_t* first, const typename S::value_type* part,
              std::int64_t count, Stream stream);

namespace gpu {
template <Semiring S>
void add_part(typename S::value_type* sums, const std::int64_t* first, const typename S::value_type* part,
              std::int64_t count, Stream stream);
}  // namespace gpu

}  // namespace penstock

#define PENSTOCK_FOR_EACH_ADD_PART(X) \
  X(PlusTimes<float>)                 \
  X(PlusTimes<double>)
