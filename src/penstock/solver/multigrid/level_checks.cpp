#include "penstock/solver/multigrid/level_checks.hpp"

#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {

void throw_not_positive(std::int64_t row) {
  throw Error(Errc::invalid_argument,
              "AMG: the diagonal entry of row " + std::to_string(row) +
                  " is not a positive number: A is not positive definite; leave such rows out, or with "
                  "b in host memory take M='ilu0' with gmres");
}

template <class T>
void require_symmetric_sums(const double* sums, std::int64_t all, bool over_ranks) {
  const double tolerance =
      (sizeof(T) == 4 ? 1e-3 : 1e-6) / std::sqrt(static_cast<double>(std::max<std::int64_t>(all, 1)));
  require(
      !(std::abs(sums[0] - sums[1]) > tolerance * std::sqrt(sums[2] * sums[3])),
      over_ranks
          ? "AMG: A is not symmetric: take ps.dist.linalg.AMG(A, symmetry='nonsymmetric'), or M='ilu0' or "
            "'schwarz', with gmres or bicgstab"
          : "AMG: A is not symmetric: take AMG(A, symmetry='nonsymmetric'), or with b in host memory "
            "M='ilu0', with gmres or bicgstab");
}

template <class T>
void require_positive_diagonal(const Array<const T>& inverse, const RankRows& rows) {
  rows.together([&] {
    for (std::int64_t i = 0; i < inverse.size; ++i)
      if (!(inverse.data[i] > 0 && std::isfinite(inverse.data[i]))) throw_not_positive(rows.number(i));
  });
}

template <class T>
void require_symmetric(const LinearOp<T>& product, const RankRows& rows) {
  const auto n = product.rows;
  const Workspace<T> work(n, 4);
  const auto x = work[0], y = work[1], ax = work[2], ay = work[3];
  for (std::int64_t i = 0; i < n; ++i) {
    x[at(i)] = static_cast<T>(start_entry(rows.number(i)));
    y[at(i)] = static_cast<T>(start_entry(rows.number(i), true));
  }
  product.apply(x, ax);
  product.apply(y, ay);
  double sums[4] = {};
  for (std::int64_t f = 0; f < n; f += kSumBlock) {
    const auto count = std::min(kSumBlock, n - f);
    sums[0] += dot(x.data() + f, ay.data() + f, count), sums[1] += dot(y.data() + f, ax.data() + f, count);
    sums[2] += dot(x.data() + f, x.data() + f, count), sums[3] += dot(ay.data() + f, ay.data() + f, count);
  }
  rows.sum(sums);
  require_symmetric_sums<T>(sums, rows.comm ? rows.all : n, rows.comm != nullptr);
}

#define X(T)                                                                       \
  template void require_positive_diagonal(const Array<const T>&, const RankRows&); \
  template void require_symmetric_sums<T>(const double*, std::int64_t, bool);      \
  template void require_symmetric(const LinearOp<T>&, const RankRows&);
X(float)
X(double)
#undef X

}  // namespace penstock
