// The prolongators of smoothed aggregation: a QR factorisation on each aggregate, and one step of Jacobi's method.
#include "penstock/solver/multigrid/prolongate.hpp"

#include <cmath>
#include <utility>

#include "penstock/solver/multigrid/rows_in_ranges.hpp"

namespace penstock {
namespace {

/// Stable; rows of stencils are too short for a sort that allocates memory.
void sort_by_column(std::vector<std::pair<Index, double>>& sums) {
  constexpr std::size_t kFew = 48;
  if (sums.size() > kFew) {
    std::stable_sort(sums.begin(), sums.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    return;
  }
  for (std::size_t i = 1; i < sums.size(); ++i) {
    const auto moved = sums[i];
    auto k = i;
    for (; k > 0 && sums[k - 1].first > moved.first; --k) sums[k] = sums[k - 1];
    sums[k] = moved;
  }
}

}  // namespace

template <class T>
Tentative<T> tentative(const Aggregates& aggregates, std::int64_t block, const std::vector<double>& b,
                       std::int64_t vectors) {
  const auto vertices = aggregates.of.size, rows = vertices * block, k = vectors;
  std::vector<Offset> begin(at(aggregates.count + 1));  // the vertices of each aggregate, ascending
  std::vector<Index> members(at(vertices));
  for (std::int64_t v = 0; v < vertices; ++v)
    if (aggregates.of.data[v] >= 0) ++begin[at(aggregates.of.data[v] + 1)];
  for (std::int64_t a = 0; a < aggregates.count; ++a) begin[at(a + 1)] += begin[at(a)];
  auto fill = begin;
  for (std::int64_t v = 0; v < vertices; ++v)
    if (aggregates.of.data[v] >= 0) members[at(fill[at(aggregates.of.data[v])]++)] = static_cast<Index>(v);

  const auto indptr = allocate<Offset>(rows + 1);
  for (std::int64_t r = 0; r < rows; ++r) indptr.data[r + 1] = aggregates.of.data[r / block] >= 0 ? k : 0;
  const auto nnz = lengths_to_offsets(indptr);
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  const auto values = allocate<T>(std::max<Offset>(nnz, 1));
  Tentative<T> made;
  made.coarse.assign(at(aggregates.count * k * k), 0.0);
  constexpr std::int64_t kAggregatesOfATask = 512;
  parallel_ranges(aggregates.count, kAggregatesOfATask, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> q;
    for (auto a = first; a < last; ++a) {
      const auto size = begin[at(a + 1)] - begin[at(a)];
      q.resize(at(size * block * k));
      for (Offset i = 0; i < size * block; ++i) {
        const auto row = members[at(begin[at(a)] + i / block)] * block + i % block;
        for (std::int64_t c = 0; c < k; ++c) q[at(i * k + c)] = b[at(row * k + c)];
      }
      orthonormalise(q.data(), size * block, k, made.coarse.data() + a * k * k);
      for (Offset i = 0; i < size * block; ++i) {
        const auto row = members[at(begin[at(a)] + i / block)] * block + i % block;
        for (std::int64_t c = 0; c < k; ++c) {
          indices.data[indptr.data[row] + c] = static_cast<Index>(a * k + c);
          values.data[indptr.data[row] + c] = static_cast<T>(q[at(i * k + c)]);
        }
      }
    }
  });
  made.t.rows = rows, made.t.cols = aggregates.count * k;
  made.t.indptr = indptr, made.t.indices = indices.slice(0, nnz), made.t.values = values.slice(0, nnz);
  return made;
}

template <class T>
Csr<T> smoothed(const Csr<T>& a, const Csr<T>& t, Array<const T> inverse, double omega,
                const Strength<T>* strong) {
  const auto* tp = t.indptr.data;
  const auto view = strong ? strong->view() : StrengthView<T>{};
  return rows_in_ranges<T>(
      a.rows, t.cols, [&](std::int64_t r) { return a.indptr.data[r] + r; },
      [&](std::int64_t i, RowPiece<T>& piece) {
        thread_local std::vector<std::pair<Index, double>> sums;
        sums.clear();
        const auto add = [&](std::int64_t row, double factor) {
          for (auto e = tp[row]; e < tp[row + 1]; ++e)
            sums.emplace_back(t.indices.data[e], factor * static_cast<double>(t.values.data[e]));
        };
        const double d = inverse.data[i] != 0 ? 1 / static_cast<double>(inverse.data[i]) : 0;
        const double filtered = filtered_diagonal(i, a.view(), inverse.data, strong ? &view : nullptr);
        const double w = d != 0 ? omega / filtered : 0;
        add(i, 1 - w * filtered);
        if (w != 0)
          for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k) {
            const auto j = a.indices.data[k];
            if (j != i && (!strong || (*strong)(i, j, a.values.data[k])))
              add(j, -w * static_cast<double>(a.values.data[k]));
          }
        // Equal columns are added in the order in which they came: the bits do not depend on the sort.
        sort_by_column(sums);
        for (std::size_t k = 0, end = 0; k < sums.size(); k = end) {
          double sum = 0;
          for (; end < sums.size() && sums[end].first == sums[k].first; ++end) sum += sums[end].second;
          piece.indices.push_back(sums[k].first);
          piece.values.push_back(static_cast<T>(sum));
        }
      });
}

#define X(T)                                                                                      \
  template Tentative<T> tentative<T>(const Aggregates&, std::int64_t, const std::vector<double>&, \
                                     std::int64_t);                                               \
  template Csr<T> smoothed(const Csr<T>&, const Csr<T>&, Array<const T>, double, const Strength<T>*);
X(float)
X(double)
#undef X

}  // namespace penstock
