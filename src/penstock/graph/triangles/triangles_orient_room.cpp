// What orienting edges on a GPU takes of its memory. It follows the steps of triangles_orient_cuda.cpp, and needs no GPU.
#include <algorithm>

#include "penstock/graph/triangles/triangles_orient_gpu.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kKey = sizeof(std::uint64_t);
constexpr std::int64_t kArraysToo = 4096;  // facts, and what allocations are rounded up by

/// Two buffers of keys, and scratch memory to sort them.
std::int64_t sorting(std::int64_t keys, const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  return 2 * kKey * keys + sort_bytes(keys);
}

std::int64_t lists(std::int64_t vertices, Offset entries) {
  return std::int64_t(sizeof(Offset)) * (vertices + 1) + std::int64_t(sizeof(Index)) * entries;
}

}  // namespace

std::int64_t orient_bytes(std::int64_t vertices, Offset entries,
                          const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  const auto numbers =
      std::int64_t(sizeof(Index)) * 2 * vertices;  // and the lengths of the rows' lower parts
  const auto edges = entries / 2;
  return kArraysToo + numbers +
         std::max({sorting(vertices, sort_bytes), sorting(edges, sort_bytes),
                   2 * kKey * edges + lists(vertices, edges)});
}

std::int64_t incoming_bytes(std::int64_t vertices, Offset edges,
                            const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  return kArraysToo + std::int64_t(sizeof(Offset)) * (vertices + 1) +
         2 * (kKey + std::int64_t(sizeof(Index))) * edges + sort_bytes(edges);
}

std::int64_t clean_bytes(std::int64_t vertices, Offset entries,
                         const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  return kArraysToo + std::max(sorting(entries, sort_bytes), 2 * kKey * entries + lists(vertices, entries));
}

std::int64_t orient_range_bytes(Offset entries, const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  return (2 * kKey + std::int64_t(sizeof(Index))) * entries + sort_bytes(entries);
}

Offset orient_range(std::int64_t left, Offset edges,
                    const std::function<std::int64_t(std::int64_t)>& sort_bytes) {
  constexpr Offset kMost = 1 << 25;
  auto entries = kMost;
  while (entries > kRangeLeast && orient_range_bytes(entries, sort_bytes) > left) entries /= 2;
  return std::min(edges, entries);
}

std::int64_t orient_range_end(std::span<const Offset> offsets, std::int64_t first, Offset entries) {
  const auto from = offsets.begin() + first;
  return std::upper_bound(from, offsets.end(), *from + entries) - offsets.begin() - 1;
}

}  // namespace penstock
