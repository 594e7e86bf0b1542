// A multigrid cycle from zero. The steps before the coarse level are those after it in reverse, and the coarsest solve is
// symmetric, so M is symmetric.
#include "penstock/solver/multigrid/cycle.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "penstock/solver/vectors.hpp"

namespace penstock {
namespace {

template <class T>
class Cycle {
 public:
  explicit Cycle(const CycleLevels<T>& h) : h_(h), sweep_(sizeof(T)) {
    for (const auto& level : h.levels) work_.emplace_back(level.rows, kVectors);
  }

  /// z = M b on a level and those below it.
  void run(std::size_t l, const T* b, T* z) {
    const auto& level = h_.levels[l];
    const bool last = l + 1 == h_.levels.size();
    if (last && h_.coarsest) return h_.coarsest(b, z);
    T* r = work_[l][0].data();
    first_step(l, b, nullptr, z, true);
    more_steps(l, z);
    if (last) return;
    const auto& next = work_[l + 1];
    T* coarse = next[3].data();
    T* e = next[4].data();
    product(l, work_[l][1].data());
    pass(l, [&](std::int64_t i, T*, const T* q) { r[i] -= q[i]; });
    level.restrict(r, coarse);
    const bool inner = l + 2 < h_.levels.size();
    if (inner && h_.cycle == AmgCycle::k) {
      two_steps(l + 1, coarse, e);
    } else {
      run(l + 1, coarse, e);
      if (inner && h_.cycle == AmgCycle::w) again(l + 1, coarse, e);
    }
    level.prolong(e, z);
    product(l, z);
    first_step(l, b, work_[l][2].data(), z, false);
    more_steps(l, z);
  }

 private:
  // r, d and A d of the smoother; b, z, the correction and A times it of a level that another one asks.
  static constexpr int kVectors = 7;

  void product(std::size_t l, const T* x) { h_.levels[l].product(x, work_[l][2].data()); }
  /// f(i, d, A d) for all entries.
  template <class F>
  void pass(std::size_t l, F&& f) {
    T* d = work_[l][1].data();
    const T* q = work_[l][2].data();
    sweep_(h_.levels[l].rows, 5, [&](std::int64_t first, std::int64_t count) {
      for (auto i = first; i < first + count; ++i) f(i, d, q);
    });
  }
  /// r = b - A z, d = add W r, and z (+)= d; q is A z, or null where z is zero.
  void first_step(std::size_t l, const T* b, const T* q, T* z, bool from_zero) {
    const auto& s = h_.levels[l].smoothing;
    const T* w = s.weights.data;
    const T add = s.steps[0].add;
    T* r = work_[l][0].data();
    if (from_zero)
      pass(l, [=](std::int64_t i, T* d, const T*) { r[i] = b[i], z[i] = d[i] = add * w[i] * b[i]; });
    else
      pass(l, [=](std::int64_t i, T* d, const T*) {
        r[i] = b[i] - q[i];
        d[i] = add * w[i] * r[i];
        z[i] += d[i];
      });
  }
  void more_steps(std::size_t l, T* z) {
    const auto& s = h_.levels[l].smoothing;
    const T* w = s.weights.data;
    T* r = work_[l][0].data();
    for (std::size_t k = 1; k < s.steps.size(); ++k) {
      const auto [keep, add] = s.steps[k];
      product(l, work_[l][1].data());
      pass(l, [=, keep = keep, add = add](std::int64_t i, T* d, const T* q) {
        r[i] -= q[i];
        d[i] = keep * d[i] + add * w[i] * r[i];
        z[i] += d[i];
      });
    }
  }
  /// The second visit of a W cycle: e += M (b - A e).
  void again(std::size_t l, T* b, T* e) {
    product(l, e);
    pass(l, [=](std::int64_t i, T*, const T* q) { b[i] -= q[i]; });
    T* more = work_[l][5].data();
    run(l, b, more);
    pass(l, [=](std::int64_t i, T*, const T*) { e[i] += more[i]; });
  }

