// Checks core numbers from both sides. A vertex of number k has at least k neighbours of number k or more, so no number is too
// large. And if vertices are removed in ascending order of their numbers, each when it has at most as many neighbours left as
// its number, all of them can be removed; a vertex whose number is too small would stay.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/kcore.hpp"

namespace penstock {
namespace {

template <class F>
void for_row(const CsrView<One>& a, std::int64_t v, F&& f) {
  for (auto k = a.indptr[v]; k < a.indptr[v + 1]; ++k)
    f(static_cast<std::size_t>(a.indices[k - a.first_nnz]));
}

void check_not_too_large(const CsrView<One>& a, std::span<const Index> cores) {
  for (std::int64_t v = 0; v < a.rows; ++v) {
    const auto core = cores[static_cast<std::size_t>(v)];
    Offset strong = 0;
    for_row(a, v, [&](std::size_t u) { strong += cores[u] >= core; });
    require(core >= 0 && strong >= core, [&] {
      return "core numbers: vertex " + std::to_string(v) + " has core number " + std::to_string(core) +
             ", but " + std::to_string(strong) + " neighbours of at least that";
    });
  }
}

/// Removes the vertices of each number in ascending order, each when no more neighbours are left than the number; all
/// must go.
void check_not_too_small(const CsrView<One>& a, std::span<const Index> cores) {
  std::vector<Offset> left(cores.size());
  std::vector<bool> gone(cores.size());
  std::vector<std::size_t> order(cores.size()), ready;
  for (std::size_t v = 0; v < cores.size(); ++v) left[v] = a.indptr[v + 1] - a.indptr[v];
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t u, std::size_t v) { return cores[u] < cores[v]; });
  const auto try_remove = [&](std::size_t v, Index number) {
    if (gone[v] || cores[v] != number || left[v] > number) return;
    gone[v] = true;
    ready.push_back(v);
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto number = cores[order[i]];
    try_remove(order[i], number);
    while (!ready.empty()) {
      const auto u = ready.back();
      ready.pop_back();
      for_row(a, static_cast<std::int64_t>(u), [&](std::size_t w) {
        --left[w];
        try_remove(w, number);
      });
    }
    if (i % 4096 == 0) poll_interrupt();
  }
  for (std::size_t v = 0; v < cores.size(); ++v)
    require(gone[v], [&] {
      return "core numbers: vertex " + std::to_string(v) + " has core number " + std::to_string(cores[v]) +
             ", but keeps " + std::to_string(left[v]) + " neighbours among those that should have more";
    });
}

}  // namespace

void core_verify(const CsrView<One>& a, std::span<const Index> cores) {
  require(std::ssize(cores) == a.rows, "core numbers: " + std::to_string(cores.size()) +
                                           " of them for a graph of " + std::to_string(a.rows) + " vertices");
  check_not_too_large(a, cores);
  check_not_too_small(a, cores);
}

}  // namespace penstock
