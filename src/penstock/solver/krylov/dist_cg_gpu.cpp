// Conjugate gradients over ranks with vectors on devices. An iteration is a product and three passes, as in cg_gpu.cpp. The step
// lengths are sums over all ranks: twice in an iteration the host waits for its device's part, adds it up with those of the
// other ranks, and gives the sum to the next pass. A diagonal M is part of the passes; any other M is applied between them. Where a
// pass over one vector takes less time than the ranks need for a sum, x is advanced while the second sum is on its way: one vector
// more is read, and a wait is hidden.
#include "penstock/solver/krylov/dist_solve_gpu.hpp"

namespace penstock {
namespace {

/// Bytes of a vector that a GPU reads in the time of a sum over the ranks (some 10 us: a wait of the host, a meeting, a launch), at 3
/// TB/s.
constexpr std::int64_t kHiddenBytes = 32 << 20;

template <class T>
class DistCg : public DeviceWork<T> {
 public:
  using DeviceWork<T>::DeviceWork;

  SolveResult run() {
    if (!this->load({&rz_}, {r_, p_})) {
      this->start(this->residual(r_, this->starts_at_zero()));
      if (!this->ended() && this->more()) begin();
    }
    for (; !this->ended() && this->more(); this->save({rz_}, {r_, p_})) iterate();
    return this->finish(r_);
  }

 private:
  template <class F>
  void with_m(F&& f) {
    if (d_) f.template operator()<true>();
    else f.template operator()<false>();
  }
  /// z = M r, and r . z as the second sum
  void apply_m() {
    this->precondition(r_, z_);
    this->pass(DistDot<T>{.in = {r_, z_}, .out = {}, .sums_out = this->sums() + 1});
  }
  void begin() {
    if (general_) {
      apply_m();
      rz_ = this->total(2)[1];
      return this->pass(KrylovScale<T>{.in = {z_}, .out = {p_}, .scale = T(1)});
    }
    with_m([&]<bool D>() {
      DistBegin<T, D> first{.in = {r_}, .out = {p_}, .sums_out = this->sums()};
      if constexpr (D) first.in[1] = d_;
      this->pass(first);
    });
    rz_ = this->total(1)[0];
  }
  void iterate() {
    this->multiply(p_, q_);
    this->pass(DistDot<T>{.in = {p_, q_}, .out = {}, .sums_out = this->sums()});
    const auto pq = this->total(1)[0];
    if (!std::isfinite(rz_ + pq)) return this->not_finite();
    if (!(rz_ > 0)) return this->bad_preconditioner(rz_);
    if (!(pq > 0)) return this->not_positive(pq);
    const auto alpha = static_cast<T>(rz_ / pq);
    with_m([&]<bool D>() {
      DistDescend<T, D> descend{.in = {r_, q_}, .out = {r_}, .alpha = alpha, .sums_out = this->sums()};
      if constexpr (D) descend.in[2] = d_;
      this->pass(descend);
    });
    if (general_) apply_m();
    if (hides_) {
      this->mark_sums();
      this->add(alpha, p_, x_);
    }
    const auto sums = this->total(2);
    const double rr = sums[0], rz = sums[1];
    const auto beta = static_cast<T>(rz / rz_);
    rz_ = rz;
    with_m([&]<bool D>() {
      if (hides_) {
        DistTurn<T, D> turn{.in = {p_, z_}, .out = {p_}, .beta = beta};
        if constexpr (D) turn.in[2] = d_;
        return this->pass(turn);
      }
      DistAdvance<T, D> advance{.in = {x_, p_, z_}, .out = {x_, p_}, .alpha = alpha, .beta = beta};
      if constexpr (D) advance.in[3] = d_;
      this->pass(advance);
    });
    this->step(std::sqrt(rr));
    if (this->small(std::sqrt(rr)) && !this->verified(r_)) begin();
  }

  const T* d_ = this->diagonal();
  bool general_ = this->has_m() && !d_;
  bool hides_ = this->ranks() > 1 && this->n* static_cast<std::int64_t>(sizeof(T)) <= kHiddenBytes;
  T *x_ = this->x(), *r_ = (*this)[0], *p_ = (*this)[1], *q_ = (*this)[2], *z_ = general_ ? (*this)[3] : r_;
  double rz_ = 0;
};

}  // namespace

template <class T>
SolveResult dist_cg_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& o) {
  const int vectors = s.m && !s.m.diagonal ? 4 : 3;
  return run_on_device<DistCg<T>>(s, b, x, o, vectors, 2, [](auto& work) { return work.run(); });
}

template SolveResult dist_cg_gpu(const DeviceSolve<float>&, const float*, float*, const SolveOptions&);
template SolveResult dist_cg_gpu(const DeviceSolve<double>&, const double*, double*, const SolveOptions&);

}  // namespace penstock
