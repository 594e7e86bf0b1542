#include "penstock/dist/halo/halo_gpu.hpp"

#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/dist/halo/halo_packed.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

using Make = std::unique_ptr<GpuHalo> (*)(const HaloContext&);
struct GpuStrategy {
  std::string_view name, text;
  Make make;
};

constexpr GpuStrategy kGpuStrategies[] = {
    {"sync", "the whole vector, through host memory", halo_gpu_sync},
    {"gather", "packed by a kernel, the indices copied each time", halo_gpu_gather},
    {"pinned", "indices and buffers in pinned memory", halo_gpu_pinned},
    {"index_standard", "indices on the GPU", halo_gpu_index_standard},
    {"index_pinned", "indices on the GPU, packed into pinned memory", halo_gpu_index_pinned},
    {"device", "packed, by an MPI that knows of GPUs", halo_gpu_device},
    {"device_indexed", "by a derived type of such an MPI", halo_gpu_device_indexed},
    {"peer", "read in place in the neighbour's memory", halo_gpu_peer},
    {"peer_packed", "packed into the neighbour's memory", halo_gpu_peer_packed},
    {"nccl", "by NVIDIA's NCCL", halo_gpu_nccl},
    {"nvshmem", "by NVIDIA's NVSHMEM, between processes", halo_gpu_nvshmem},
};

}  // namespace

void require_peers(const HaloContext& context, std::string_view strategy) {
  require_everywhere(
      *context.comm,
      why_unreachable(*context.comm, context.where, context.plan->receive_ranks, "index_pinned"),
      "halo=\"" + std::string(strategy) + "\"");
}

GpuHalo::GpuHalo(const HaloContext& context)
    : context_(context),
      mine_(context.where, true),
      before_(context.where),
      ghosts_(
          allocate<std::byte>(context.plan->ghosts() * context.entry_bytes, device_place(context.where))) {}

void GpuHalo::follow(Stream stream) {
  require(stream.where == where(), "halo: a stream of GPU " + std::to_string(stream.where.gpu) +
                                       ", the vectors are on GPU " + std::to_string(where().gpu));
  record(before_, stream);
  wait(mine_, before_);
}

void GpuHalo::count_exchange() {
  ++times_.exchanges;
  times_.messages += std::ssize(plan().send_ranks);
  times_.sent_bytes += plan().sent() * entry();
  times_.received_bytes += plan().ghosts() * entry();
}

std::vector<Message> GpuHalo::sends(std::byte* send) const {
  return halo::messages(plan().send_ranks, plan().send_offsets, send, entry());
}
std::vector<Message> GpuHalo::receives(std::byte* receive) const {
  return halo::messages(plan().receive_ranks, plan().receive_offsets, receive, entry());
}

Array<const Index> GpuHalo::indices_in(Place place) {
  const auto& from = plan().send_indices;
  const auto copy = allocate<Index>(from.size, place);
  copy_async(copy.data, from.data, from.bytes(), mine_);
  synchronize(Stream(mine_));
  return copy;
}

std::unique_ptr<GpuHalo> make_gpu_halo(std::string_view strategy, const HaloContext& context) {
  require(context.entry_bytes > 0, "halo: entries of " + std::to_string(context.entry_bytes) + " bytes");
  if (strategy == "auto") strategy = choose_gpu_halo(context);
  for (const auto& one : kGpuStrategies)
    if (one.name == strategy) return one.make(context);
  throw Error(Errc::invalid_argument, "halo=\"" + std::string(strategy) +
                                          "\" is no strategy for vectors on a GPU: one of " +
                                          list_names(kGpuStrategies, "auto"));
}

std::vector<Choice> gpu_halos() {
  std::vector<Choice> list;
  for (const auto& one : kGpuStrategies) list.push_back({one.name, one.text});
  return list;
}

}  // namespace penstock
