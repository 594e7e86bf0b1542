// The set-up of smoothed aggregation: strength, aggregates, prolongator and Galerkin product, level by level.
#include "penstock/solver/multigrid/hierarchy.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/multigrid/level_checks.hpp"
#include "penstock/solver/multigrid/nonsymmetric.hpp"

namespace penstock {
namespace {

template <class T>
LinearOp<T> product_of(const AmgLevel<T>& level) {
  return matrix_op<T, T>(level.a, level.plans, InCore{}, {.prepare_after = -1});
}

}  // namespace

void require_blocks(std::int64_t rows, std::int64_t cols, std::int64_t block) {
  require(rows == cols, "AMG: the matrix is not square");
  require(block >= 1 && rows % block == 0,
          "AMG: block_size=" + std::to_string(block) + " does not divide the rows of A");
}

template <class T>
std::shared_ptr<const Hierarchy<T>> build_hierarchy(const Csr<T>& a, std::vector<double> near_nullspace,
                                                    std::int64_t vectors, const AmgOptions& o,
                                                    const Hierarchy<T>* before) {
  require_blocks(a.rows, a.cols, o.block);
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
    if (number == 0) require_positive_diagonal(inverse, {});
    const auto op = product_of(level);
    level.largest = o.symmetric ? largest_eigenvalue(op, matrix, inverse) : largest_row_sum(matrix, inverse);
    if (number == 0 && o.symmetric) require_symmetric(op, {});
    level.smoothing = o.l1_jacobi ? l1_jacobi_smoothing(matrix, o.degree)
                                  : chebyshev_smoothing(inverse, level.largest, o.degree);
    if (matrix.rows <= o.max_coarse || number + 1 >= o.max_levels) break;

    const bool scalar = block == 1 && vectors == 1;
    Aggregates groups;
    Strength<T> strong;
    const auto transposed = o.symmetric ? Csr<T>{} : transpose(matrix);
    {
      const auto judged = o.symmetric ? matrix : mean_magnitude(matrix, transposed);
      const auto vertices = block == 1 ? judged : condensed(judged, block);
      const bool same = o.symmetric && block == 1;
      strong = strength_of(vertices, same ? inverse : inverse_diagonal(vertices), o.strength);
      if (before) groups = before->levels[at(number)].aggregates;
      else groups = aggregate(strong_graph(vertices, strong), o.seed + static_cast<std::uint64_t>(number));
    }
    level.aggregates = groups;
    const auto coarse_rows = groups.count * vectors;
    if (too_little_coarser(coarse_rows, matrix.rows)) break;
    auto made = tentative<T>(groups, block, near_nullspace, vectors);
    // The filter keeps the row sums of A, which is right for constants, but not for several vectors.
    if (o.symmetric) {
      level.p = smoothed(matrix, made.t, inverse, kOmega / level.largest, scalar ? &strong : nullptr);
      level.r = transpose(level.p);
    } else {
      level.p = locally_smoothed(matrix, made.t, inverse);
      level.r = transpose(locally_smoothed(transposed, made.t, inverse));
    }
    {
      const auto ap = spgemm<PlusTimes<T>, T>(matrix.view(), level.p.view(), {.ascending = true});
      matrix = spgemm<PlusTimes<T>, T>(level.r.view(), ap.view(), {.ascending = true});
    }
    near_nullspace = std::move(made.coarse);
    block = vectors;
  }
  auto& last = h->levels.back();
  if (last.a.rows <= std::max(o.max_coarse, kMostDense)) {
    h->coarsest.emplace(last.a, kZeroPivot<T>, o.symmetric);
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
