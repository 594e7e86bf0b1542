// The methods of Louvain and Leiden: levels of moving, refining and joining vertices.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/community/community.hpp"
#include "penstock/graph/community/level.hpp"

namespace penstock {
namespace {

using community::Coarse;
using community::Level;
using community::MoveOptions;
using community::Workspaces;

constexpr std::int64_t kRowsOfADegree = 4 << 10;

/// The graph as it was given, with its degrees.
template <class G>
class Base {
 public:
  explicit Base(const G& a) : a_(a), degree_(allocate<double>(a.rows)) {
    parallel_ranges(a.rows, kRowsOfADegree, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) {
        double sum = 0;
        community::each_entry(a_, v, [&](Index u, double weight) { sum += weight * (u == v ? 2 : 1); });
        degree_.data[v] = sum;
      }
    });
    for (std::int64_t v = 0; v < a.rows; ++v) all_ += degree_.data[v];
  }
  Level<G> level() const { return {a_, degree_.data}; }
  double all() const { return all_; }  // twice the weight of all edges
  Workspaces spaces() const { return Workspaces(a_.rows, a_.nnz(), community::longest_row(a_)); }

 private:
  G a_;
  Array<double> degree_;
  double all_ = 0;
};

MoveOptions options_of_level(int level, double all, const CommunityOptions& o) {
  return {.scale = o.resolution / all,
          .tolerance = community::tolerance_of(level) * all,
          .seed = community::drawn(o.seed, static_cast<std::uint64_t>(level))};
}

/// The modularity of a partition of a level; labels are below `level.a.rows`.
template <class G>
double quality(const Level<G>& level, std::span<const Index> labels, double all, double resolution) {
  double outward = 0, squares = 0;
  std::vector<double> total(labels.size());
  for (std::int64_t v = 0; v < level.a.rows; ++v) {
    total[at(labels[at(v)])] += level.degree[v];
    community::each_entry(level.a, v, [&](Index u, double weight) {
      if (labels[at(u)] != labels[at(v)]) outward += weight;
    });
  }
  for (const auto t : total) squares += t / all * (t / all);
  return 1 - outward / all - resolution * squares;
}

std::vector<Index> each_alone(std::int64_t n) {
  std::vector<Index> labels(at(n));
  std::iota(labels.begin(), labels.end(), 0);
  return labels;
}

/// labels = next(labels), vertex by vertex
void compose(std::span<Index> labels, std::span<const Index> next) {
  parallel_ranges(static_cast<std::int64_t>(labels.size()), 64 << 10, [&](auto first, auto last) {
    for (auto v = first; v < last; ++v) labels[at(v)] = next[at(labels[at(v)])];
  });
}

Array<Index> as_array(std::span<const Index> labels) {
  const auto out = allocate<Index>(static_cast<std::int64_t>(labels.size()));
  std::ranges::copy(labels, out.data);
  return out;
}

/// f(level, number) for the graph and then for every coarser one that f returns.
template <class G, class F>
void for_each_level(const Level<G>& base, F&& f) {
  std::optional<Coarse> coarse = f(base, 0);
  for (int number = 1; coarse; ++number) coarse = f(coarse->level(), number);
}

/// One iteration of Leiden's method, which begins with the labels given and leaves its own; returns their modularity.
template <class G>
double iterate(const Base<G>& base, std::vector<Index>& labels, const CommunityOptions& o,
               Workspaces& spaces) {
  const auto all = base.all();
  auto vertex_of = each_alone(static_cast<std::int64_t>(labels.size()));  // where each vertex is in the level
  double found = 0;
  for_each_level(base.level(), [&](const auto& level, int number) -> std::optional<Coarse> {
    const auto options = options_of_level(number, all, o);
    community::move_vertices(level, labels, options, spaces);
    const auto communities = community::renumber(labels);
    if (communities < level.a.rows && (o.levels == 0 || number + 1 < o.levels)) {
      auto parts = community::refine(level, std::span<const Index>(labels), communities, options.scale,
                                     options.seed, spaces);
      const auto count = community::renumber(parts);
      if (count < level.a.rows) {
        auto coarse = community::aggregate(level, std::span<const Index>(parts), count, spaces);
        std::vector<Index> of_parts(at(count));
        for (std::size_t v = 0; v < parts.size(); ++v) of_parts[at(parts[v])] = labels[v];
        compose(vertex_of, parts);
        labels = std::move(of_parts);
        return coarse;
      }
    }
    // Vertices of a level are connected. Their communities need not be: one may have left that joined two others.
    if (communities < level.a.rows) {
      const auto parts = community::parts_of(level.a, std::span<const Index>(labels));
      labels.assign(parts.data, parts.data + parts.size);
    }
    found = quality(level, std::span<const Index>(labels), all, o.resolution);
    return std::nullopt;
  });
  compose(vertex_of, labels);
  labels = std::move(vertex_of);
  community::renumber(labels);
  return found;
}

