// An iteration is a product and three passes, as in cg_gpu.cpp. The step lengths are sums over all ranks: the host waits for
// its GPU's part twice an iteration, adds up with the others, and hands the result to the next pass.
#include "penstock/solver/dist_cg_gpu.hpp"

#include <array>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/dist/bounded_wait.hpp"
#include "penstock/kernel/cg_passes.hpp"
#include "penstock/kernel/dist_cg_passes.hpp"
#include "penstock/solver/outcome.hpp"

namespace penstock {
namespace {

template <class T>
class DistCg {
 public:
  DistCg(const DeviceOp<T>& a, Comm& comm, const T* diagonal, const T* b, T* x, const SolveOptions& o,
         Stream stream)
      : a_(a),
        comm_(comm),
        d_(diagonal),
        b_(b),
        x_(x),
        n_(a.rows),
        outcome_(o, sizeof(T)),
        starts_at_zero_(o.starts_at_zero),
        stream_(stream),
        parts_(stream),
        summed_(a.where),
        vectors_(n_, 3, a.where),
        sums_(allocate<double>(2, a.where.is_gpu() ? Place{Memory::pinned} : Place{})) {}
  ~DistCg() { drain(stream_); }
  DistCg(const DistCg&) = delete;
  DistCg& operator=(const DistCg&) = delete;

  SolveResult run() {
    pass(DistNorm<T>{.in = {b_}, .out = {}, .sums_out = sums_.data});
    const auto bb = total<2>();
    outcome_.aim(bb[0], bb[0] < Outcome::kLeastSquares && bb[1] > 0);
    outcome_.start(starts_at_zero_ ? start_at_zero() : residual());
    if (!outcome_.ended() && outcome_.more()) begin();
    while (!outcome_.ended() && outcome_.more()) iterate();
    auto result = outcome_.close([&] { return residual(); });
    wait_here();
    result.vector_bytes = moved_ * n_ * static_cast<std::int64_t>(sizeof(T));
    return result;
  }

 private:
  template <class P>
  void pass(const P& p) {
    sweep(n_, p, parts_, stream_);
    moved_ += P::kIn + P::kOut;
  }
  template <class F>
  void with_m(F&& f) {
    if (d_) f.template operator()<true>();
    else f.template operator()<false>();
  }
  void multiply(const T* from, T* to) {
    a_.apply(from, to, stream_);
    moved_ += 2;
  }
  /// The stream may wait for neighbours: not for ever.
  void wait_here() {
    record(summed_, stream_);
    synchronize_with(comm_, summed_, "the GPU's part of an iteration");
  }
  /// The first K sums of the pass before, over all ranks: the same bits on each, so that all decide alike.
  template <std::size_t K>
  std::array<double, K> total() {
    wait_here();
    std::array<double, K> sums;
    std::copy_n(sums_.data, K, sums.data());
    comm_.all_reduce(sums, Reduce::sum);
    return sums;
  }

  double start_at_zero() {
    pass(CgStart<T>{.in = {b_}, .out = {r_, x_}, .norm2 = sums_.data});
    return std::sqrt(total<1>()[0]);
  }
  /// r = b - A x; its norm.
  double residual() {
    multiply(x_, q_);
    pass(CgResidual<T>{.in = {b_, q_}, .out = {r_}, .norm2 = sums_.data});
    return std::sqrt(total<1>()[0]);
  }
  void begin() {
    with_m([&]<bool D>() {
      DistBegin<T, D> first{.in = {r_}, .out = {p_}, .sums_out = sums_.data};
      if constexpr (D) first.in[1] = d_;
      pass(first);
    });
    rz_ = total<1>()[0];
  }
  void iterate() {
    multiply(p_, q_);
    pass(DistDot<T>{.in = {p_, q_}, .out = {}, .sums_out = sums_.data});
    const auto pq = total<1>()[0];
    if (!std::isfinite(rz_ + pq)) return outcome_.not_finite();
    if (!(rz_ > 0)) return outcome_.bad_preconditioner(rz_);
    if (!(pq > 0)) return outcome_.not_positive(pq);
    const auto alpha = static_cast<T>(rz_ / pq);
    with_m([&]<bool D>() {
      DistDescend<T, D> descend{.in = {r_, q_}, .out = {r_}, .alpha = alpha, .sums_out = sums_.data};
      if constexpr (D) descend.in[2] = d_;
      pass(descend);
    });
    const auto sums = total<2>();
    const double rr = sums[0], rz = sums[1];
    const auto beta = static_cast<T>(rz / rz_);
    rz_ = rz;
    with_m([&]<bool D>() {
      DistAdvance<T, D> advance{.in = {x_, p_, r_}, .out = {x_, p_}, .alpha = alpha, .beta = beta};
      if constexpr (D) advance.in[3] = d_;
      pass(advance);
    });
    if (outcome_.calls_back()) wait_here();  // x is current
    outcome_.step(std::sqrt(rr));
    if (outcome_.small(std::sqrt(rr)) && !outcome_.settles(residual()) && outcome_.more()) begin();
  }

  const DeviceOp<T>& a_;
  Comm& comm_;
  const T *d_, *b_;
  T* x_;
  std::int64_t n_;
  Outcome outcome_;
  bool starts_at_zero_;
  Stream stream_;
  SumParts parts_;
  OwnedEvent summed_;
  DeviceVectors<T> vectors_;
  T *r_ = vectors_[0], *p_ = vectors_[1], *q_ = vectors_[2];
  Array<double> sums_;
  double rz_ = 0;
  std::int64_t moved_ = 0;
};

}  // namespace

template <class T>
SolveResult dist_cg_gpu(const DeviceOp<T>& a, Comm& comm, const T* diagonal, const T* b, T* x,
                        const SolveOptions& options, Stream stream, const std::function<void()>& give_up) {
  require(a.rows == a.cols,
          "cg: a solver needs a square matrix whose rows and columns are shared out alike; here are " +
              std::to_string(a.rows) + " rows and " + std::to_string(a.cols) + " columns");
  DistCg<T> solve(a, comm, diagonal, b, x, options, stream);
  try {
    return solve.run();
  } catch (...) {
    if (give_up) give_up();  // before `solve` waits for its stream
    throw;
  }
}

template SolveResult dist_cg_gpu(const DeviceOp<float>&, Comm&, const float*, const float*, float*,
                                 const SolveOptions&, Stream, const std::function<void()>&);
template SolveResult dist_cg_gpu(const DeviceOp<double>&, Comm&, const double*, const double*, double*,
                                 const SolveOptions&, Stream, const std::function<void()>&);

}  // namespace penstock
