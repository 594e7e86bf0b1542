// Sorts and prefix sums on a GPU, by CUB.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {
namespace {

constexpr int kBitsOfAByte = 8;

struct alignas(16) Bytes16 {
  std::uint64_t words[2];
};

/// Calls f(K{}, P{}) for the types of these sizes.
template <class F>
void with_types(int key_bytes, int payload_bytes, F&& f) {
  const auto with_key = [&](auto key) {
    if (payload_bytes == 4) f(key, std::uint32_t{});
    else if (payload_bytes == 8) f(key, std::uint64_t{});
    else f(key, Bytes16{});
  };
  require(
      (key_bytes == 4 || key_bytes == 8) && (payload_bytes == 4 || payload_bytes == 8 || payload_bytes == 16),
      "sort_pairs: keys of 4 or 8 bytes, and payloads of 4, 8 or 16");
  if (key_bytes == 4) with_key(std::uint32_t{});
  else with_key(std::uint64_t{});
}

}  // namespace

bool sort_pairs(void* keys, void* other_keys, int key_bytes, void* payload, void* other_payload,
                int payload_bytes, std::int64_t n, int bits, Stream stream) {
  const UseDevice use(stream.where);
  bool other = false;
  with_types(key_bytes, payload_bytes, [&]<class K, class P>(K, P) {
    cub::DoubleBuffer<K> k(static_cast<K*>(keys), static_cast<K*>(other_keys));
    cub::DoubleBuffer<P> p(static_cast<P*>(payload), static_cast<P*>(other_payload));
    const auto native = static_cast<cudaStream_t>(stream.handle);
    std::size_t bytes = 0;
    cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, p, n, 0, bits, native));
    const auto scratch = allocate_scratch(static_cast<std::int64_t>(bytes), stream);
    cuda::check(cub::DeviceRadixSort::SortPairs(scratch.get(), bytes, k, p, n, 0, bits, native));
    other = k.Current() == other_keys;
    require((p.Current() == other_payload) == other, "sort_pairs: CUB has put keys and payload apart");
  });
  return other;
}

std::int64_t sort_pairs_bytes(int key_bytes, int payload_bytes, std::int64_t n, Stream stream) {
  const UseDevice use(stream.where);
  std::size_t bytes = 0;
  with_types(key_bytes, payload_bytes, [&]<class K, class P>(K, P) {
    cub::DoubleBuffer<K> k;
    cub::DoubleBuffer<P> p;
    cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, p, n, 0, kBitsOfAByte * key_bytes));
  });
  return static_cast<std::int64_t>(bytes);
}

void prefix_sums(Offset* numbers, std::int64_t n, Stream stream) {
  if (n == 0) return;
  const UseDevice use(stream.where);
  const auto native = static_cast<cudaStream_t>(stream.handle);
  std::size_t bytes = 0;
  cuda::check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, numbers, n, native));
  const auto scratch = allocate_scratch(static_cast<std::int64_t>(bytes), stream);
  cuda::check(cub::DeviceScan::ExclusiveSum(scratch.get(), bytes, numbers, numbers, n, native));
  ++device_calls().launches;
}

}  // namespace penstock::gpu
