// Checks strong components by two simple facts. Inside a label, the smallest vertex leads to all others, and these lead to it.
// And the labels can be sorted so that all edges between labels lead forward, so that no cycle passes through two labels.
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/cc/scc.hpp"

namespace penstock {
namespace {

/// The edges within labels as lists, reversed if `back`.
struct Lists {
  std::vector<Offset> begin;
  std::vector<Index> to;
};

Lists lists_within(const CsrView<One>& a, std::span<const Index> labels, bool back) {
  Lists lists{std::vector<Offset>(static_cast<std::size_t>(a.rows) + 2), {}};
  const auto for_each = [&](auto&& f) {
    for (std::int64_t u = 0; u < a.rows; ++u)
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
        const auto from = static_cast<std::size_t>(u),
                   to = static_cast<std::size_t>(a.indices[k - a.first_nnz]);
        if (labels[from] == labels[to]) back ? f(to, from) : f(from, to);
      }
    poll_interrupt();
  };
  for_each([&](std::size_t from, std::size_t) { ++lists.begin[from + 2]; });
  for (std::size_t i = 2; i < lists.begin.size(); ++i) lists.begin[i] += lists.begin[i - 1];
  lists.to.resize(static_cast<std::size_t>(lists.begin.back()));
  for_each([&](std::size_t from, std::size_t to) {
    lists.to[static_cast<std::size_t>(lists.begin[from + 1]++)] = static_cast<Index>(to);
  });
  return lists;
}

void check_reach(const Lists& lists, std::span<const Index> labels, std::int64_t count,
                 const char* direction) {
  std::vector<bool> seen(labels.size()), labelled(static_cast<std::size_t>(count));
  std::vector<Index> stack;
  for (std::size_t v = 0; v < labels.size(); ++v) {
    if (!labelled[static_cast<std::size_t>(labels[v])]) {  // v is the smallest vertex of its label
      labelled[static_cast<std::size_t>(labels[v])] = true;
      seen[v] = true;
      stack.push_back(static_cast<Index>(v));
    }
    while (!stack.empty()) {
      const auto u = static_cast<std::size_t>(stack.back());
      stack.pop_back();
      for (auto k = lists.begin[u]; k < lists.begin[u + 1]; ++k) {
        const auto w = static_cast<std::size_t>(lists.to[static_cast<std::size_t>(k)]);
        if (seen[w]) continue;
        seen[w] = true;
        stack.push_back(static_cast<Index>(w));
      }
    }
  }
  for (std::size_t v = 0; v < labels.size(); ++v)
    require(seen[v], [&] {
      return "strong components: vertex " + std::to_string(v) + " " + direction +
             " the smallest vertex of label " + std::to_string(labels[v]) + " within that label";
    });
}

/// Strong components may be numbered in any order, but by all numbers below `count`.
void check_all_used(std::int64_t vertices, std::int64_t count, std::span<const Index> labels) {
  require(std::ssize(labels) == vertices && count >= 0 && count <= vertices,
          "strong components: " + std::to_string(labels.size()) + " labels and " + std::to_string(count) +
              " components for " + std::to_string(vertices) + " vertices");
  std::vector<bool> used(static_cast<std::size_t>(count));
  for (std::size_t v = 0; v < labels.size(); ++v) {
    require(labels[v] >= 0 && labels[v] < count, [&] {
      return "strong components: vertex " + std::to_string(v) + " has label " + std::to_string(labels[v]) +
             ", which is not one of 0 .. " + std::to_string(count - 1);
    });
    used[static_cast<std::size_t>(labels[v])] = true;
  }
  for (std::size_t label = 0; label < used.size(); ++label)
    require(used[label], [&] { return "strong components: no vertex has label " + std::to_string(label); });
}

/// Removes labels that no edge enters any more (Kahn 1962). If there is a cycle, its labels stay.
void check_order(const CsrView<One>& a, std::span<const Index> labels, std::int64_t count) {
  std::vector<std::int64_t> entering(static_cast<std::size_t>(count));
  std::vector<std::vector<Index>> members(static_cast<std::size_t>(count));
  const auto for_row = [&](Index u, auto&& f) {
    for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
      const auto to = labels[static_cast<std::size_t>(a.indices[k - a.first_nnz])];
      if (to != labels[static_cast<std::size_t>(u)]) f(static_cast<std::size_t>(to));
    }
  };
  for (Index u = 0; u < a.rows; ++u) {
    members[static_cast<std::size_t>(labels[static_cast<std::size_t>(u)])].push_back(u);
    for_row(u, [&](std::size_t to) { ++entering[to]; });
  }
  std::vector<std::size_t> ready;
  for (std::size_t label = 0; label < entering.size(); ++label)
    if (entering[label] == 0) ready.push_back(label);
  for (std::size_t i = 0; i < ready.size(); ++i)
    for (const auto u : members[ready[i]])
      for_row(u, [&](std::size_t to) {
        if (--entering[to] == 0) ready.push_back(to);
      });
  for (std::size_t label = 0; label < entering.size(); ++label)
    require(entering[label] == 0, [&] {
      return "strong components: label " + std::to_string(label) +
             " lies on or behind a cycle through several labels";
    });
}

}  // namespace

void strong_components_verify(const CsrView<One>& out, std::int64_t count, std::span<const Index> labels) {
  check_all_used(out.rows, count, labels);
  check_reach(lists_within(out, labels, false), labels, count, "is not reached from");
  check_reach(lists_within(out, labels, true), labels, count, "does not reach");
  check_order(out, labels, count);
}

}  // namespace penstock
