#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/multigrid/smoothing.hpp"

namespace penstock {

/// W: coarse levels are visited twice. K: by at most two steps of flexible conjugate gradients (Notay and Vassilevski 2008), so
/// that M is no linear map.
enum class AmgCycle { v, w, k };
/// The first of two steps is enough where it leaves at most so much of the residual (Notay and Vassilevski 2008).
inline constexpr double kEnoughOfK = 0.25;

/// The lengths of both steps of a K cycle: e = first c + second d, by rho = c . A c, alpha = c . b, gamma = d . A c, beta = d . A d and
/// more = d . (b - alpha / rho A c).
struct StepsOfK {
  double first, second;
};
constexpr StepsOfK steps_of_k(double rho, double alpha, double gamma, double beta, double more) {
  const double rest = beta - gamma * gamma / rho;
  const double second = rest > 0 ? more / rest : 0;
  return {alpha / rho - gamma / rho * second, second};
}

/// What a cycle asks of a level. On many ranks each has the rows that it owns, and all functions are collective.
template <class T>
struct CycleLevel {
  std::int64_t rows = 0;  // here
  Smoothing<T> smoothing;
  std::function<void(const T* x, T* y)> product;   // y = A x
  std::function<void(const T* r, T* b)> restrict;  // b = R r, to the next level; empty on the last one
  std::function<void(const T* e, T* z)> prolong;   // z += P e, from the next level
};

template <class T>
struct CycleLevels {
  std::vector<CycleLevel<T>> levels;
  std::function<void(const T* b, T* z)> coarsest = {};  // empty: the last level is smoothed
  AmgCycle cycle = AmgCycle::v;
  RankRows ranks = {};  // whose sums and largest values inner products and scales are
};

/// M = one cycle. With vectors of another type than T, which are scaled by a power of two; `scale` M is applied.
template <class U, class T>
LinearOp<U> cycle_op(std::shared_ptr<const CycleLevels<T>> levels, double scale,
                     std::function<std::int64_t()> matrix_bytes);

}  // namespace penstock
