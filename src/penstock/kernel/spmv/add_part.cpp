#include "penstock/kernel/spmv/add_part.hpp"

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {

template <Semiring S>
void add_part(typename S::value_type* sums, const std::int64_t* first, const typename S::value_type* part,
              std::int64_t count, Stream stream) {
  constexpr std::int64_t kGrain = 16 << 10;
  if (count <= 0) return;
  if (!stream.where.is_gpu()) {
    auto* to = sums + *first;
    parallel_ranges(count, kGrain, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) to[i] = S::add(to[i], part[i]);
    });
  } else if constexpr (have_cuda) {
    gpu::add_part<S>(sums, first, part, count, stream);
  } else {
    no_cuda("sums on a GPU");
  }
}

#define X(S) \
  template void add_part<S>(S::value_type*, const std::int64_t*, const S::value_type*, std::int64_t, Stream);
PENSTOCK_FOR_EACH_ADD_PART(X)
#undef X

}  // namespace penstock
