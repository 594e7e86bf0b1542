// A batch is united on one thread: most of its time goes into the pages of a few parents, which threads would pass around.
#include "penstock/graph/dynamic/growing_components.hpp"

#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc/forest.hpp"

namespace penstock {

GrowingComponents::GrowingComponents(std::span<const Index> labels) : parents_(labels.size()) {
  std::vector<Index> roots;  // of each label its smallest vertex, which comes first
  for (std::size_t v = 0; v < labels.size(); ++v) {
    const auto known = std::ssize(roots);
    require(0 <= labels[v] && labels[v] <= known,
            [&] { return "label " + std::to_string(labels[v]) + " is not the next component's"; });
    if (labels[v] == known) roots.push_back(Index(v));
    parents_[v] = roots[at(labels[v])];
  }
}

void GrowingComponents::grow(std::int64_t vertices) {
  const auto before = parents_.size();
  require(vertices >= std::ssize(parents_), "vertices are added, not removed");
  parents_.resize(at(vertices));
  std::iota(parents_.begin() + std::ptrdiff_t(before), parents_.end(), Index(before));
}

void GrowingComponents::unite(const CooIndices& rows, const CooIndices& cols, std::int64_t edges) {
  graph::Forest forest(parents_.data());
  for (std::int64_t i = 0; i < edges; ++i) {
    const auto u = rows[i], v = cols[i];
    require(0 <= u && u < vertices() && 0 <= v && v < vertices(),
            [&] { return "edge " + std::to_string(i) + " has an end outside the vertices"; });
    forest.unite_alone(Index(u), Index(v));
  }
}

Components GrowingComponents::components() {
  Components c{0, allocate<Index>(vertices())};
  graph::Forest(parents_.data()).flatten(0, vertices());
  for (std::int64_t v = 0; v < vertices(); ++v) {  // a root is the smallest, and so has its number by now
    const auto root = parents_[at(v)];
    c.labels.data[v] = root == v ? Index(c.count++) : c.labels.data[root];
  }
  return c;
}

}  // namespace penstock
