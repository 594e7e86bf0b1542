// BiCGStab's passes over vectors in host memory.
#include "penstock/solver/krylov/bicgstab.hpp"

#include "penstock/solver/host_work.hpp"

namespace penstock {
namespace {

template <class T>
class HostBicgstab : public HostWork<T> {
 public:
  using HostWork<T>::HostWork;
  using typename HostWork<T>::Scalar;

  void begin(const T* r, T* shadow, T* p) {
    this->pass(3, [&](std::int64_t f, std::int64_t count) {
      std::copy_n(r + f, count, shadow + f);
      std::copy_n(r + f, count, p + f);
    });
  }
  void half(T alpha, const T* v, T* r) {
    this->pass(3, 1, [&](std::int64_t f, std::int64_t count, Scalar* s) {
      axpy<T>(-alpha, v + f, r + f, count);
      s[0] += square(r + f, count);
    });
  }
  void advance(T alpha, T omega, const T* p_hat, const T* s_hat, const T* t, const T* shadow, T* r) {
    T* x = this->x();
    this->pass(this->has_m() ? 8 : 6, 2, [&](std::int64_t f, std::int64_t count, Scalar* s) {
      axpy<T>(alpha, p_hat + f, x + f, count);
      axpy<T>(omega, s_hat + f, x + f, count);
      axpy<T>(-omega, t + f, r + f, count);
      s[0] += square(r + f, count);
      s[1] += inner(shadow + f, r + f, count);
    });
  }
  void direction(T beta, T omega, const T* v, const T* r, T* p) {
    this->pass(4, [&](std::int64_t f, std::int64_t count) {
      axpy<T>(-omega, v + f, p + f, count);
      xpby<T>(r + f, beta, p + f, count);
    });
  }
};

}  // namespace

template <class T>
SolveResult bicgstab(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                     const SolveOptions& o, const Space& space) {
  HostBicgstab<T> work(a, m, b, x, o, space, bicgstab_vectors(m != nullptr), 2);
  return bicgstab_on(work);
}

#define X(T)                                                                                              \
  template SolveResult bicgstab(const LinearOp<T>&, const LinearOp<T>*, std::span<const T>, std::span<T>, \
                                const SolveOptions&, const Space&);
PENSTOCK_FOR_EACH_ENTRY(X)
#undef X

}  // namespace penstock
