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

  void scale(T factor, T* v) {
    this->pass(2, [&](std::int64_t f, std::int64_t count) {
      for (auto i = f; i < f + count; ++i) v[i] *= factor;
    });
  }
  /// The sums v[0 .. j] . w, w . w of w = v[j + 1]
  void project(int j) {
    this->pass(j + 2, static_cast<std::size_t>(j) + 2,
               [&](std::int64_t f, std::int64_t count, double* s) { add_dots(j, f, count, s); });
  }
  /// w -= V h, and the sums of what is left
  void subtract(int j, std::span<const double> h) {
    T* w = (*this)[j + 1];
    this->pass(j + 3, static_cast<std::size_t>(j) + 2, [&](std::int64_t f, std::int64_t count, double* s) {
      for (int i = 0; i <= j; ++i)
        axpy<T>(static_cast<T>(-h[static_cast<std::size_t>(i)]), (*this)[i] + f, w + f, count);
      add_dots(j, f, count, s);
    });
  }
  /// u = V y
  void combine(std::span<const double> y, T* u) {
    this->pass(std::ssize(y) + 1, [&](std::int64_t f, std::int64_t count) {
      std::fill_n(u + f, count, T(0));
      for (std::size_t i = 0; i < y.size(); ++i)
        axpy<T>(static_cast<T>(y[i]), (*this)[static_cast<int>(i)] + f, u + f, count);
    });
  }

 private:
  void add_dots(int j, std::int64_t f, std::int64_t count, double* s) const {
    const T* w = (*this)[j + 1] + f;
    for (int i = 0; i <= j; ++i) s[i] += dot((*this)[i] + f, w, count);
    s[j + 1] += dot(w, w, count);
  }
};

}  // namespace

template <class T>
SolveResult gmres(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                  const SolveOptions& o, const Space& space) {
  const auto all = space.all_rows < 0 ? a.rows : space.all_rows;
  const int kept = static_cast<int>(std::clamp<std::int64_t>(o.restart, 1, std::max<std::int64_t>(all, 1)));
  HostGmres<T> work(a, m, b, x, o, space, gmres_vectors(kept), static_cast<std::size_t>(kept) + 2);
  return gmres_on(work, kept);
}

template SolveResult gmres(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>,
                           std::span<float>, const SolveOptions&, const Space&);
template SolveResult gmres(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                           std::span<double>, const SolveOptions&, const Space&);

}  // namespace penstock
