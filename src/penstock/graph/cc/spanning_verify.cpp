// Checks a minimum spanning forest by the cycle property (Tarjan 1983, chapter 6): entries are taken in ascending order, and
// the ends of each must be joined by those entries of the forest that are no larger.
#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc/spanning.hpp"

namespace penstock {
namespace {

template <class... Parts>
[[noreturn]] void no_forest(const Parts&... parts) {
  std::ostringstream text;
  text.precision(17);
  text << "minimum_spanning_tree: ";
  (text << ... << parts);
  throw Error(Errc::invalid_argument, text.str());
}

template <class V>
double weight(const Csr<V>& a, Offset k) {
  if constexpr (is_pattern<V>) return 1;
  else return static_cast<double>(a.values.data[k]);
}

struct Weighted {
  double weight;
  Index from, to;
};

/// The entries in ascending order of their values.
template <class V>
std::vector<Weighted> ascending(const Csr<V>& a) {
  std::vector<Weighted> edges;
  edges.reserve(at(a.nnz()));
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k) {
      const auto w = weight(a, k);
      if (w != w) no_forest("the edge ", i, " -> ", a.indices.data[k], " has weight nan");
      edges.push_back({w, static_cast<Index>(i), a.indices.data[k]});
    }
  std::sort(edges.begin(), edges.end(),
            [](const Weighted& a, const Weighted& b) { return a.weight < b.weight; });
  return edges;
}

template <class V>
void check_entries(const Csr<V>& a, const Csr<V>& forest) {
  std::vector<std::pair<Index, double>> row;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (forest.indptr.data[i] == forest.indptr.data[i + 1]) continue;
    row.clear();
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      row.push_back({a.indices.data[k], weight(a, k)});
    std::sort(row.begin(), row.end());
    for (auto k = forest.indptr.data[i]; k < forest.indptr.data[i + 1]; ++k)
      if (!std::binary_search(row.begin(), row.end(), std::pair(forest.indices.data[k], weight(forest, k))))
        no_forest("the forest's edge ", i, " -> ", forest.indices.data[k], " of weight ", weight(forest, k),
                  " is none of the graph");
    if (i % 4096 == 0) poll_interrupt();
  }
}

class Sets {
 public:
  explicit Sets(std::int64_t n) : parent_(at(n)) { std::iota(parent_.begin(), parent_.end(), Index(0)); }
  Index find(Index v) {
    while (parent_[at(v)] != v) v = parent_[at(v)] = parent_[at(parent_[at(v)])];
    return v;
  }
  void unite(const Weighted& e) {
    const auto a = find(e.from), b = find(e.to);
    if (a == b) no_forest("the forest's edge ", e.from, " -> ", e.to, " closes a cycle");
    parent_[at(a)] = b;
  }

 private:
  std::vector<Index> parent_;
};

}  // namespace

template <class V>
void minimum_spanning_forest_verify(const Csr<V>& a, const Csr<V>& forest) {
  require(a.rows == a.cols && forest.rows == a.rows && forest.cols == a.cols,
          "minimum_spanning_tree: the forest is " + std::to_string(forest.rows) + " x " +
              std::to_string(forest.cols) + ", the graph " + std::to_string(a.rows) + " x " +
              std::to_string(a.cols) + ": both must be square, and equal");
  check_entries(a, forest);
  const auto tree = ascending(forest);
  Sets sets(a.rows);
  auto next = tree.begin();
  std::int64_t steps = 0;
  for (const auto& e : ascending(a)) {
    while (next != tree.end() && next->weight <= e.weight) sets.unite(*next++);
    if (sets.find(e.from) != sets.find(e.to))
      no_forest("the edge ", e.from, " -> ", e.to, " of weight ", e.weight,
                " has no path in the forest by edges of that or less");
    if (++steps % 4096 == 0) poll_interrupt();
  }
}

#define X(V) template void minimum_spanning_forest_verify(const Csr<V>&, const Csr<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