template <class G>
Communities louvain_of(const G& a, const CommunityOptions& o, bool by_level) {
  const Base<G> base(a);
  auto result = each_alone(a.rows);
  Communities out;
  if (base.all() > 0) {
    auto spaces = base.spaces();
    auto before = quality(base.level(), std::span<const Index>(result), base.all(), o.resolution);
    for_each_level(base.level(), [&](const auto& level, int number) -> std::optional<Coarse> {
      auto labels = each_alone(level.a.rows);
      community::move_vertices(level, labels, options_of_level(number, base.all(), o), spaces);
      const auto communities = community::renumber(labels);
      if (communities == level.a.rows) return std::nullopt;
      auto coarse = community::aggregate(level, std::span<const Index>(labels), communities, spaces);
      const auto alone = each_alone(communities);
      const auto now = quality(coarse.level(), std::span<const Index>(alone), base.all(), o.resolution);
      compose(result, labels);
      if (by_level) out.by_level.push_back(result);
      const bool last = now - before <= o.threshold || number + 1 == o.levels;
      before = now;
      if (last) return std::nullopt;
      return coarse;
    });
  }
  out.labels = as_array(result);
  return out;
}

template <class G>
Communities leiden_of(const G& a, const CommunityOptions& o) {
  const Base<G> base(a);
  auto labels = each_alone(a.rows);
  if (base.all() > 0) {
    auto spaces = base.spaces();
    std::vector<Index> best;
    double most = 0;
    auto options = o;
    for (int i = 0; i < o.iterations; ++i) {
      options.seed = community::drawn(o.seed, static_cast<std::uint64_t>(i) << 32);
      const auto found = iterate(base, labels, options, spaces);
      const bool better = i == 0 || found > most;
      const bool enough = i > 0 && found - most <= o.threshold;
      if (better) {
        best = labels;
        most = found;
      }
      if (enough) break;
    }
    labels = std::move(best);
  }
  return {as_array(labels), {}};
}

}  // namespace

template <class V>
void require_community_weights(const Csr<V>& a) {
  if constexpr (!is_pattern<V>) {
    const auto* const fault = std::find_if_not(a.values.data, a.values.data + a.nnz(), [](V w) {
      return w >= 0 && std::isfinite(static_cast<double>(w));
    });
    require(fault == a.values.data + a.nnz(), [&] {
      const auto e = fault - a.values.data;
      const auto row = std::upper_bound(a.indptr.data, a.indptr.data + a.rows + 1, e) - a.indptr.data - 1;
      return "the weight of edge " + std::to_string(row) + " -> " + std::to_string(a.indices.data[e]) +
             " is " + std::to_string(*fault) +
             ": communities need weights that are finite and not negative; take abs(A), or unweighted=True";
    });
  }
}

template <class V>
Communities louvain(const Csr<V>& a, const CommunityOptions& o, bool by_level) {
  return louvain_of(a.view(), o, by_level);
}
Communities louvain(const PackedLists& lists, const CommunityOptions& o, bool by_level) {
  const community::PackedBase base(lists);
  return louvain_of(base.edges(), o, by_level);
}

template <class V>
Communities leiden(const Csr<V>& a, const CommunityOptions& o) {
  return leiden_of(a.view(), o);
}
Communities leiden(const PackedLists& lists, const CommunityOptions& o) {
  const community::PackedBase base(lists);
  return leiden_of(base.edges(), o);
}

#define PENSTOCK_LOUVAIN(V)                                                      \
  template void require_community_weights<V>(const Csr<V>&);                     \
  template Communities louvain<V>(const Csr<V>&, const CommunityOptions&, bool); \
  template Communities leiden<V>(const Csr<V>&, const CommunityOptions&);
PENSTOCK_LOUVAIN(One) PENSTOCK_LOUVAIN(float) PENSTOCK_LOUVAIN(double)
#undef PENSTOCK_LOUVAIN

}  // namespace penstock
