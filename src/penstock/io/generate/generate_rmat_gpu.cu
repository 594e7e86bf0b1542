// R-MAT edges, drawn by a GPU.
#include "penstock/io/generate/make_keys_gpu.cuh"
#include "penstock/io/generate/rmat_edges.hpp"

namespace penstock::gpu {

template void make_keys(const RmatEdges&, const KeyWindow&, std::uint64_t*, std::int64_t, std::int64_t*,
                        Stream);
template void count_keys(const RmatEdges&, const KeyWindow&, std::int64_t*, Stream);

}  // namespace penstock::gpu