  /// sums[i] = x_i . y_i, of any thread's number the same.
  template <std::size_t kSums>
  std::array<double, kSums> dots(std::size_t l,
                                 const std::array<std::pair<const T*, const T*>, kSums>& pairs) {
    std::array<double, kSums> sums;
    sweep_(h_.levels[l].rows, 2, sums, [&](std::int64_t first, std::int64_t count, double* s) {
      for (std::size_t i = 0; i < kSums; ++i)
        s[i] += dot(pairs[i].first + first, pairs[i].second + first, count);
    });
    h_.ranks.sum(sums);
    return sums;
  }
  /// The visits of a K cycle: two steps of flexible conjugate gradients for A e = b, or one where that is enough. b is lost.
  void two_steps(std::size_t l, T* b, T* e) {
    T* c = work_[l][5].data();
    T* v = work_[l][6].data();
    const T* q = work_[l][2].data();
    run(l, b, c);
    product(l, c);
    pass(l, [=](std::int64_t i, T*, const T* ac) { v[i] = ac[i]; });
    const auto [rho, alpha, before] = dots<3>(l, {{{c, v}, {c, b}, {b, b}}});
    if (!(rho > 0)) return pass(l, [=](std::int64_t i, T*, const T*) { e[i] = c[i]; });
    const auto step = static_cast<T>(alpha / rho);
    pass(l, [=](std::int64_t i, T*, const T*) { b[i] -= step * v[i]; });
    const auto [left] = dots<1>(l, {{{b, b}}});
    if (left <= kEnoughOfK * kEnoughOfK * before)
      return pass(l, [=](std::int64_t i, T*, const T*) { e[i] = step * c[i]; });
    run(l, b, e);
    product(l, e);
    const auto [gamma, beta, more] = dots<3>(l, {{{e, v}, {e, q}, {e, b}}});
    const auto steps = steps_of_k(rho, alpha, gamma, beta, more);
    const auto first = static_cast<T>(steps.first), second = static_cast<T>(steps.second);
    pass(l, [=](std::int64_t i, T*, const T*) { e[i] = first * c[i] + second * e[i]; });
  }

  const CycleLevels<T>& h_;
  Sweeper sweep_;
  std::vector<Workspace<T>> work_;
};

/// 2^e, so that the largest entry of b times it is between 1 and 2; 1 where b is zero or not finite.
template <class U>
U power_of_two(std::span<const U> b, const RankRows& ranks) {
  U most = 0;
  for (const auto v : b) most = std::max(most, std::abs(v));
  most = static_cast<U>(ranks.largest(static_cast<double>(most)));
  return most > 0 && std::isfinite(most) ? std::ldexp(U(1), -std::ilogb(most)) : U(1);
}

}  // namespace

template <class U, class T>
LinearOp<U> cycle_op(std::shared_ptr<const CycleLevels<T>> levels, double scale,
                     std::function<std::int64_t()> matrix_bytes) {
  LinearOp<U> op;
  const auto n = levels->levels.front().rows;
  op.rows = n;
  op.apply = [levels, scale, n](std::span<const U> b, std::span<U> z) {
    Cycle<T> cycle(*levels);
    if constexpr (std::is_same_v<U, T>) {
      cycle.run(0, b.data(), z.data());
    } else {
      const Workspace<T> work(n, 2);
      const auto down = power_of_two(b, levels->ranks);
      const auto up = static_cast<U>(scale) / down;
      T* in = work[0].data();
      T* out = work[1].data();
      Sweeper sweep(sizeof(U));
      sweep(n, 2, [&](std::int64_t f, std::int64_t count) {
        for (auto i = f; i < f + count; ++i) in[i] = static_cast<T>(down * b[at(i)]);
      });
      cycle.run(0, in, out);
      sweep(n, 2, [&](std::int64_t f, std::int64_t count) {
        for (auto i = f; i < f + count; ++i) z[at(i)] = up * static_cast<U>(out[i]);
      });
    }
  };
  op.matrix_bytes = std::move(matrix_bytes);
  return op;
}

#define X(U, T) \
  template LinearOp<U> cycle_op(std::shared_ptr<const CycleLevels<T>>, double, std::function<std::int64_t()>);
X(float, float)
X(double, double)
X(double, float)
#undef X

}  // namespace penstock
