#pragma once
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "penstock/solver/outcome.hpp"
#include "penstock/solver/scalars.hpp"
#include "penstock/solver/solve.hpp"
#include "penstock/solver/triangle.hpp"

// Restarted GMRES (Saad & Schultz 1986), preconditioned from the right, wherever the vectors are: W is HostWork or
// DeviceWork with the method's passes. Vectors are made orthogonal by classical Gram-Schmidt in two passes over the basis:
// the first takes the inner products, the second subtracts and takes them again. Where these say that rounding left too
// much, a third pass subtracts once more (the criterion is measured, not estimated). A pass needs one reduction, whatever
// the number of vectors.
namespace penstock {

/// A cycle that reduces the residual by no more than this part of it begins the next one where it began itself.
inline constexpr double kNoProgress = 1e-10;

/// Vectors that the method keeps: the basis, u, and M v of the last vector, or of all.
constexpr int gmres_vectors(int kept, bool flexible = false) { return flexible ? 2 * kept + 2 : kept + 3; }

/// v[j + 1], which holds A M v[j], made orthogonal to v[0 .. j] and of length 1; h receives j + 2 numbers.
template <class W>
void orthogonalise(W& work, int j, std::span<typename W::Scalar> h) {
  using T = typename W::Entry;
  using Scalar = typename W::Scalar;
  constexpr auto eps = static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon());
  const auto k = static_cast<std::size_t>(j) + 1;
  work.project(j);
  auto sums = work.total(k + 1);
  const double before = std::sqrt(std::real(sums[k]));
  std::vector<Scalar> found(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(k));
  std::copy(found.begin(), found.end(), h.begin());
  work.subtract(j, found);
  sums = work.total(k + 1);
  double after = std::sqrt(std::real(sums[k])), lost = 0;
  for (std::size_t i = 0; i < k; ++i) lost = std::max(lost, std::abs(sums[i]));
  if (lost > std::sqrt(eps) * after) {  // so half of the digits stay orthogonal, which is enough
    std::copy_n(sums.begin(), k, found.begin());
    for (std::size_t i = 0; i < k; ++i) h[i] += found[i];
    work.subtract(j, found);
    after = std::sqrt(std::real(work.total(k + 1)[k]));
  }
  // A M v[j] lies in the space of the other vectors, unless it is not finite
  if (!(after > eps * before)) after = std::isfinite(before) ? 0 : before;
  h[k] = after;
  if (after > 0) work.scale(static_cast<T>(1 / after), work[j + 1]);
}

/// `kept`: vectors until a restart. `flexible` is for a W whose `combine` takes any of its vectors.
template <class W>
SolveResult gmres_on(W& work, int kept, bool flexible = false) {
  using T = typename W::Entry;
  const bool m = work.has_m();
  T *const r = work[0], *const u = work[kept + 1];
  flexible = flexible && m;
  const auto z_of = [&](int j) { return work[kept + 2 + (flexible ? j : 0)]; };
  Triangle<typename W::Scalar> triangle(kept);
  std::vector<typename W::Scalar> column(static_cast<std::size_t>(kept) + 1);

  double norm = 0;
  if (!work.load({&norm}, {r})) {
    norm = work.residual(r, work.starts_at_zero());
    work.start(norm);
  }
  for (; !work.ended() && work.more(); work.save({norm}, {r})) {
    work.scale(static_cast<T>(1 / norm), r);
    triangle.start(norm);
    bool exhausted = false;
    double estimate = norm;
    for (int j = 0; j < kept && work.more() && !exhausted && !work.small(estimate); ++j) {
      if (m) work.precondition(work[j], z_of(j));
      work.multiply(m ? z_of(j) : work[j], work[j + 1]);
      orthogonalise(work, j, {column.data(), static_cast<std::size_t>(j) + 2});
      exhausted = std::real(column[static_cast<std::size_t>(j) + 1]) == 0;
      estimate = triangle.add({column.data(), static_cast<std::size_t>(j) + 2});
      if (!std::isfinite(estimate)) break;
      work.step(estimate);
    }
    if (!std::isfinite(estimate)) {
      work.not_finite();
      break;
    }
    if (flexible) {
      if constexpr (requires { work.combine(triangle.solve(), u, 0); })
        work.combine(triangle.solve(), u, kept + 2);
    } else {
      work.combine(triangle.solve(), u);
      if (m) work.precondition(u, z_of(0));
    }
    work.add(T(1), m && !flexible ? z_of(0) : u, work.x());
    work.cycle();
    const auto before = norm;
    if (work.small(estimate)) {
      if (work.verified(r)) break;
      norm = work.norm();
    } else {
      norm = work.residual(r);
      work.correct(norm);
      if (work.small(norm)) {
        work.end(Stop::converged, "converged");
      } else if (!exhausted && work.more() && !(norm < (1 - kNoProgress) * before)) {
        work.end(Stop::stagnated, "stagnated: a cycle left the residual at " + work.number(norm) +
                                      ", above " + work.number(work.target()) +
                                      ": take a larger restart or another M, or a larger rtol where this is "
                                      "rounding");
      }
    }
    if (exhausted && !work.small(norm) && !(norm < Outcome::kProgress * before))
      work.end(Stop::singular,
               "breakdown: A M maps the Krylov space into itself and b is not reached: the matrix is "
               "singular, or b is not in its range");
  }
  return work.finish(r);
}

}  // namespace penstock
