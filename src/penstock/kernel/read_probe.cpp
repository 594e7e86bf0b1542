#include "penstock/kernel/read_probe.hpp"

#include <atomic>
#include <string>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPiece = 64 << 10;  // entries that a thread takes at a time

bool lies_at(const void* p, std::uintptr_t multiple) {
  return reinterpret_cast<std::uintptr_t>(p) % multiple == 0;
}

void add_range(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum) {
  std::atomic<std::uint32_t> total = 0;
  parallel_ranges(words, kPiece, [&](std::int64_t first, std::int64_t last) {
    std::uint32_t s = 0;
    for (auto k = first; k < last; ++k) s += data[k];
    total += s;
  });
  *sum += total;
}

}  // namespace

void read_lists(const std::uint32_t* data, std::int64_t words, ReadPattern pattern, std::uint32_t* sum,
                Stream stream) {
  const auto shape = list_shape(pattern);
  const auto count = shape.count(words);
  if (count == 0) return;
  if (!stream.where.is_gpu()) return add_range(data + shape.skew, count * shape.entries, sum);
  require(lies_at(data, 128), "read_lists: the array must begin at a multiple of 128 bytes");
  if constexpr (have_cuda) gpu::read_lists(data, words, pattern, sum, stream);
  else no_cuda("read_lists on a GPU");
}

void read_stream(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum, Stream stream) {
  if (words <= 0) return;
  if (!stream.where.is_gpu()) return add_range(data, words, sum);
  require(lies_at(data, 16), "read_stream: the array must begin at a multiple of 16 bytes");
  if constexpr (have_cuda) gpu::read_stream(data, words, sum, stream);
  else no_cuda("read_stream on a GPU");
}

void copy_stream(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, Stream stream) {
  if (words <= 0) return;
  if (!stream.where.is_gpu()) return copy_async(to, from, words * 4, stream);
  require(lies_at(to, 16) && lies_at(from, 16),
          "copy_stream: both arrays must begin at multiples of 16 bytes");
  if constexpr (have_cuda) gpu::copy_stream(to, from, words, stream);
  else no_cuda("copy_stream on a GPU");
}

void launch_nothing(Stream stream) {
  if (!stream.where.is_gpu()) return;
  if constexpr (have_cuda) gpu::launch_nothing(stream);
  else no_cuda("launch_nothing on a GPU");
}

}  // namespace penstock
