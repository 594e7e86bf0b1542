// Sorts keys and removes duplicates: CUB's radix sort over the bits that differ, then its selection of first copies.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/io/generate/keys_gpu.hpp"
#include "penstock/kernel/launch_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kAllBits = 64;

}  // namespace

std::int64_t sort_bytes(std::int64_t keys) {
  std::size_t sort = 0, unique = 0;
  cub::DoubleBuffer<std::uint64_t> buffers;
  const std::uint64_t* in = nullptr;
  std::uint64_t* out = nullptr;
  std::int64_t* count = nullptr;
  cuda::check(cub::DeviceRadixSort::SortKeys(nullptr, sort, buffers, keys, 0, kAllBits));
  cuda::check(cub::DeviceSelect::Unique(nullptr, unique, in, out, count, keys));
  return static_cast<std::int64_t>(std::max(sort, unique));
}

const std::uint64_t* sort_unique(std::uint64_t* keys, std::uint64_t* other, std::int64_t count, int bits,
                                 void* scratch, std::int64_t scratch_bytes, std::int64_t* unique,
                                 Stream stream) {
  cub::DoubleBuffer<std::uint64_t> buffers(keys, other);
  auto bytes = static_cast<std::size_t>(scratch_bytes);
  const auto native = static_cast<cudaStream_t>(stream.handle);
  if (bits > 0) cuda::check(cub::DeviceRadixSort::SortKeys(scratch, bytes, buffers, count, 0, bits, native));
  bytes = static_cast<std::size_t>(scratch_bytes);
  const std::uint64_t* sorted = buffers.Current();
  cuda::check(cub::DeviceSelect::Unique(scratch, bytes, sorted, buffers.Alternate(), unique, count, native));
  return buffers.Alternate();
}

}  // namespace penstock::gpu
