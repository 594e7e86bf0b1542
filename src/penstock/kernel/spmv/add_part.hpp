#pragma once
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmv/spmv.hpp"

namespace penstock {

/// sums[*first + i] = add(sums[*first + i], part[i]) in the semiring, for i in [0, count), ordered on the stream. All three
/// are readable where the stream computes: the host need not know where a part belongs.
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
