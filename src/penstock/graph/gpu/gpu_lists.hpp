#pragma once
#include <cstdint>

#include "penstock/core/choice.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/gpu/packed_form.hpp"

// The form in which kernels get a graph whose edges may be in host memory. lists_gpu.cuh reads it.
namespace penstock {

/// How a kernel reads neighbour lists (min-2020, section 4). `strided`: a thread walks a list. `merged`: a warp walks a list,
/// and neighbouring lanes read neighbouring entries. `aligned`: the same, and it starts at a multiple of 128 bytes. `direct`:
/// as merged, with more reads in flight, for edges in the GPU's own memory. `packed`: eight lanes or a warp decode a list.
enum class Access : std::uint8_t { strided, merged, aligned, direct, packed };
inline constexpr Choice kAccessPolicies[] = {
    {"strided", "a thread walks a list"},
    {"merged", "a warp walks a list"},
    {"aligned", "a warp walks a list from a multiple of 128 bytes"},
    {"direct", "as merged, with more reads in flight"},
    {"packed", "a warp decodes a packed list"},
};
inline constexpr std::string_view name(Access access) {
  return kAccessPolicies[static_cast<int>(access)].name;
}
static_assert(name(Access::strided) == "strided" && name(Access::merged) == "merged" &&
              name(Access::aligned) == "aligned" && name(Access::direct) == "direct" &&
              name(Access::packed) == "packed");

/// Requests of warps for entries of lists that are not in device memory. Each is for 32, 64, 96 or 128 bytes (whole sectors of
/// 32 bytes) of one 128-byte line.
struct LinkCounts {
  unsigned long long requests[4] = {};

  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += std::int64_t(requests[i]) * 32 * (i + 1);
    return sum;
  }
};

/// Slots of a sample (GpuGraph::make_sample) hold vertex ids below 2^31 - 1. The sign bit of a vertex's last slot says
/// that its whole list is in the sample.
inline constexpr std::uint32_t kWholeList = 0x80000000u;
inline constexpr std::uint32_t kNoVertex = 0x7fffffffu;  // an empty slot, the sign bit aside

/// The lists of all vertices of a graph, or of a range of them. Then vertices are counted from the first one of the range, but
/// their neighbours have the numbers of the graph.
struct ListView {
  std::int64_t vertices = 0;
  const Offset* offsets = nullptr;  // vertices + 1, on the device; null if the lists are packed
  const Index* edges = nullptr;     // in any memory that the GPU reads; offsets[0] need not be 0
  // Where the list of each vertex begins: at x >= 0 in `edges`, or for x < 0 at ~x in `cache`. Null: no list is cached.
  const Offset* list_begin = nullptr;
  const Index* cache = nullptr;  // on the device
  // sample_size slots for each vertex, on the device; null: none was made.
  const std::uint32_t* sample = nullptr;
  int sample_size = 0;           // a multiple of 4
  LinkCounts* counts = nullptr;  // on the device: where instrumented kernels count
  PackedListsView packed{};      // instead of offsets and edges
};

}  // namespace penstock
