// The passes of BiCGStab over vectors on a device.
#include "penstock/kernel/vectors/bicgstab_passes.hpp"
#include "penstock/solver/krylov/bicgstab.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"

namespace penstock {
namespace {

template <class T>
class DeviceBicgstab : public DeviceWork<T> {
 public:
  using DeviceWork<T>::DeviceWork;

  void begin(const T* r, T* shadow, T* p) { this->pass(StabBegin<T>{.in = {r}, .out = {shadow, p}}); }
  void half(T alpha, const T* v, T* r) {
    this->pass(StabHalf<T>{.in = {r, v}, .out = {r}, .alpha = alpha, .sums_out = this->sums()});
  }
  void advance(T alpha, T omega, const T* p_hat, const T* s_hat, const T* t, const T* shadow, T* r) {
    T* x = this->x();
    if (this->has_m())
      this->pass(StabAdvance<T, true>{.in = {x, p_hat, r, t, shadow, s_hat},
                                      .out = {x, r},
                                      .alpha = alpha,
                                      .omega = omega,
                                      .sums_out = this->sums()});
    else
      this->pass(StabAdvance<T, false>{.in = {x, p_hat, r, t, shadow},
                                       .out = {x, r},
                                       .alpha = alpha,
                                       .omega = omega,
                                       .sums_out = this->sums()});
  }
  void direction(T beta, T omega, const T* v, const T* r, T* p) {
    this->pass(StabDirection<T>{.in = {p, r, v}, .out = {p}, .beta = beta, .omega = omega});
  }
};

}  // namespace

template <class T>
SolveResult dist_bicgstab_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& o) {
  const bool m{s.m};
  return run_on_device<DeviceBicgstab<T>>(s, b, x, o, bicgstab_vectors(m), 2,
                                          [](auto& work) { return bicgstab_on(work); });
}

template SolveResult dist_bicgstab_gpu(const DeviceSolve<float>&, const float*, float*, const SolveOptions&);
template SolveResult dist_bicgstab_gpu(const DeviceSolve<double>&, const double*, double*,
                                       const SolveOptions&);

}  // namespace penstock
