// A multigrid cycle from zero with all levels and vectors in a device's memory: cycle.cpp's steps, as products and fused passes.
#include "penstock/solver/multigrid/gpu/cycle_gpu.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "penstock/kernel/spmv/spmv_gpu.hpp"
#include "penstock/kernel/vectors/amg_passes.hpp"
#include "penstock/kernel/vectors/dense_blocks.hpp"
#include "penstock/kernel/vectors/krylov_passes.hpp"
#include "penstock/solver/multigrid/gpu/made_on.hpp"

namespace penstock {
namespace {

/// What a cycle writes, and the plans of its products. One stream at a time uses it.
template <class T>
class CycleOn {
 public:
  CycleOn(std::shared_ptr<const Hierarchy<T>> h, Stream stream)
      : h_(std::move(h)), sums_(stream), found_(stream) {
    for (const auto& level : h_->levels) {
      auto& w = work_.emplace_back();
      const bool first = work_.size() == 1;
      if (!first || !h_->streamed()) w.a = plan_spmv(level.a.view(), sizeof(T), stream);
      if (level.p.indptr.data) w.p = plan_spmv(level.p.view(), sizeof(T), stream);
      if (level.r.indptr.data) w.r = plan_spmv(level.r.view(), sizeof(T), stream);
      const int more = h_->cycle == AmgCycle::k ? 1 : 0;
      const int vectors = first ? kOwnVectors : kOwnVectors + kAskedVectors + more;
      w.v = DeviceVectors<T>(level.a.rows, vectors, stream.where);
    }
  }

  /// z = M b on a level and those below it; b is lost on levels below the first of a W cycle.
  void run(std::size_t l, const T* b, T* z, Stream stream) const {
    const auto& level = h_->levels[l];
    const auto n = level.a.rows;
    const bool last = l + 1 == h_->levels.size();
    if (last && h_->inverse.size > 0) return multiply_blocks(h_->inverse.data, n, n, b, z, stream);
    if (last && n == 0) return;
    T *r = vector(l, 0), *d = vector(l, 1), *q = vector(l, 2);
    const auto& s = level.smoothing;
    const T* w = s.weights.data;
    pass(n, SmoothFirst<T>{.in = {b, w}, .out = {z, d}, .add = s.steps[0].add}, stream);
    const T* left = more_steps(l, b, z, last, stream);
    if (last) return;
    multiply(l, d, q, stream);
    pass(n, SmoothResidual<T>{.in = {left, q}, .out = {r}}, stream);
    T *coarse = vector(l + 1, 3), *e = vector(l + 1, 4);
    spmv<PlusTimes<T>, T>(level.r.view(), r, coarse, {}, stream, work_[l].r);
    const bool inner = l + 2 < h_->levels.size();
    if (inner && h_->cycle == AmgCycle::k) two_steps(l + 1, coarse, e, stream);
    else run(l + 1, coarse, e, stream);
    if (inner && h_->cycle == AmgCycle::w) again(l + 1, coarse, e, stream);
    spmv<PlusTimes<T>, T>(level.p.view(), e, z, Scale<PlusTimes<T>>::accumulate(), stream, work_[l].p);
    multiply(l, z, q, stream);
    const T add = s.steps[0].add;
    if (s.steps.size() == 1)
      return pass(n, SmoothAgain<T, true>{.in = {b, q, w, z}, .out = {z}, .add = add}, stream);
    pass(n, SmoothAgain<T, false>{.in = {b, q, w, z}, .out = {z, r, d}, .add = add}, stream);
    more_steps(l, r, z, true, stream);
  }

  T* vector(std::size_t l, int i) const { return work_[l].v[i]; }

 private:
  struct Work {
    SpmvGpuPlan a, p, r;
    DeviceVectors<T> v;
  };

