// The methods of Louvain and of label propagation on a device, level by level.
#include <algorithm>
#include <cmath>
#include <limits>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/community/device_level_run.hpp"
#include "penstock/graph/community/device_steps.hpp"
#include "penstock/graph/community/level.hpp"

namespace penstock::community {

// More rounds are nearer to vertices that move one by one, and fewer keep a GPU busier.
static constexpr int kRounds = 16;

std::int64_t add_all(const Array<std::int64_t>& some, Stream stream) {
  const auto sums = held<std::int64_t>(some.size + 1, stream);
  fill_async(sums.data, 0, sums.bytes(), stream);
  copy_async(sums.data, some.data, some.bytes(), stream);
  prefix_sums(sums.data, some.size + 1, stream);
  return fetch(sums.data + some.size, stream);
}

DeviceBase base_of(const DeviceCommunities& g, Stream stream) {
  DeviceBase base;
  base.level.lists = g.lists;
  base.level.vertices = g.vertices;
  base.level.entries = g.entries;
  base.level.degree = held<std::int64_t>(g.vertices, stream);
  PENSTOCK_ON(stream, add_degrees, g.lists, g.vertices, base.level.degree.data);
  base.all = static_cast<double>(add_all(base.level.degree, stream));
  return base;
}

Array<Index> numbered_on_host(const Array<Index>& labels, Stream stream) {
  const auto n = labels.size;
  const auto numbers = held<Index>(n, stream), renamed = held<Index>(n, stream);
  copy_async(renamed.data, labels.data, labels.bytes(), stream);
  {
    Buffers<std::uint32_t> keys(n, stream);
    Buffers<Index> vertices(n, stream);
    each(n, KeyByLabel{labels.data, keys.first.data, vertices.first.data}, stream);
    sort_pairs(keys, vertices, bits_below(n), stream);
    const auto ranks = held<Offset>(n + 1, stream);
    fill_async(ranks.data, 0, ranks.bytes(), stream);
    each(n, MarkFirst{keys.first.data, vertices.first.data, ranks.data}, stream);
    prefix_sums(ranks.data, n + 1, stream);
    each(n, NumberByFirst{keys.first.data, vertices.first.data, ranks.data, numbers.data}, stream);
    each(n, Compose{numbers.data, renamed.data}, stream);
    synchronize(stream);
  }
  const Place place{stream.where.is_gpu() ? Memory::pinned : Memory::host, 0};
  auto owner = reuse_bytes(labels.bytes(), place);
  const Array<Index> out{static_cast<Index*>(owner.get()), n, place, owner};
  copy_async(out.data, renamed.data, out.bytes(), stream);
  synchronize(stream);
  return out;
}

double quality_of(const DeviceLevel& level, double all, double resolution, Stream stream) {
  std::vector<std::int64_t> degree(at(level.vertices));
  copy_async(degree.data(), level.degree.data, level.degree.bytes(), stream);
  synchronize(stream);
  double squares = 0;
  for (const auto d : degree) squares += static_cast<double>(d) / all * (static_cast<double>(d) / all);
  return 1 - static_cast<double>(level.outward) / all - resolution * squares;
}

Array<Index> alone_on_host(std::int64_t n) {
  const auto out = allocate<Index>(n);
  for (std::int64_t v = 0; v < n; ++v) out.data[v] = static_cast<Index>(v);
  return out;
}

Communities louvain_on(const DeviceCommunities& g, const CommunityOptions& o, bool by_level, Stream stream) {
  Communities out;
  auto [level, all] = base_of(g, stream);
  Array<Index> result;
  auto before = -std::numeric_limits<double>::infinity();
  for (int number = 0; all > 0; ++number) {
    const MoveRule rule{.scale = o.resolution / all,
                        .seed = drawn(o.seed, static_cast<std::uint64_t>(number)),
                        .rounds = kRounds};
    const DeviceRoom left{std::max<std::int64_t>(g.room.bytes - level.device_bytes(), 0)};
    auto found = move_on(level, rule, {kMostPassesOfALevel, tolerance_of(number) * all}, left, stream);
    if (found.moved == 0) break;
    auto coarse = join_on(level, found, left, stream);
    if (coarse.vertices == level.vertices) break;
    if (number == 0) result = found.labels;
    else each(result.size, Compose{found.labels.data, result.data}, stream);
    if (by_level) {
      const auto labels = numbered_on_host(result, stream);
      out.by_level.emplace_back(labels.data, labels.data + labels.size);
    }
    const auto now = quality_of(coarse, all, o.resolution, stream);
    const bool last = now - before <= o.threshold || number + 1 == o.levels;
    before = now;
    level = std::move(coarse);
    if (last) break;
  }
  out.labels = result.size > 0 ? numbered_on_host(result, stream) : alone_on_host(g.vertices);
  return out;
}

Array<Index> label_propagation_on(const DeviceCommunities& g, int passes, std::uint64_t seed, Stream stream) {
  if (g.vertices == 0) return alone_on_host(0);
  const auto base = base_of(g, stream);
  const MoveRule rule{.propagates = true, .seed = seed, .rounds = kRounds};
  const auto found = move_on(base.level, rule, {.most = passes}, g.room, stream);
  return numbered_on_host(found.labels, stream);
}

template <class V>
double units_of_weights(const Csr<V>& a) {
  if constexpr (is_pattern<V>) {
    return 1;
  } else {
    // Of each range of entries, so that the sum has one order whatever the threads.
    constexpr std::int64_t kRange = 1 << 16;
    const auto* const values = a.values.data;
    std::vector<double> sums(at((a.nnz() + kRange - 1) / kRange));
    parallel_ranges(a.nnz(), kRange, [&](std::int64_t first, std::int64_t last) {
      double sum = 0;
      for (auto e = first; e < last; ++e) sum += static_cast<double>(values[e]);
      sums[at(first / kRange)] = sum;
    });
    double all = 0;
    for (const auto sum : sums) all += sum;
    if (!(all > 0)) return 1;
    require(std::isfinite(2 * all), "the weights add up to more than a float64 holds: scale them");
    // Loops count twice, and each weight is rounded up by half a unit at most.
    constexpr int kBits = 52;
    int exponent = 0;
    std::frexp(2 * all, &exponent);
    return std::ldexp(1.0, std::min(kBits - exponent, 1000));
  }
}
template double units_of_weights<One>(const Csr<One>&);
template double units_of_weights<float>(const Csr<float>&);
template double units_of_weights<double>(const Csr<double>&);

}  // namespace penstock::community
