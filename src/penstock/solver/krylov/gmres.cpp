// The passes of GMRES over vectors in host memory: the second one takes inner products again while the basis is in the
// cache, tile by tile.
#include "penstock/solver/krylov/gmres.hpp"

#include "penstock/solver/host_work.hpp"

namespace penstock {
namespace {

template <class T>
class HostGmres : public HostWork<T> {
 public:
  using HostWork<T>::HostWork;
  using typename HostWork<T>::Scalar;

  void scale(T factor, T* v) {
    this->pass(2, [&](std::int64_t f, std::int64_t count) {
      for (auto i = f; i < f + count; ++i) v[i] = times(v[i], factor);
    });
  }
  /// The sums v[0 .. j] . w, w . w of w = v[j + 1]
  void project(int j) {
    this->pass(j + 2, static_cast<std::size_t>(j) + 2,
               [&](std::int64_t f, std::int64_t count, Scalar* s) { add_dots(j, f, count, s); });
  }
  /// w -= V h, and the sums of what is left
  void subtract(int j, std::span<const Scalar> h) {
    T* w = (*this)[j + 1];
    this->pass(j + 3, static_cast<std::size_t>(j) + 2, [&](std::int64_t f, std::int64_t count, Scalar* s) {
      for (int i = 0; i <= j; ++i)
        axpy<T>(static_cast<T>(-h[static_cast<std::size_t>(i)]), (*this)[i] + f, w + f, count);
      add_dots(j, f, count, s);
    });
  }
  /// u = V y, of the vectors from `first` on
  void combine(std::span<const Scalar> y, T* u, int first = 0) {
    this->pass(std::ssize(y) + 1, [&](std::int64_t f, std::int64_t count) {
      std::fill_n(u + f, count, T(0));
      for (std::size_t i = 0; i < y.size(); ++i)
        axpy<T>(static_cast<T>(y[i]), (*this)[first + static_cast<int>(i)] + f, u + f, count);
    });
  }

 private:
  void add_dots(int j, std::int64_t f, std::int64_t count, Scalar* s) const {
    const T* w = (*this)[j + 1] + f;
    for (int i = 0; i <= j; ++i) s[i] += inner((*this)[i] + f, w, count);
    s[j + 1] += square(w, count);
  }
};

}  // namespace

template <class T>
SolveResult gmres(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                  const SolveOptions& o, const Space& space) {
  const auto all = space.all_rows < 0 ? a.rows : space.all_rows;
  const int kept = static_cast<int>(std::clamp<std::int64_t>(o.restart, 1, std::max<std::int64_t>(all, 1)));
  const bool flexible = o.flexible && m;
  HostGmres<T> work(a, m, b, x, o, space, gmres_vectors(kept, flexible), static_cast<std::size_t>(kept) + 2);
  return gmres_on(work, kept, flexible);
}

#define X(T)                                                                                           \
  template SolveResult gmres(const LinearOp<T>&, const LinearOp<T>*, std::span<const T>, std::span<T>, \
                             const SolveOptions&, const Space&);
PENSTOCK_FOR_EACH_ENTRY(X)
#undef X

}  // namespace penstock
