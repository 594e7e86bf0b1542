// Communities by the CPU as the device.
#include "penstock/graph/community/communities_gpu.hpp"
#include "penstock/graph/community/device_level_run.hpp"

namespace penstock {

std::int64_t community_vertex_bytes(bool refined) {
  return refined ? community::kRefineVertexBytes : community::kMoveVertexBytes;
}
std::int64_t community_bytes(std::int64_t vertices, bool refined) {
  return vertices * community_vertex_bytes(refined) + community::kLeastBytes;
}

namespace {

template <class V>
community::DeviceCommunities here(const Csr<V>& a, std::int64_t room) {
  using community::WeightKind;
  community::DeviceCommunities g;
  g.vertices = a.rows;
  g.entries = a.nnz();
  g.room.bytes = room;
  g.lists.view = {.vertices = a.rows, .offsets = a.indptr.data, .edges = a.indices.data};
  if constexpr (!is_pattern<V>) {
    g.lists.weights = a.values.data;
    g.lists.kind = sizeof(V) == sizeof(float) ? WeightKind::real32 : WeightKind::real64;
    g.lists.factor = community::units_of_weights(a);
  }
  return g;
}

}  // namespace

template <class V>
Communities louvain_twin(const Csr<V>& a, const CommunityOptions& options, bool by_level, std::int64_t room) {
  const OwnedStream stream{Where{}};
  return community::louvain_on(here(a, room), options, by_level, stream);
}
template <class V>
Communities leiden_twin(const Csr<V>& a, const CommunityOptions& options, std::int64_t room) {
  const OwnedStream stream{Where{}};
  return community::leiden_on(here(a, room), options, stream);
}
template <class V>
Array<Index> label_propagation_twin(const Csr<V>& a, int passes, std::uint64_t seed, std::int64_t room) {
  const OwnedStream stream{Where{}};
  return community::label_propagation_on(here(a, room), passes, seed, stream);
}

#define X(V)                                                                                     \
  template Communities louvain_twin(const Csr<V>&, const CommunityOptions&, bool, std::int64_t); \
  template Communities leiden_twin(const Csr<V>&, const CommunityOptions&, std::int64_t);        \
  template Array<Index> label_propagation_twin(const Csr<V>&, int, std::uint64_t, std::int64_t);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
