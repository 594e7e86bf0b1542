// Decides from sizes alone where the parts of a graph are kept. It needs no GPU.
#include "penstock/graph/gpu/graph_room.hpp"

#include <algorithm>

#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/schedule/gpu_room.hpp"

namespace penstock {

std::int64_t graph_budget(std::int64_t device_memory, std::int64_t free_bytes) {
  return device_memory > 0 ? device_memory : std::max<std::int64_t>(0, free_bytes - kGpuReserve);
}

EdgePlacement choose_placement(std::int64_t vertices, std::int64_t edges, std::int64_t budget) {
  const auto wanted =
      8 * (vertices + 1) + 4 * edges + (kSampleBytes + kVertexBytes) * vertices + cut_list_bytes(edges);
  return wanted <= budget ? EdgePlacement::device : EdgePlacement::pinned;
}

int choose_sample(std::int64_t vertices, std::int64_t edges, std::int64_t left, int wanted,
                  std::int64_t vertex_bytes) {
  for (int size = wanted; size >= 4; size /= 2)
    if (vertices * (4 * size + vertex_bytes) + cut_list_bytes(edges) <= left) return size;
  return 0;
}

std::int64_t packed_list_room(std::int64_t vertices, std::int64_t edges, std::int64_t left,
                              std::int64_t vertex_bytes) {
  return left - vertex_bytes * vertices - kPackedRoom - cut_list_bytes(edges);
}

std::int64_t packed_near_room(std::int64_t vertices, std::int64_t list_bytes, std::int64_t room) {
  constexpr std::int64_t kShare = 4;  // one byte for so many bytes of lists
  const auto sample = kSampleBytes * vertices;
  return list_bytes <= room || kShare * sample > list_bytes || sample > room ? room : room - sample;
}

std::int64_t packed_path_room(std::int64_t vertices, std::int64_t edges, std::int64_t left,
                              std::int64_t vertex_bytes) {
  return left - vertex_bytes * vertices - kPathRoom - 8 * most_packed_pieces(edges);
}

std::int64_t search_cache_bytes(std::int64_t vertices, std::int64_t edges, std::int64_t sample_bytes,
                                std::int64_t left) {
  const auto lists = edges * 4 / kKeptShare - sample_bytes;
  return lists > 0 ? std::max<std::int64_t>(0, std::min(left, 8 * vertices + lists)) : 0;
}

GraphRoom graph_room(const GraphRoomRequest& r) {
  const auto n = r.vertices;
  const bool part = r.all_vertices >= 0;
  const auto shared = part ? r.shared_vertex * r.all_vertices : 0;
  GraphRoom room{.placement = r.placement.value_or(choose_placement(n, r.edges, r.budget - shared)),
                 .vertex_bytes = r.each_vertex * n + shared};
  const auto left = [&] { return r.budget - (room.used() - room.vertex_bytes); };
  if (room.placement == EdgePlacement::packed) {
    room.offset_bytes = r.head_bytes;
    const auto lists = std::max<std::int64_t>(0, r.packed_bytes - r.head_bytes);
    const auto of_paths = path_vertex_bytes(r.distance_bytes, r.predecessors);
    auto most = r.distance_bytes > 0 ? packed_path_room(n, r.edges, left(), of_paths)
                                     : packed_list_room(n, r.edges, left() - shared, r.each_vertex);
    if (r.distance_bytes == 0 && is_for_searches(r.each_vertex)) most = packed_near_room(n, lists, most);
    if (r.distance_bytes > 0) room.vertex_bytes = of_paths * n;
    room.list_bytes = std::clamp<std::int64_t>(most, 0, lists);
    room.far_bytes = lists - room.list_bytes;
  } else {
    room.offset_bytes = 8 * (n + 1);
    (room.placement == EdgePlacement::device ? room.list_bytes : room.far_bytes) =
        4 * r.edges + r.along_bytes;
  }
  const bool lean = room.placement == EdgePlacement::packed && is_for_searches(r.each_vertex);
  const auto beside = lean ? r.each_vertex : kVertexBytes;
  room.sample = r.sample > 0 ? choose_sample(n, r.edges, left() - shared, r.sample, beside) : 0;
  room.sample_bytes = 4 * n * room.sample;
  const bool lists_far = room.placement != EdgePlacement::device && room.placement != EdgePlacement::packed;
  if (r.cache && lists_far)
    room.cache_bytes = search_cache_bytes(n, r.edges, room.sample_bytes, left() - room.vertex_bytes);
  return room;
}

}  // namespace penstock
