// Pipelined conjugate gradients (Ghysels & Vanroose 2014, algorithm 4): recurrences for w = A u and its images let the one
// reduction of an iteration travel while M and A are applied. All of an iteration's updates and inner products are one
// pass. The recurrences drift more than CG's: where the true residual turns out larger, they start anew from it.
#include <utility>

#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// The vectors of an iteration. Without M, u is r, m is w and q is s.
template <class T>
struct Vectors {
  T *x, *r, *u, *w, *m, *n, *z, *q, *s, *p;
};

/// {u . r, u . w, r . r} of rows [f, f + count)
template <class T>
void add_dots(const Vectors<T>& v, std::int64_t f, std::int64_t count, double* sums) {
  sums[0] += dot(v.u + f, v.r + f, count);
  sums[1] += dot(v.u + f, v.w + f, count);
  if (v.u != v.r) sums[2] += dot(v.r + f, v.r + f, count);
}

template <class T>
void update(const Vectors<T>& v, T alpha, T beta, std::int64_t f, std::int64_t count) {
  xpby<T>(v.n + f, beta, v.z + f, count);
  if (v.u != v.r) xpby<T>(v.m + f, beta, v.q + f, count);
  xpby<T>(v.w + f, beta, v.s + f, count);
  xpby<T>(v.u + f, beta, v.p + f, count);
  axpy<T>(alpha, v.p + f, v.x + f, count);
  axpy<T>(-alpha, v.s + f, v.r + f, count);
  if (v.u != v.r) axpy<T>(-alpha, v.q + f, v.u + f, count);
  axpy<T>(-alpha, v.z + f, v.w + f, count);
}

/// At the first step from a residual, where u . w is p . A p itself.
template <class T>
void break_down(Progress<T>& progress, double gamma, double curvature) {
  if (!std::isfinite(gamma + curvature)) progress.not_finite();
  else if (!(gamma > 0)) progress.bad_preconditioner(gamma);
  else progress.not_positive(curvature);
}

}  // namespace

template <class T>
SolveResult pipelined_cg(const LinearOp<T>& a, const LinearOp<T>* pre, std::span<const T> b, std::span<T> x,
                         const SolveOptions& o, const Space& space) {
  const auto rows = a.rows;
  Progress<T> progress(a, pre, b, x, o, space);
  auto& sweep = progress.sweep;
  const Workspace<T> work(rows, pre ? 9 : 6);
  Vectors<T> v{};
  v.x = x.data();
  v.r = work[0].data(), v.w = work[1].data(), v.n = work[2].data(), v.z = work[3].data(),
  v.s = work[4].data();
  v.p = work[5].data();
  v.u = pre ? work[6].data() : v.r, v.m = pre ? work[7].data() : v.w, v.q = pre ? work[8].data() : v.s;
  const auto whole = [rows](T* p) { return std::span<T>(p, static_cast<std::size_t>(rows)); };
  const auto apply = [&](const LinearOp<T>& op, const T* from, T* to) {
    op.apply({from, static_cast<std::size_t>(rows)}, whole(to));
    sweep.count(rows, op.diagonal.size ? 3 : 2);
  };
  std::array<double, 3> sums;
  /// u, w and the inner products from r; the directions begin at zero.
  const auto begin = [&] {
    if (pre) apply(*pre, v.r, v.u);
    apply(a, v.u, v.w);
    sweep(rows, pre ? 8 : 6, sums, [&](std::int64_t f, std::int64_t count, double* s) {
      for (T* direction : {v.z, v.s, v.p}) std::fill_n(direction + f, count, T(0));
      if (pre) std::fill_n(v.q + f, count, T(0));
      add_dots(v, f, count, s);
    });
  };

  double norm = 0, gamma = 0, alpha = 0;  // of the iteration before; gamma = 0: the recurrences begin here
  const auto with_state = [&](auto&& use) {
    const auto r = whole(v.r), w = whole(v.w), z = whole(v.z), s = whole(v.s), p = whole(v.p);
    return pre ? use({r, w, z, s, p, whole(v.u), whole(v.q)}) : use({r, w, z, s, p});
  };
  using List = std::initializer_list<std::span<T>>;
  const auto save = [&](List vectors) { progress.save({gamma, alpha}, vectors); };
  if (with_state([&](List vectors) { return progress.load({&gamma, &alpha}, vectors); })) {
    if (pre)
      apply(*pre, v.w, v.m);  // what operators make at their first use may not be made while a sum travels
    apply(a, v.m, v.n);
    sweep(rows, pre ? 3 : 2, sums,
          [&](std::int64_t f, std::int64_t count, double* s) { add_dots(v, f, count, s); });
  } else {
    norm = progress.residual(whole(v.r), o.starts_at_zero);
    progress.start(norm);
    if (!progress.ended()) begin();
  }
  bool updated = false;  // an update's norm is still to come
  while (!progress.ended()) {
    space.start(sums);
    if (pre) apply(*pre, v.w, v.m);
    apply(a, v.m, v.n);
    space.finish();
    if (!pre) sums[2] = sums[0];
    norm = std::sqrt(sums[2]);
    if (std::exchange(updated, false)) progress.step(norm);
    const double beta = gamma != 0 ? sums[0] / gamma : 0;
    const double curvature = sums[1] - (gamma != 0 ? beta * sums[0] / alpha : 0);
    const bool broken = !(sums[0] > 0) || !(curvature > 0) || !std::isfinite(sums[0] + curvature);
    if (progress.small(norm) || (broken && gamma != 0)) {
      // Done, or so it seems, or rounding has the better of the recurrences: b - A x decides.
      if (progress.verified(whole(v.r))) break;
      begin();
      gamma = 0;
      continue;
    }
    with_state(save);
    if (!progress.more()) break;
    if (broken) {
      break_down(progress, sums[0], curvature);
      break;
    }
    gamma = sums[0], alpha = sums[0] / curvature;
    sweep(rows, pre ? 18 : 13, sums, [&](std::int64_t f, std::int64_t count, double* s) {
      update(v, static_cast<T>(alpha), static_cast<T>(beta), f, count);
      add_dots(v, f, count, s);
    });
    updated = true;
  }
  return progress.finish(whole(v.r));
}

template SolveResult pipelined_cg(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>,
                                  std::span<float>, const SolveOptions&, const Space&);
template SolveResult pipelined_cg(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                                  std::span<double>, const SolveOptions&, const Space&);

}  // namespace penstock
