#include "penstock/graph/gpu/gpu_parts.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/gpu_team.hpp"

namespace penstock {
namespace {

/// The budget of every GPU, divided by how often it is named. It is asked before any part takes some of the free memory.
std::vector<std::int64_t> budgets(std::span<const int> gpus, std::int64_t each) {
  std::vector<std::int64_t> found;
  for (const int gpu : gpus) {
    const auto whole = each > 0 ? each : std::max<std::int64_t>(1, gpu_info(gpu).free_bytes - kGpuReserve);
    found.push_back(std::max<std::int64_t>(1, whole / std::ranges::count(gpus, gpu)));
  }
  return found;
}

}  // namespace

GpuParts::GpuParts(const Array<const Offset>& offsets, const Array<const Index>& edges,
                   std::span<const int> gpus, const GpuGraphOptions& each, const GpuParts* like)
    : edges_(edges.size) {
  require(!gpus.empty(), "a graph over several GPUs: name at least one");
  if (!can_read(Where{}, offsets.place))
    throw Error(
        Errc::not_accessible,
        "a graph in device memory is searched on that GPU alone: name it, or take the graph to the host");
  require(offsets.size >= 1, "a graph over several GPUs: the offsets are missing");
  if (like) cuts_.assign(like->cuts_.begin(), like->cuts_.end());
  else cuts_ = cut_vertices(offsets.span(), static_cast<int>(gpus.size()));
  require(vertices() == offsets.size - 1 && cuts_.size() - 1 <= gpus.size(),
          "the reversed edges are of another graph or on other GPUs");
  const auto used = gpus.first(cuts_.size() - 1);
  const auto memory = budgets(used, each.device_memory);
  for (const int a : used)
    for (const int b : used) enable_peer(Where{a}, Where{b});  // if that fails, copies go through the host
  parts_.resize(used.size());
  const auto members = static_cast<int>(used.size());
  const int threads = std::max(1, num_threads() / members);
  Team(members).run([&](int me) {
    const ThreadsHere own(threads);  // packing asks the CPU for something in every piece
    const auto i = static_cast<std::size_t>(me);
    auto options = each;
    options.gpu = used[i];
    options.device_memory = memory[i];
    options.first = cuts_[i];
    options.count = cuts_[i + 1] - cuts_[i];
    if (members == 1) options.vertex_bytes += options.shared_vertex_bytes;
    parts_[i] = std::make_unique<GpuGraph>(offsets, edges, options);
  });
}

int GpuParts::owner(Index v) const {
  return static_cast<int>(std::ranges::upper_bound(cuts_, std::int64_t(v)) - cuts_.begin()) - 1;
}

bool GpuParts::matches(const GpuParts& other) const {
  if (!std::ranges::equal(cuts_, other.cuts_)) return false;
  for (int i = 0; i < count(); ++i)
    if (part(i).where() != other.part(i).where()) return false;
  return true;
}

}  // namespace penstock
