#include "penstock/kernel/vectors/gather.hpp"

#include <cstring>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRange = 16 << 10;  // entries that a thread claims

void check_sizes(std::int64_t count, std::int64_t size, const char* what) {
  require(count >= 0 && size > 0, std::string(what) + ": " + std::to_string(count) + " entries of size " +
                                      std::to_string(size) + ": at least 0 of size 1");
}

/// The size is known to the compiler, so that each copy is a move.
template <std::size_t kBytes>
void gather_as(const std::byte* x, const Index* indices, std::int64_t count, std::byte* out) {
  parallel_ranges(count, kRange, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      std::memcpy(out + i * std::int64_t(kBytes), x + std::int64_t(indices[i]) * std::int64_t(kBytes),
                  kBytes);
  });
}

void gather_here(const std::byte* x, const Index* indices, std::int64_t count, std::int64_t entry,
                 std::byte* out) {
  if (!indices) return void(std::memcpy(out, x, static_cast<std::size_t>(count * entry)));
  if (entry == 4) return gather_as<4>(x, indices, count, out);
  if (entry == 8) return gather_as<8>(x, indices, count, out);
  parallel_ranges(count, kRange, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      std::memcpy(out + i * entry, x + indices[i] * entry, static_cast<std::size_t>(entry));
  });
}

}  // namespace

void gather(const void* x, const Index* indices, std::int64_t count, std::int64_t entry_bytes, void* out,
            Stream stream) {
  check_sizes(count, entry_bytes, "gather");
  if (count == 0) return;
  if (!stream.where.is_gpu())
    return gather_here(static_cast<const std::byte*>(x), indices, count, entry_bytes,
                       static_cast<std::byte*>(out));
  if constexpr (have_cuda) gpu::gather(x, indices, count, entry_bytes, out, stream);
  else no_cuda("gather on a GPU");
}

template <Semiring S>
void scatter_add(const typename S::value_type* in, const Index* indices, std::int64_t count,
                 std::int64_t columns, typename S::value_type* y, Stream stream) {
  check_sizes(count, columns, "scatter_add");
  if (count == 0) return;
  if (!stream.where.is_gpu()) {
    parallel_ranges(count, kRange, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        for (std::int64_t c = 0; c < columns; ++c) {
          auto& sum = y[indices[i] * columns + c];
          sum = S::add(sum, in[i * columns + c]);
        }
    });
    return;
  }
  if constexpr (have_cuda) gpu::scatter_add<S>(in, indices, count, columns, y, stream);
  else no_cuda("scatter_add on a GPU");
}

#define X(S)                                                                                   \
  template void scatter_add<S>(const S::value_type*, const Index*, std::int64_t, std::int64_t, \
                               S::value_type*, Stream);
PENSTOCK_FOR_EACH_SCATTER_ADD(X)
#undef X

}  // namespace penstock