  template <class P>
  void pass(std::int64_t n, const P& p, Stream stream) const {
    sweep(n, p, sums_, stream);
  }
  void multiply(std::size_t l, const T* x, T* y, Stream stream) const {
    if (l == 0 && h_->streamed()) return h_->finest.apply(x, y, stream);
    spmv<PlusTimes<T>, T>(h_->levels[l].a.view(), x, y, {}, stream, work_[l].a);
  }
  /// The steps after the first one, of which the residual before is in `r`; it returns where the residual is before the last step's d.
  /// With `ends` nothing but z is wanted.
  const T* more_steps(std::size_t l, const T* r, T* z, bool ends, Stream stream) const {
    const auto& level = h_->levels[l];
    const auto& s = level.smoothing;
    const T* w = s.weights.data;
    T *own = vector(l, 0), *d = vector(l, 1), *q = vector(l, 2);
    for (std::size_t k = 1; k < s.steps.size(); ++k) {
      const auto [keep, add] = s.steps[k];
      multiply(l, d, q, stream);
      if (ends && k + 1 == s.steps.size()) {
        pass(level.a.rows, SmoothStep<T, true>{.in = {r, q, w, z, d}, .out = {z}, .keep = keep, .add = add},
             stream);
      } else {
        pass(level.a.rows,
             SmoothStep<T, false>{.in = {r, q, w, z, d}, .out = {z, own, d}, .keep = keep, .add = add},
             stream);
      }
      r = own;
    }
    return r;
  }
  /// The second visit of a W cycle: e += M (b - A e).
  void again(std::size_t l, T* b, T* e, Stream stream) const {
    const auto n = h_->levels[l].a.rows;
    T *q = vector(l, 2), *more = vector(l, 5);
    multiply(l, e, q, stream);
    pass(n, SmoothResidual<T>{.in = {b, q}, .out = {b}}, stream);
    run(l, b, more, stream);
    pass(n, BasisAdd<T, 1>{.in = {e, more}, .out = {e}, .factor = {T(1)}}, stream);
  }

  /// The visits of a K cycle: two steps of flexible conjugate gradients for A e = b, or one where that is enough. b is lost, and the host
  /// reads sums.
  void two_steps(std::size_t l, T* b, T* e, Stream stream) const {
    const auto n = h_->levels[l].a.rows;
    T *q = vector(l, 2), *c = vector(l, 5), *v = vector(l, 6);
    run(l, b, c, stream);
    multiply(l, c, v, stream);
    const auto sums = [&](const T* x, const T* ax) {
      pass(n, CorrectionSums<T>{.in = {x, v, ax, b}, .out = {}, .sums_out = found_.out()}, stream);
      const auto* s = found_.get(stream);
      return std::array{s[0], s[1], s[2], s[3]};
    };
    const auto scaled = [&](double step) {
      pass(n, SumOfTwo<T>{.in = {c, c}, .out = {e}, .first = static_cast<T>(step), .second = T(0)}, stream);
    };
    const auto [rho, same, alpha, before] = sums(c, v);
    if (!(rho > 0)) return scaled(1);
    pass(n,
         LanczosNext<T>{
             .in = {b, v}, .out = {b}, .alpha = static_cast<T>(alpha / rho), .sums_out = found_.out()},
         stream);
    if (*found_.get(stream) <= kEnoughOfK * kEnoughOfK * before) return scaled(alpha / rho);
    run(l, b, e, stream);
    multiply(l, e, q, stream);
    const auto [gamma, beta, more, left] = sums(e, q);
    const auto steps = steps_of_k(rho, alpha, gamma, beta, more);
    pass(n,
         SumOfTwo<T>{.in = {c, e},
                     .out = {e},
                     .first = static_cast<T>(steps.first),
                     .second = static_cast<T>(steps.second)},
         stream);
  }

