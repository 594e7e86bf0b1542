// The method of Leiden on a device: vertices move, communities are refined into connected parts, and the parts are the vertices of
// the next level, which begins with the communities that they are parts of.
#include <algorithm>
#include <utility>

#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/community/device_steps.hpp"

namespace penstock::community {
namespace {

// Of R-MAT graphs, whose communities are vague, 16 rounds find 0.5 % less modularity.
constexpr int kLeidenRounds = 32;
static_assert(kLeidenRounds <= PassCounts::kMostRounds);

/// Communities of parts, each named after the part of its first vertex; `parts` has numbers below `count`, or is empty where each
/// vertex is a part.
Array<Index> communities_of_parts(const Array<Index>& labels, const Array<Index>& parts, std::int64_t count,
                                  Stream stream) {
  const auto n = labels.size;
  Buffers<std::uint32_t> keys(n, stream);
  Buffers<Index> vertices(n, stream);
  each(n, KeyByLabel{labels.data, keys.first.data, vertices.first.data}, stream);
  sort_pairs(keys, vertices, bits_below(n), stream);
  const auto names = held<Index>(n, stream);
  auto out = held<Index>(count, stream);
  each(n, NameByFirst{keys.first.data, vertices.first.data, parts.data, names.data}, stream);
  each(n, NameParts{labels.data, names.data, parts.data, out.data}, stream);
  synchronize(stream);
  return out;
}

/// A partition of the graph by way of levels: where each vertex is in the present one.
class Iteration {
 public:
  Iteration(const DeviceBase& base, const DeviceRoom& room, const CommunityOptions& o, std::uint64_t seed,
            Stream stream)
      : level_(base.level), all_(base.all), room_(room), o_(o), seed_(seed), stream_(stream) {}

  /// Begins with these labels, or with each vertex alone, and leaves connected communities; returns their modularity.
  double run(Array<Index> start) {
    for (number_ = 0;; ++number_) {
      const auto rule = rule_of(o_.resolution / all_);
      const DevicePasses passes{kMostPassesOfALevel, tolerance_of(number_) * all_};
      const auto found = move_on(level_, rule, passes, left(), stream_, start);
      start = {};
      if (o_.levels > 0 && number_ + 1 >= o_.levels) return split(found);
      auto parts = refine_on(level_, found, rule, left(), stream_);
      if (parts.moved == 0) return split(found);
      start = descend(found.labels, parts);
    }
  }
  const Array<Index>& labels() const { return vertex_of_; }

 private:
  MoveRule rule_of(double scale) const {
    return {
        .scale = scale, .seed = drawn(seed_, static_cast<std::uint64_t>(number_)), .rounds = kLeidenRounds};
  }
  DeviceRoom left() const { return {std::max<std::int64_t>(room_.bytes - level_.device_bytes(), 0)}; }

  /// Parts become the vertices of the level; returns the communities of these.
  Array<Index> descend(const Array<Index>& communities, DevicePartition& parts) {
    auto coarse = join_on(level_, parts, left(), stream_);
    if (vertex_of_.size == 0) vertex_of_ = parts.labels;
    else each(vertex_of_.size, Compose{parts.labels.data, vertex_of_.data}, stream_);
    auto of_parts = communities_of_parts(communities, parts.labels, coarse.vertices, stream_);
    level_ = std::move(coarse);
    return of_parts;
  }

  /// Vertices of a level are connected. Their communities need not be: one may have left that joined two others. Edges within
  /// communities are contracted until there are none; of that, totals decide nothing.
  double split(DevicePartition found) {
    for (;;) {
      auto parts = refine_on(level_, found, rule_of(0), left(), stream_);
      if (parts.inside == 0 && vertex_of_.size > 0) break;
      found.labels = descend(found.labels, parts);
      found.totals = level_.degree;
      ++number_;
      if (parts.inside == 0) break;
    }
    return quality_of(level_, all_, o_.resolution, stream_);
  }

  DeviceLevel level_;
  double all_;
  DeviceRoom room_;
  const CommunityOptions& o_;
  std::uint64_t seed_;
  Stream stream_;
  int number_ = 0;
  Array<Index> vertex_of_;
};

}  // namespace

Communities leiden_on(const DeviceCommunities& g, const CommunityOptions& o, Stream stream) {
  const auto base = base_of(g, stream);
  if (!(base.all > 0)) return {alone_on_host(g.vertices), {}};
  Array<Index> best, start;
  double most = 0;
  for (int i = 0; i < o.iterations; ++i) {
    Iteration iteration(base, g.room, o, drawn(o.seed, static_cast<std::uint64_t>(i) << 32), stream);
    const auto found = iteration.run(std::move(start));
    const bool enough = i > 0 && found - most <= o.threshold;
    if (i == 0 || found > most) best = iteration.labels(), most = found;
    if (enough || i + 1 == o.iterations) break;
    start = communities_of_parts(iteration.labels(), {}, g.vertices, stream);
  }
  return {numbered_on_host(best, stream), {}};
}

}  // namespace penstock::community
