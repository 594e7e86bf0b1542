#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/spmv/add_part.hpp"

namespace penstock::gpu {
namespace {

template <class S, class T = typename S::value_type>
__global__ void __launch_bounds__(kThreads)
    add_part_kernel(T* sums, const std::int64_t* first, const T* part, std::int64_t count) {
  const auto i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  T& sum = sums[*first + i];
  sum = S::add(sum, read_once(part + i));
}

}  // namespace

template <Semiring S>
void add_part(typename S::value_type* sums, const std::int64_t* first, const typename S::value_type* part,
              std::int64_t count, Stream stream) {
  const UseDevice use(stream.where);
  launch(add_part_kernel<S>, blocks_for(count), stream, sums, first, part, count);
}

#define X(S) \
  template void add_part<S>(S::value_type*, const std::int64_t*, const S::value_type*, std::int64_t, Stream);
PENSTOCK_FOR_EACH_ADD_PART(X)
#undef X

}  // namespace penstock::gpu
