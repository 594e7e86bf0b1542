#pragma once
#include "penstock/graph/gpu/gpu_parts.hpp"
#include "penstock/graph/triangles/triangles_gpu.hpp"

namespace penstock {

/// count_triangles_gpu() over several GPUs: each looks up the lists of its own range in those of all numbers, which it walks once, in the
/// memory of the GPU that has them, or where it cannot reach that, in copies in pinned memory. The options `number` and `incoming` are
/// not for parts. Takes 8 bytes on each GPU for each number where these are counted apart, and 8 for each of its own.
TrianglesGpuResult count_triangles_parts(GpuParts& oriented, const TrianglesGpuOptions& options = {});

namespace gpu {

/// Adds what is found in `own`, the lists of numbers from `first` on, of triangles whose largest number is one of `from`, those from
/// `from_first` on. counts->chunks and next must be 0.
void count_pair(const ListView& from, Index from_first, const ListView& own, Index first,
                const TriangleState& s, bool count, Stream stream);
/// to += more, number by number.
void add_counts(unsigned long long* to, const unsigned long long* more, std::int64_t count, Stream stream);

}  // namespace gpu
}  // namespace penstock
