#include "penstock/graph/community/device_steps.hpp"
#include "penstock/kernel/structure/steps_gpu.cuh"

namespace penstock::gpu {

#define X(...) template void each<__VA_ARGS__>(std::int64_t, const __VA_ARGS__&, Stream);
X(community::BeginAlone)
X(community::KeyByClass)
X(community::KeyByLabel)
X(community::FindClass)
X(community::SizesOf)
X(community::IsHead<std::uint32_t>)
X(community::IsHead<std::uint64_t>)
X(community::NumberCommunities)
X(community::CutChunk)
X(community::PlaceHeads)
X(community::JoinEntries)
X(community::CountRows)
X(community::MarkFirst)
X(community::NumberByFirst)
X(community::MoveAll)
X(community::NameByFirst)
X(community::NameParts)
X(community::Compose)
#undef X

}  // namespace penstock::gpu