  std::shared_ptr<const Hierarchy<T>> h_;
  SumParts sums_;
  HostSums found_;
  std::vector<Work> work_;
};

/// A cycle for vectors of type U.
template <class U, class T>
class TypedCycle {
 public:
  TypedCycle(const std::shared_ptr<const Hierarchy<T>>& h, double scale, Stream stream)
      : n_(h->levels.front().a.rows),
        scale_(scale),
        cycle_(h, stream),
        parts_(stream),
        between_(std::is_same_v<U, T> ? 0 : n_, 2, stream.where),
        power_(memory_on<double>(1, stream)) {}

  void operator()(const U* b, U* z, Stream stream) const {
    if constexpr (std::is_same_v<U, T>) {
      cycle_.run(0, b, z, stream);
    } else {
      sweep(n_, ScaleOf{.in = {b}, .out = {}, .scale = power_.data}, parts_, stream);
      sweep(n_, Narrow{.in = {b}, .out = {between_[0]}, .scale = power_.data}, parts_, stream);
      cycle_.run(0, between_[0], between_[1], stream);
      sweep(n_, Widen{.in = {between_[1]}, .out = {z}, .scale = power_.data, .factor = scale_}, parts_,
            stream);
    }
  }

 private:
  std::int64_t n_;
  double scale_;
  CycleOn<T> cycle_;
  SumParts parts_;
  DeviceVectors<T> between_;
  Array<double> power_;
};

/// Cycles that no solver uses at the moment, and what makes them.
template <class U, class T>
class Cycles : public std::enable_shared_from_this<Cycles<U, T>> {
 public:
  Cycles(std::shared_ptr<const Hierarchy<T>> h, double scale) : h_(std::move(h)), scale_(scale) {}

  /// Work on the stream has ended when the result goes.
  std::shared_ptr<const TypedCycle<U, T>> take(Stream stream) {
    std::unique_ptr<TypedCycle<U, T>> one;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) one = std::move(free_.back()), free_.pop_back();
    }
    if (!one) one = std::make_unique<TypedCycle<U, T>>(h_, scale_, stream);
    return {one.release(), [self = this->shared_from_this()](TypedCycle<U, T>* done) {
              const std::lock_guard lock(self->mutex_);
              self->free_.emplace_back(done);
            }};
  }

 private:
  std::shared_ptr<const Hierarchy<T>> h_;
  double scale_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TypedCycle<U, T>>> free_;
};

}  // namespace

template <class U, class T>
LinearOp<U> multigrid_on(std::shared_ptr<const Hierarchy<T>> hierarchy, double scale) {
  const auto where = *hierarchy->device;
  const auto n = hierarchy->levels.front().a.rows;
  const auto cycles = std::make_shared<Cycles<U, T>>(hierarchy, scale);
  LinearOp<U> op;
  op.rows = n;
  op.apply = [cycles, where, n](std::span<const U> b, std::span<U> z) {
    const OwnedStream stream(where);
    const auto cycle = cycles->take(stream);
    const DeviceVectors<U> there(n, 2, where);
    copy_async(there[0], b.data(), static_cast<std::int64_t>(b.size_bytes()), stream);
    (*cycle)(there[0], there[1], stream);
    copy_async(z.data(), there[1], static_cast<std::int64_t>(z.size_bytes()), stream);
    synchronize(stream);
  };
  op.matrix_bytes = [hierarchy] { return hierarchy->cycle_bytes(); };
  op.on_device.home = where;
  op.on_device.make = [cycles](Stream stream, std::int64_t, const DeviceGhosts<U>&) -> DeviceApply<U> {
    return [cycle = cycles->take(stream)](const U* r, U* z, Stream on) { (*cycle)(r, z, on); };
  };
  return op;
}

template LinearOp<float> multigrid_on(std::shared_ptr<const Hierarchy<float>>, double);
template LinearOp<double> multigrid_on(std::shared_ptr<const Hierarchy<double>>, double);
template LinearOp<double> multigrid_on(std::shared_ptr<const Hierarchy<float>>, double);

}  // namespace penstock
