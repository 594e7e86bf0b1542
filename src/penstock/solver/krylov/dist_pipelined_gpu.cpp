// The passes of pipelined conjugate gradients over vectors on a device.
#include "penstock/kernel/vectors/pipecg_passes.hpp"
#include "penstock/solver/krylov/cg_pipelined.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"

namespace penstock {
namespace {

template <class T>
class DevicePipelined : public DeviceWork<T> {
 public:
  using DeviceWork<T>::DeviceWork;

  void begin(const PipeVectors<T>& v) {
    if (v.preconditioned)
      this->pass(
          PipeBegin<T, true>{.in = {v.r, v.w, v.u}, .out = {v.z, v.s, v.p, v.q}, .sums_out = this->sums()});
    else this->pass(PipeBegin<T, false>{.in = {v.r, v.w}, .out = {v.z, v.s, v.p}, .sums_out = this->sums()});
  }
  void dots(const PipeVectors<T>& v) {  // after a checkpoint
    double* out = this->sums();
    this->pass(DistDot<T>{.in = {v.u, v.r}, .out = {}, .sums_out = out});
    this->pass(DistDot<T>{.in = {v.u, v.w}, .out = {}, .sums_out = out + 1});
    if (v.preconditioned) this->pass(DistDot<T>{.in = {v.r, v.r}, .out = {}, .sums_out = out + 2});
  }
  void update(const PipeVectors<T>& v, T alpha, T beta) {
    if (v.preconditioned)
      this->pass(PipeUpdate<T, true>{.in = {v.x, v.r, v.w, v.n, v.z, v.s, v.p, v.u, v.m, v.q},
                                     .out = {v.x, v.r, v.w, v.z, v.s, v.p, v.u, v.q},
                                     .alpha = alpha,
                                     .beta = beta,
                                     .sums_out = this->sums()});
    else
      this->pass(PipeUpdate<T, false>{.in = {v.x, v.r, v.w, v.n, v.z, v.s, v.p},
                                      .out = {v.x, v.r, v.w, v.z, v.s, v.p},
                                      .alpha = alpha,
                                      .beta = beta,
                                      .sums_out = this->sums()});
  }
};

}  // namespace

template <class T>
SolveResult dist_pipelined_cg_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& o) {
  const bool m{s.m};
  return run_on_device<DevicePipelined<T>>(s, b, x, o, pipelined_vectors(m), 3,
                                           [](auto& work) { return pipelined_cg_on(work); });
}

template SolveResult dist_pipelined_cg_gpu(const DeviceSolve<float>&, const float*, float*,
                                           const SolveOptions&);
template SolveResult dist_pipelined_cg_gpu(const DeviceSolve<double>&, const double*, double*,
                                           const SolveOptions&);

}  // namespace penstock
