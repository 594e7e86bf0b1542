// Sorts keys and removes duplicates: CUB's radix sort over the bits that differ, then its selection of first copies.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/structure/sort_keys.hpp"

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

std::uint64_t* sort_keys(const SortBuffers& b, std::int64_t count, int first_bit, int last_bit,
                         Stream stream) {
  cub::DoubleBuffer<std::uint64_t> buffers(b.keys, b.other);
  auto bytes = static_cast<std::size_t>(b.scratch_bytes);
  const auto native = static_cast<cudaStream_t>(stream.handle);
  if (last_bit > first_bit && count > 0)
    cuda::check(
        cub::DeviceRadixSort::SortKeys(b.scratch, bytes, buffers, count, first_bit, last_bit, native));
  return buffers.Current();
}

const std::uint64_t* sort_unique(const SortBuffers& b, std::int64_t count, int bits, std::int64_t* unique,
                                 Stream stream) {
  auto* sorted = sort_keys(b, count, 0, bits, stream);
  auto* const other = sorted == b.keys ? b.other : b.keys;
  auto bytes = static_cast<std::size_t>(b.scratch_bytes);
  const auto native = static_cast<cudaStream_t>(stream.handle);
  const std::uint64_t* in = sorted;
  cuda::check(cub::DeviceSelect::Unique(b.scratch, bytes, in, other, unique, count, native));
  return other;
}

std::int64_t pair_sort_bytes(std::int64_t pairs) {
  std::size_t bytes = 0;
  cub::DoubleBuffer<std::uint32_t> keys;
  cub::DoubleBuffer<std::uint64_t> values;
  cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, pairs, 0, 32));
  return static_cast<std::int64_t>(bytes);
}

SortedPairs sort_pairs(const PairBuffers& b, std::int64_t count, int bits, Stream stream) {
  const auto as_keys = [](std::int32_t* keys) { return reinterpret_cast<std::uint32_t*>(keys); };
  cub::DoubleBuffer<std::uint32_t> keys(as_keys(b.keys), as_keys(b.other_keys));
  cub::DoubleBuffer<std::uint64_t> values(b.values, b.other_values);
  auto bytes = static_cast<std::size_t>(b.scratch_bytes);
  const auto native = static_cast<cudaStream_t>(stream.handle);
  if (count > 0)
    cuda::check(cub::DeviceRadixSort::SortPairs(b.scratch, bytes, keys, values, count, 0, bits, native));
  return {reinterpret_cast<std::int32_t*>(keys.Current()), values.Current()};
}

}  // namespace penstock::gpu
