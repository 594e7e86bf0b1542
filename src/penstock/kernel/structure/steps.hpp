#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "penstock/core/array.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

// What operations on matrices in a device's memory are made of: steps, searches, sorts and prefix sums, in the order of a
// stream. A step is called with i for each i in [0, n), in any order, and writes what no other call reads or writes. A test
// says whether i has a property. Both are constexpr: the CPU runs the same text that nvcc compiles, so that the operations
// can be tested without a GPU.
namespace penstock {

/// What `find_first` returns if no i has the property.
inline constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

namespace gpu {
template <class Step>
void each(std::int64_t n, const Step& step, Stream stream);
template <class Test>
std::int64_t find_first(std::int64_t n, const Test& test, Stream stream);
bool sort_pairs(void* keys, void* other_keys, int key_bytes, void* payload, void* other_payload,
                int payload_bytes, std::int64_t n, int bits, Stream stream);
std::int64_t sort_pairs_bytes(int key_bytes, int payload_bytes, std::int64_t n, Stream stream);
void prefix_sums(Offset* numbers, std::int64_t n, Stream stream);
}  // namespace gpu

namespace cpu {
bool sort_pairs(void* keys, void* other_keys, int key_bytes, void* payload, void* other_payload,
                int payload_bytes, std::int64_t n, int bits);
}  // namespace cpu

inline constexpr std::int64_t kStepsAtOnce = 1 << 14;

/// Calls step(i) for each i in [0, n).
template <class Step>
void each(std::int64_t n, const Step& step, Stream stream) {
  if (n == 0) return;
  if (!stream.where.is_gpu()) {
    parallel_ranges(n, kStepsAtOnce, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) step(i);
    });
  } else if constexpr (have_cuda) {
    gpu::each<Step>(n, step, stream);
  }
}

/// The least i in [0, n) for which test(i) holds, or kNone. It waits for the stream.
template <class Test>
std::int64_t find_first(std::int64_t n, const Test& test, Stream stream) {
  if (n == 0) return kNone;
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) return gpu::find_first<Test>(n, test, stream);
  }
  std::atomic<std::int64_t> found = kNone;
  parallel_ranges(n, kStepsAtOnce, [&](std::int64_t i, std::int64_t last) {
    while (i < last && !test(i)) ++i;
    auto known = found.load();
    while (i < last && i < known && !found.compare_exchange_weak(known, i)) {}
  });
  return found;
}

/// Two arrays of n entries of a type in a device's memory. A sort reads one and writes the other, back and forth.
template <class T>
struct Buffers {
  Array<T> first, second;

  Buffers(std::int64_t n, Stream stream)
      : first(allocate<T>(n, device_place(stream.where))),
        second(allocate<T>(n, device_place(stream.where))) {}
};

/// Sorts by the low `bits` bits of the keys, which are unsigned; what is equal keeps its order. The result is in `first` of
/// both. A payload has 4, 8 or 16 bytes.
template <class K, class P>
void sort_pairs(Buffers<K>& keys, Buffers<P>& payload, int bits, Stream stream) {
  const auto n = keys.first.size;
  if (n < 2 || bits == 0) return;
  constexpr int kKey = sizeof(K), kPayload = sizeof(P);
  bool other = false;
  if (!stream.where.is_gpu())
    other = cpu::sort_pairs(keys.first.data, keys.second.data, kKey, payload.first.data, payload.second.data,
                            kPayload, n, bits);
  else if constexpr (have_cuda)
    other = gpu::sort_pairs(keys.first.data, keys.second.data, kKey, payload.first.data, payload.second.data,
                            kPayload, n, bits, stream);
  if (other) std::swap(keys.first, keys.second), std::swap(payload.first, payload.second);
}

/// Bytes of a device that sort_pairs takes beside its buffers.
inline std::int64_t sort_pairs_bytes([[maybe_unused]] int key_bytes, [[maybe_unused]] int payload_bytes,
                                     [[maybe_unused]] std::int64_t n, [[maybe_unused]] Stream stream) {
  if constexpr (have_cuda)
    if (stream.where.is_gpu()) return gpu::sort_pairs_bytes(key_bytes, payload_bytes, n, stream);
  return 0;
}

/// Replaces each of n numbers by the sum of those before it.
inline void prefix_sums(Offset* numbers, std::int64_t n, Stream stream) {
  if (stream.where.is_gpu()) {
    if constexpr (have_cuda) gpu::prefix_sums(numbers, n, stream);
    return;
  }
  Offset sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exchange(numbers[i], sum);
}

/// One number of a device's memory, when all before it on the stream is done.
template <class T>
T fetch(const T* number, Stream stream) {
  T value{};
  copy_async(&value, number, sizeof value, stream);
  synchronize(stream);
  return value;
}

/// The bits of the largest of the numbers 0 .. n - 1.
int bits_below(std::int64_t n);

/// Throws Error{out_of_memory}, with the numbers and the remedy, unless `bytes` are free on the stream's GPU.
void require_room(const std::string& what, std::int64_t bytes, Stream stream);

}  // namespace penstock
