// Checks a result by its definition alone, in plain loops: no edge shortens anything, and from the sources every
// distance is reached over edges that explain it exactly.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/sssp/sssp.hpp"
#include "penstock/graph/sssp/sssp_tree.hpp"

namespace penstock {
namespace {

constexpr Index kNoParent = -9999;

template <class... Parts>
[[noreturn]] void wrong(const Parts&... parts) {
  std::ostringstream text;
  text.precision(17);
  text << "sssp: ";
  (text << ... << parts);
  throw Error(Errc::invalid_argument, text.str());
}

template <class V>
void check_tree(const Csr<V>& a, const std::vector<bool>& source, std::span<const Distance<V>> d,
                std::span<const Index> tree) {
  using T = Distance<V>;
  const auto at = [](auto v) { return static_cast<std::size_t>(v); };
  std::vector<bool> tight(at(a.rows));
  for (std::int64_t u = 0; u < a.rows; ++u)
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
      const auto v = a.indices.data[k];
      if (tree[at(v)] == u && std::isfinite(d[at(v)]) && graph::longer(a, T(d[at(u)]), k) == d[at(v)])
        tight[at(v)] = true;
    }
  std::vector<char> rooted(at(a.rows));
  std::vector<Index> path;
  for (std::int64_t v = 0; v < a.rows; ++v) {
    const bool has = std::isfinite(d[at(v)]) && !source[at(v)];
    if (!has && tree[at(v)] != kNoParent)
      wrong("vertex ", v, source[at(v)] ? " is a source" : " is not reached", " but has predecessor ",
            tree[at(v)]);
    if (has && !tight[at(v)])
      wrong("predecessor ", tree[at(v)], " of vertex ", v, " does not explain its distance ", d[at(v)]);
  }
  for (std::int64_t v = 0; v < a.rows; ++v) {
    auto u = static_cast<Index>(v);
    for (; tree[at(u)] != kNoParent && !rooted[at(u)]; u = tree[at(u)]) {
      if (std::ssize(path) > a.rows) wrong("the predecessors of vertex ", v, " form a cycle");
      path.push_back(u);
    }
    for (const auto w : path) rooted[at(w)] = true;
    path.clear();
    if (v % 4096 == 0) poll_interrupt();
  }
}

}  // namespace

template <class V>
void sssp_verify(const Csr<V>& a, std::span<const Index> sources, std::span<const Distance<V>> d,
                 std::span<const Index> tree) {
  using T = Distance<V>;
  const auto at = [](auto v) { return static_cast<std::size_t>(v); };
  require(a.rows == a.cols, "sssp_verify needs a square matrix");
  if (std::ssize(d) != a.rows) wrong(d.size(), " distances for ", a.rows, " vertices");
  if (!tree.empty() && std::ssize(tree) != a.rows)
    wrong(tree.size(), " predecessors for ", a.rows, " vertices");
  std::vector<bool> source(at(a.rows)), explained(at(a.rows));
  std::vector<Index> stack;
  for (const auto s : sources) {
    require(s >= 0 && s < a.rows, "sssp_verify: source " + std::to_string(s) + " is outside the graph");
    if (d[at(s)] != T(0)) wrong("source ", s, " has distance ", d[at(s)], " instead of 0");
    if (!source[at(s)]) stack.push_back(s);
    source[at(s)] = explained[at(s)] = true;
  }
  for (std::int64_t u = 0; u < a.rows; ++u) {
    if (!(d[at(u)] >= T(0))) wrong("vertex ", u, " has distance ", d[at(u)]);
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
      const auto v = a.indices.data[k];
      const T far = graph::longer(a, T(d[at(u)]), k);
      if (!(far >= d[at(v)])) wrong("the edge ", u, " -> ", v, " shortens ", d[at(v)], " to ", far);
    }
    if (u % 4096 == 0) poll_interrupt();
  }
  while (!stack.empty()) {
    const auto u = stack.back();
    stack.pop_back();
    for (auto k = a.indptr.data[u]; k < a.indptr.data[u + 1]; ++k) {
      const auto v = a.indices.data[k];
      if (explained[at(v)] || !std::isfinite(d[at(v)]) || graph::longer(a, T(d[at(u)]), k) != d[at(v)])
        continue;
      explained[at(v)] = true;
      stack.push_back(v);
    }
  }
  for (std::int64_t v = 0; v < a.rows; ++v)
    if (std::isfinite(d[at(v)]) && !explained[at(v)])
      wrong("no path explains the distance ", d[at(v)], " of vertex ", v);
  if (!tree.empty()) check_tree(a, source, d, tree);
}

#define X(V)                                                                                     \
  template void sssp_verify(const Csr<V>&, std::span<const Index>, std::span<const Distance<V>>, \
                            std::span<const Index>);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
