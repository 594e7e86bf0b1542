// Turns the distances that a search leaves on the GPU, as keys, into the numbers of its result.
#include "penstock/graph/sssp/sssp_gpu_state.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

template <class D, class T>
__global__ void __launch_bounds__(kThreads) write_each(const Key<D>* keys, std::int64_t n, T* lengths) {
  const auto v = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= n) return;
  const Key<D> key = keys[v];
  lengths[v] = key == kNoPath<D> ? T(std::numeric_limits<T>::infinity()) : T(length_of<D>(key));
}

}  // namespace

template <class D, class T>
void write_lengths(const Key<D>* keys, std::int64_t n, T* lengths, Stream stream) {
  if (n == 0) return;
  const UseDevice use(stream.where);
  launch(write_each<D, T>, blocks_for(n), stream, keys, n, lengths);
}

#define X(D, T) template void write_lengths<D, T>(const Key<D>*, std::int64_t, T*, Stream);
X(std::uint32_t, float)
X(std::uint32_t, double)
X(float, float)
X(float, double)
X(double, double)
#undef X

}  // namespace penstock::gpu
