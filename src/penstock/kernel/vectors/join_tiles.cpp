#include "penstock/kernel/vectors/join_tiles.hpp"

#include <cstring>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGrain = 1024;  // rows of a task
constexpr const char* kOnGpu = "joining tiles on a GPU";

void check(std::span<const JoinPart> parts, int value_bytes) {
  require(!parts.empty() && std::ssize(parts) <= kMostJoined &&
              (value_bytes == 0 || value_bytes == 4 || value_bytes == 8),
          "1 to 16 matrices are joined, of values of 0, 4 or 8 bytes");
}

void beside_here(std::span<const JoinPart> parts, int value_bytes, const Joined& to) {
  const auto each = static_cast<std::size_t>(value_bytes);
  to.indptr[0] = 0;
  parallel_ranges(parts[0].rows, kGrain, [&](std::int64_t r, std::int64_t last) {
    for (; r < last; ++r) {
      Offset at = 0;
      Index first = 0;
      for (const auto& p : parts) at += p.indptr[r];
      for (const auto& p : parts) {
        const auto begin = p.indptr[r], n = p.indptr[r + 1] - begin;
        for (Offset e = 0; e < n; ++e) to.indices[at + e] = first + p.indices[begin + e];
        if (each > 0 && n > 0)
          std::memcpy(to.values + static_cast<std::size_t>(at) * each,
                      static_cast<const std::byte*>(p.values) + static_cast<std::size_t>(begin) * each,
                      static_cast<std::size_t>(n) * each);
        at += n, first += static_cast<Index>(p.cols);
      }
      to.indptr[r + 1] = at;
    }
  });
}

}  // namespace

void join_beside(std::span<const JoinPart> parts, int value_bytes, const Joined& to, Stream stream) {
  check(parts, value_bytes);
  if (!stream.where.is_gpu()) return beside_here(parts, value_bytes, to);
  if constexpr (have_cuda) {
    gpu::JoinOffsets offsets;
    for (const auto& p : parts) offsets.of[offsets.count++] = p.indptr;
    gpu::sum_offsets(offsets, parts[0].rows + 1, to.indptr, stream);
    Index first = 0;
    for (int p = 0; p < offsets.count; ++p) {
      const auto& part = parts[static_cast<std::size_t>(p)];
      gpu::place_entries(offsets, p, part, first, value_bytes, to, stream);
      first += static_cast<Index>(part.cols);
    }
  } else {
    no_cuda(kOnGpu);
  }
}

void join_below(std::span<const JoinPart> parts, int value_bytes, const Joined& to, Stream stream) {
  check(parts, value_bytes);
  Offset entries = 0;
  std::int64_t row = 0;
  for (const auto& p : parts) {
    if (!stream.where.is_gpu()) {
      for (std::int64_t r = 0; r <= p.rows; ++r) to.indptr[row + r] = entries + p.indptr[r];
    } else if constexpr (have_cuda) {  // the last offset of a part is the first one of the next part
      gpu::shift_offsets(p.indptr, p.rows + 1, entries, to.indptr + row, stream);
    } else {
      no_cuda(kOnGpu);
    }
    copy_async(to.indices + entries, p.indices, p.nnz * std::int64_t{sizeof(Index)}, stream);
    if (value_bytes > 0) copy_async(to.values + entries * value_bytes, p.values, p.nnz * value_bytes, stream);
    entries += p.nnz, row += p.rows;
  }
}

}  // namespace penstock
