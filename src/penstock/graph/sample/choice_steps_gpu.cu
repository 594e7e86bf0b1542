#include "penstock/graph/sample/choice_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(graph::CountEdges)
X(graph::ListEdges)
X(graph::IsInTime)
X(graph::KeepMarked)
X(graph::RanksOfStarts)
X(graph::FromListed)
X(graph::KeyByWeight)
X(graph::RowsOfPositions)
X(graph::MarkSmallest)
X(graph::TakeWeights)
X(graph::SumWeights)
X(graph::CountByWeight)
X(graph::DrawByWeight)
#undef X
template std::int64_t find_first(std::int64_t, const graph::HasBadWeight&, Stream);
template std::int64_t find_first(std::int64_t, const graph::IsTooMuch&, Stream);

}  // namespace penstock::gpu
