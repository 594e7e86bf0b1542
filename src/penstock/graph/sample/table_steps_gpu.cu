#include "penstock/graph/sample/atomics_gpu.cuh"
#include "penstock/graph/sample/table_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(graph::FreeSlots)
X(graph::InsertVertices<graph::DeviceAtomics>)
X(graph::CountDrawn)
X(graph::DrawEdges)
X(graph::FollowEdges<graph::DeviceAtomics>)
X(graph::IsFresh)
X(graph::TellCounts)
X(graph::PlaceFresh)
X(graph::NumbersOfSlots)
X(graph::PlaceSeeds<std::int32_t>)
X(graph::PlaceSeeds<std::int64_t>)
#undef X

}  // namespace penstock::gpu
