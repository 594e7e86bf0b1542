#include "penstock/graph/pagerank/personalized_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(many_ranks::BeginAtSources<float>)
X(many_ranks::BeginAtSources<double>)
X(many_ranks::AddJumps<float>)
X(many_ranks::AddJumps<double>)
X(many_ranks::RenewRanks<float>)
X(many_ranks::RenewRanks<double>)
X(many_ranks::SumRanks)
X(many_ranks::FoldSums)
X(many_ranks::WidenRanks)
X(many_ranks::DivideRanks)
X(many_ranks::DivideDangling)
#undef X

}  // namespace penstock::gpu
