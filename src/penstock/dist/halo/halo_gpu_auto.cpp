#include <algorithm>
#include <array>
#include <limits>

#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

// The strategies that are fastest somewhere. Others are only used when they are asked for by name: NCCL and NVSHMEM take
// seconds and memory to start, and GPU-aware messages may end the process where an MPI claims to support them and does not.
constexpr std::string_view kCandidates[] = {"peer", "peer_packed", "index_pinned"};
constexpr int kWarmUps = 2, kRuns = 7;

}  // namespace

std::string_view choose_gpu_halo(const HaloContext& context) {
  auto& comm = *context.comm;
  const std::string_view simplest = kCandidates[2];
  std::array<std::int64_t, 1> any{context.plan->sent()};
  comm.all_reduce(any, Reduce::max);
  if (any[0] == 0) return simplest;
  const auto x = allocate<std::byte>(context.plan->owned * context.entry_bytes, device_place(context.where));
  const OwnedStream stream(context.where);
  fill_async(x.data, 0, x.size, stream);
  auto best = std::numeric_limits<double>::infinity();
  auto choice = simplest;
  for (const auto name : kCandidates) {
    if (name == "peer_packed" && !comm.one_process()) continue;  // what peer is there
    std::unique_ptr<GpuHalo> halo;
    try {
      halo = make_gpu_halo(name, context);
    } catch (const Error& e) {
      if (e.code() != Errc::not_accessible) throw;
      continue;  // this is so on all ranks alike
    }
    std::array<double, 1> least{std::numeric_limits<double>::infinity()};
    for (int i = 0; i < kWarmUps + kRuns; ++i) {
      comm.barrier();
      const HostClock clock;
      halo->begin(x.data, stream);
      halo->end(stream);
      synchronize(Stream(stream));
      if (i >= kWarmUps) least[0] = std::min(least[0], clock.seconds());
    }
    comm.barrier();  // after this no rank reads x any more
    comm.all_reduce(least, Reduce::max);
    if (least[0] < best) best = least[0], choice = name;
  }
  return choice;
}

}  // namespace penstock
