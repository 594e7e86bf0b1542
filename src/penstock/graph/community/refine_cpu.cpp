// Communities are refined side by side, each by one thread: what happens in one does not touch another.
#include <algorithm>
#include <numeric>

#include "penstock/graph/community/level.hpp"

namespace penstock::community {
namespace {

template <class G>
class Refinement {
 public:
  Refinement(const Level<G>& level, std::span<const Index> labels, double scale)
      : level_(level),
        labels_(labels),
        scale_(scale),
        part_(at(level.a.rows)),
        total_(level.degree, level.degree + level.a.rows),
        outward_(at(level.a.rows)),
        size_(at(level.a.rows), 1) {
    std::iota(part_.begin(), part_.end(), 0);
  }

  void refine(Workspace& w, std::span<const Index> vertices, std::uint64_t seed) {
    if (vertices.size() < 2) return;
    const auto own = labels_[at(vertices[0])];
    double all = 0;
    for (const auto v : vertices) {
      all += level_.degree[v];
      outward_[at(v)] = inner_weight(v, own);
    }
    Walk walk(static_cast<std::int64_t>(vertices.size()), seed);
    for (std::size_t i = 0; i < vertices.size(); ++i) place(w, vertices[at(walk.next())], own, all);
  }

  std::vector<Index> parts() && { return std::move(part_); }

 private:
  double inner_weight(Index v, Index own) const {
    double sum = 0;
    const Index* const labels = labels_.data();
    each_entry(level_.a, v, [&](Index u, double weight) {
      sum += (u != v) & (labels[u] == own) ? weight : 0;  // without a branch, which could not be foreseen
    });
    return sum;
  }

  bool well_connected(Index part, double all) const {
    const auto total = total_[at(part)];
    return outward_[at(part)] >= scale_ * total * (all - total);
  }

  /// Lets v join a part, if it is alone and well connected.
  void place(Workspace& w, Index v, Index own, double all) {
    if (part_[at(v)] != v || size_[at(v)] != 1 || !well_connected(v, all)) return;
    // First the entries within the community, without a branch; then their sums.
    Slot* const slots = w.slots.data;
    Index* const touched = w.touched.data;
    double* const met = w.met.data;
    const Index* const labels = labels_.data();
    std::int64_t entries = 0, count = 0;
    each_entry(level_.a, v, [&](Index u, double weight) {
      touched[entries] = u;
      if constexpr (!is_unweighted<G>) met[entries] = weight;
      entries += (u != v) & (labels[u] == own);
    });
    for (std::int64_t i = 0; i < entries; ++i) {
      const auto c = part_[at(touched[i])];
      auto& sum = slots[c].sums[i & 1];
      touched[count] = c;
      count += !(sum > 0);
      if constexpr (is_unweighted<G>) sum += 1;
      else sum += met[i];
    }
    const auto degree = level_.degree[v];
    double most = 0, joined = 0;
    Index to = v;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto c = touched[i];
      const auto weight = slots[c].weight();
      slots[c] = {};
      if (!(weight > 0)) continue;
      const auto worth = weight - scale_ * degree * total_[at(c)];
      if (worth > most && well_connected(c, all)) {
        most = worth;
        joined = weight;
        to = c;
      }
    }
    if (to == v) return;
    part_[at(v)] = to;
    total_[at(to)] += degree;
    outward_[at(to)] += outward_[at(v)] - 2 * joined;
    ++size_[at(to)];
  }

  const Level<G>& level_;
  std::span<const Index> labels_;
  const double scale_;
  std::vector<Index> part_;      // named after the vertex that began it
  std::vector<double> total_;    // the degrees of a part
  std::vector<double> outward_;  // the weight between a part and the rest of its community
  std::vector<Index> size_;
};

}  // namespace

template <class G>
std::vector<Index> refine(const Level<G>& level, std::span<const Index> labels, std::int64_t communities,
                          double scale, std::uint64_t seed, Workspaces& spaces) {
  const auto members = members_of(labels, communities);
  const auto size = [&](std::int64_t c) { return members.first[at(c + 1)] - members.first[at(c)]; };
  // Large ones first, so that no thread is left with one at the end.
  std::vector<std::int64_t> order(at(communities));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](auto c, auto d) { return size(c) != size(d) ? size(c) > size(d) : c < d; });
  std::vector<std::int64_t> first = {0};  // of tasks, each about so many vertices or one community
  for (std::int64_t i = 0, vertices = 0; i < communities; ++i) {
    vertices += size(order[at(i)]);
    if (vertices >= (4 << 10) || i + 1 == communities) {
      first.push_back(i + 1);
      vertices = 0;
    }
  }
  Refinement<G> refinement(level, labels, scale);
  spaces.share(static_cast<std::int64_t>(first.size()) - 1, [&](Workspace& w, std::int64_t task) {
    poll_interrupt();
    for (auto i = first[at(task)]; i < first[at(task + 1)]; ++i) {
      const auto c = order[at(i)];
      const std::span vertices(&members.vertex[at(members.first[at(c)])], at(size(c)));
      refinement.refine(w, vertices, seed + static_cast<std::uint64_t>(c));
    }
  });
  return std::move(refinement).parts();
}

#define PENSTOCK_REFINE(G)                                                                             \
  template std::vector<Index> refine<G>(const Level<G>&, std::span<const Index>, std::int64_t, double, \
                                        std::uint64_t, Workspaces&);
PENSTOCK_FOR_EACH_COMMUNITY_GRAPH(PENSTOCK_REFINE)
#undef PENSTOCK_REFINE

}  // namespace penstock::community
