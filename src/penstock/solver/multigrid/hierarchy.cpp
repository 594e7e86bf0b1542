// The set-up of smoothed aggregation: strength, aggregates, prolongator and Galerkin product, level by level.
#include "penstock/solver/multigrid/hierarchy.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/multigrid/rows_in_ranges.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {
namespace {

/// A level with more than this part of the rows of the one before it is not worth its work.
constexpr double kLeastCoarsening = 0.8;
/// The last level is factored up to so many rows where it cannot be made coarser.
constexpr std::int64_t kMostDense = 1500;
constexpr int kLastSteps = 8;  // of the smoother where the last level is not factored

/// A vertex stands for `block` rows: the Frobenius norms of the blocks.
template <class T>
Csr<T> condensed(const Csr<T>& a, std::int64_t block) {
  return rows_in_ranges<T>(
      a.rows / block, a.cols / block, [&](std::int64_t r) { return a.indptr.data[r * block] + r; },
      [&](std::int64_t v, RowPiece<T>& piece) {
        std::vector<std::pair<Index, double>> entries;
        for (auto k = a.indptr.data[v * block]; k < a.indptr.data[(v + 1) * block]; ++k) {
          const auto value = static_cast<double>(a.values.data[k]);
          entries.emplace_back(static_cast<Index>(a.indices.data[k] / block), value * value);
        }
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        for (std::size_t k = 0, end = 0; k < entries.size(); k = end) {
          double sum = 0;
          for (; end < entries.size() && entries[end].first == entries[k].first; ++end)
            sum += entries[end].second;
          piece.indices.push_back(entries[k].first);
          piece.values.push_back(static_cast<T>(std::sqrt(sum)));
        }
      });
}

/// x . A y = y . A x for two vectors that look random: an A that is not symmetric is found with certainty in practice.
template <class T>
void require_symmetric(const LinearOp<T>& op) {
  const auto n = op.rows;
  const Workspace<T> work(n, 4);
  const auto x = work[0], y = work[1], ax = work[2], ay = work[3];
  for (std::int64_t i = 0; i < n; ++i) {
    const auto h = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15;
    x[at(i)] = static_cast<T>(static_cast<double>(h >> 11) * 0x1p-53 - 0.5);
    y[at(i)] = static_cast<T>(static_cast<double>((h ^ h >> 29) * 0xbf58476d1ce4e5b9 >> 11) * 0x1p-53 - 0.5);
  }
  op.apply(x, ax);
  op.apply(y, ay);
  double sums[4] = {};
  for (std::int64_t f = 0; f < n; f += kSumBlock) {
    const auto count = std::min(kSumBlock, n - f);
    sums[0] += dot(x.data() + f, ay.data() + f, count), sums[1] += dot(y.data() + f, ax.data() + f, count);
    sums[2] += dot(x.data() + f, x.data() + f, count), sums[3] += dot(ay.data() + f, ay.data() + f, count);
  }
  const double tolerance =
      (sizeof(T) == 4 ? 1e-3 : 1e-6) / std::sqrt(static_cast<double>(std::max<std::int64_t>(n, 1)));
  require(!(std::abs(sums[0] - sums[1]) > tolerance * std::sqrt(sums[2] * sums[3])),
          "AMG: A is not symmetric: take M='ilu0' with gmres or bicgstab");
}

template <class T>
LinearOp<T> product_of(const AmgLevel<T>& level) {
  return matrix_op<T, T>(level.a, level.plans, InCore{}, {.prepare_after = -1});
}

}  // namespace

template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy(const Csr<T>& a, std::vector<double> near_nullspace,
                                                    std::int64_t vectors, const AmgOptions& o,
                                                    const Hierarchy<T>* before) {
  require(a.rows == a.cols, "AMG: the matrix is not square");
  require(o.block >= 1 && a.rows % o.block == 0,
          "AMG: block_size=" + std::to_string(o.block) + " does not divide the rows of A");
  auto h = std::make_shared<Hierarchy<T>>();
  h->cycle = o.cycle;
  auto matrix = a;
  auto block = o.block;
  for (int number = 0;; ++number) {
    poll_interrupt();
    require(!before || at(number) < before->levels.size(), "AMG: the hierarchy is of another matrix");
    auto& level = h->levels.emplace_back();
    level.a = matrix;
    level.plans = std::make_shared<SpmvPlans<T>>();
    if (number == 0 && matrix.nnz() >= kWorthAPlan)
      level.plans->prepare(matrix.view(), SpmvAlgorithm::automatic);
    const auto inverse = inverse_diagonal(matrix);
    if (number == 0)
      for (std::int64_t i = 0; i < matrix.rows; ++i)
        require(inverse.data[i] > 0 && std::isfinite(inverse.data[i]), [&] {
          return "AMG: the diagonal entry of row " + std::to_string(i) +
                 " is not a positive number: A is not positive definite; leave such rows out, or take "
                 "M='ilu0' with gmres";
        });
    const auto op = product_of(level);
    level.largest = largest_eigenvalue(op, matrix, inverse);
    if (number == 0) require_symmetric(op);
    level.smoothing = o.l1_jacobi ? l1_jacobi_smoothing(matrix, o.degree)
                                  : chebyshev_smoothing(inverse, level.largest, o.degree);
    if (matrix.rows <= o.max_coarse || number + 1 >= o.max_levels) break;

    const bool scalar = block == 1 && vectors == 1;
    Aggregates groups;
    Strength<T> strong;
    {
      const auto vertices = block == 1 ? matrix : condensed(matrix, block);
      strong = strength_of(vertices, block == 1 ? inverse : inverse_diagonal(vertices), o.strength);
      if (before) groups = before->levels[at(number)].aggregates;
      else groups = aggregate(strong_graph(vertices, strong), o.seed + static_cast<std::uint64_t>(number));
    }
    level.aggregates = groups;
    const auto coarse_rows = groups.count * vectors;
    if (coarse_rows == 0 ||
        static_cast<double>(coarse_rows) > kLeastCoarsening * static_cast<double>(matrix.rows))
      break;
    auto made = tentative<T>(groups, block, near_nullspace, vectors);
    // The filter keeps the row sums of A, which is right for constants, but not for several vectors.
    level.p = smoothed(matrix, made.t, inverse, 4.0 / 3 / level.largest, scalar ? &strong : nullptr);
    level.r = transpose(level.p);
    {
      const auto ap = spgemm<PlusTimes<T>, T>(matrix.view(), level.p.view(), {.ascending = true});
      matrix = spgemm<PlusTimes<T>, T>(level.r.view(), ap.view(), {.ascending = true});
    }
    near_nullspace = std::move(made.coarse);
    block = vectors;
  }
  auto& last = h->levels.back();
  if (last.a.rows <= std::max(o.max_coarse, kMostDense)) {
    h->coarsest.emplace(last.a, sizeof(T) == 4 ? 1e-5 : 1e-12);
  } else {
    last.smoothing = o.l1_jacobi ? l1_jacobi_smoothing(last.a, kLastSteps)
                                 : chebyshev_smoothing(last.smoothing.weights, last.largest, kLastSteps);
  }
  return h;
}

template std::shared_ptr<const Hierarchy<float>> build_hierarchy(const Csr<float>&, std::vector<double>,
                                                                 std::int64_t, const AmgOptions&,
                                                                 const Hierarchy<float>*);
template std::shared_ptr<const Hierarchy<double>> build_hierarchy(const Csr<double>&, std::vector<double>,
                                                                  std::int64_t, const AmgOptions&,
                                                                  const Hierarchy<double>*);

}  // namespace penstock
