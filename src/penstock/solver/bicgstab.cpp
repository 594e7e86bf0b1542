// BiCGStab (van der Vorst 1992), preconditioned from the right. An iteration is two products, whose inner products are taken
// on the way, and three passes; r plays the part of s, too.
#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

constexpr int kRenewals = 10;

}

template <class T>
SolveResult bicgstab(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                     const SolveOptions& o, const Space& space) {
  const auto n = a.rows;
  Progress<T> progress(a, m, b, x, o, space);
  auto& sweep = progress.sweep;
  const Workspace<T> work(n, m ? 7 : 5);
  const auto r = work[0], shadow = work[1], p = work[2], v = work[3], t = work[4];
  const auto p_hat = m ? work[5] : p, s_hat = m ? work[6] : r;
  const auto precondition = [&](std::span<T> from, std::span<T> to) {
    if (!m) return;
    m->apply(from, to);
    sweep.count(n, m->diagonal.size ? 3 : 2);
  };
  const auto eps = static_cast<double>(std::numeric_limits<T>::epsilon());

  double norm = 0, rho = 0, shadow_norm = 0, renewals = 0;
  /// The shadow residual is r itself; p = r.
  const auto begin = [&](double residual) {
    sweep(n, 3, [&](std::int64_t f, std::int64_t count) {
      std::copy_n(r.data() + f, count, shadow.data() + f);
      std::copy_n(r.data() + f, count, p.data() + f);
    });
    shadow_norm = residual, rho = residual * residual;
  };
  if (!progress.load({&rho, &shadow_norm, &renewals}, {r, shadow, p})) {
    norm = progress.residual(r, o.starts_at_zero);
    progress.start(norm);
    if (!progress.ended()) begin(norm);
  }
  const auto save = [&] { progress.save({rho, shadow_norm, renewals}, {r, shadow, p}); };
  for (; !progress.ended() && progress.more(); save()) {
    precondition(p, p_hat);
    std::array<double, 1> rv{apply_dots<T>(a, p_hat, v, shadow.data(), sweep).wy};
    space.sum(rv);
    if (!std::isfinite(rv[0]) || !std::isfinite(rho)) {
      progress.not_finite();
      break;
    }
    if (rv[0] == 0) {
      progress.end(Stop::rho, "breakdown: the shadow residual is orthogonal to A p: use gmres, or another M");
      break;
    }
    const double alpha = rho / rv[0];
    std::array<double, 1> ss;
    sweep(n, 3, ss, [&](std::int64_t f, std::int64_t count, double* s) {
      axpy<T>(static_cast<T>(-alpha), v.data() + f, r.data() + f, count);
      s[0] += dot(r.data() + f, r.data() + f, count);
    });
    space.sum(ss);
    if (progress.small(std::sqrt(ss[0]))) {  // half an iteration was enough
      sweep(n, 3, [&](std::int64_t f, std::int64_t count) {
        axpy<T>(static_cast<T>(alpha), p_hat.data() + f, x.data() + f, count);
      });
      progress.step(std::sqrt(ss[0]));
      if (progress.verified(r)) break;
      begin(progress.norm());
      continue;
    }
    precondition(r, s_hat);
    const auto dots = apply_dots<T>(a, s_hat, t, r.data(), sweep);
    std::array<double, 2> st_tt{dots.wy, dots.yy};
    space.sum(st_tt);
    const double omega = st_tt[1] > 0 ? st_tt[0] / st_tt[1] : 0;
    std::array<double, 2> sums;
    sweep(n, m ? 8 : 6, sums, [&](std::int64_t f, std::int64_t count, double* s) {
      axpy<T>(static_cast<T>(alpha), p_hat.data() + f, x.data() + f, count);
      axpy<T>(static_cast<T>(omega), s_hat.data() + f, x.data() + f, count);
      axpy<T>(static_cast<T>(-omega), t.data() + f, r.data() + f, count);
      s[0] += dot(r.data() + f, r.data() + f, count);
      s[1] += dot(shadow.data() + f, r.data() + f, count);
    });
    space.sum(sums);
    norm = std::sqrt(sums[0]);
    progress.step(norm);
    if (!std::isfinite(sums[0] + sums[1] + omega)) {
      progress.not_finite();
      break;
    }
    if (progress.small(norm)) {
      if (progress.verified(r)) break;
      begin(progress.norm());
      continue;
    }
    if (std::abs(st_tt[0]) <= eps * std::sqrt(st_tt[1] * ss[0])) {
      progress.end(Stop::omega, "breakdown: omega = " + progress.number(omega) +
                                    ": A s is orthogonal to s, as for skew matrices; use gmres");
      break;
    }
    // A shadow residual that has become orthogonal to r is of no use: take a new one.
    if (std::abs(sums[1]) <= eps * norm * shadow_norm) {
      if (++renewals > kRenewals) {
        progress.end(Stop::rho,
                     "breakdown: rho = " + progress.number(sums[1]) +
                         " again and again: the shadow residual is orthogonal to r; use gmres, or another M");
        break;
      }
      begin(norm);
      continue;
    }
    const auto beta = static_cast<T>(sums[1] / rho * (alpha / omega));
    rho = sums[1];
    sweep(n, 4, [&](std::int64_t f, std::int64_t count) {
      axpy<T>(static_cast<T>(-omega), v.data() + f, p.data() + f, count);
      xpby<T>(r.data() + f, beta, p.data() + f, count);
    });
  }
  return progress.finish(r);
}

template SolveResult bicgstab(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>,
                              std::span<float>, const SolveOptions&, const Space&);
template SolveResult bicgstab(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                              std::span<double>, const SolveOptions&, const Space&);

}  // namespace penstock
