// The passes of pipelined conjugate gradients over vectors in host memory.
#include "penstock/solver/krylov/cg_pipelined.hpp"

#include "penstock/solver/host_work.hpp"

namespace penstock {
namespace {

/// {u . r, u . w, r . r} of rows [f, f + count)
template <class T>
void add_dots(const PipeVectors<T>& v, std::int64_t f, std::int64_t count, double* sums) {
  sums[0] += dot(v.u + f, v.r + f, count);
  sums[1] += dot(v.u + f, v.w + f, count);
  if (v.preconditioned) sums[2] += dot(v.r + f, v.r + f, count);
}

template <class T>
class HostPipelined : public HostWork<T> {
 public:
  using HostWork<T>::HostWork;

  void begin(const PipeVectors<T>& v) {
    const bool pre = v.preconditioned;
    this->pass(pre ? 8 : 6, pre ? 3 : 2, [&](std::int64_t f, std::int64_t count, double* s) {
      for (T* direction : {v.z, v.s, v.p}) std::fill_n(direction + f, count, T(0));
      if (pre) std::fill_n(v.q + f, count, T(0));
      add_dots(v, f, count, s);
    });
  }
  void dots(const PipeVectors<T>& v) {
    const bool pre = v.preconditioned;
    this->pass(pre ? 3 : 2, pre ? 3 : 2,
               [&](std::int64_t f, std::int64_t count, double* s) { add_dots(v, f, count, s); });
  }
  void update(const PipeVectors<T>& v, T alpha, T beta) {
    const bool pre = v.preconditioned;
    this->pass(pre ? 18 : 13, pre ? 3 : 2, [&](std::int64_t f, std::int64_t count, double* s) {
      xpby<T>(v.n + f, beta, v.z + f, count);
      if (pre) xpby<T>(v.m + f, beta, v.q + f, count);
      xpby<T>(v.w + f, beta, v.s + f, count);
      xpby<T>(v.u + f, beta, v.p + f, count);
      axpy<T>(alpha, v.p + f, v.x + f, count);
      axpy<T>(-alpha, v.s + f, v.r + f, count);
      if (pre) axpy<T>(-alpha, v.q + f, v.u + f, count);
      axpy<T>(-alpha, v.z + f, v.w + f, count);
      add_dots(v, f, count, s);
    });
  }
};

}  // namespace

template <class T>
SolveResult pipelined_cg(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                         const SolveOptions& o, const Space& space) {
  HostPipelined<T> work(a, m, b, x, o, space, pipelined_vectors(m != nullptr), m ? 3 : 2);
  return pipelined_cg_on(work);
}

template SolveResult pipelined_cg(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>,
                                  std::span<float>, const SolveOptions&, const Space&);
template SolveResult pipelined_cg(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                                  std::span<double>, const SolveOptions&, const Space&);

}  // namespace penstock
