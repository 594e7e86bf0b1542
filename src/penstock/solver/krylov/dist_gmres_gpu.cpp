// The passes of GMRES over vectors on a device: those over the basis take eight of its vectors at a time, and all sums of a
// pass reach the host together.
#include "penstock/solver/krylov/dist_solve_gpu.hpp"
#include "penstock/solver/krylov/gmres.hpp"

namespace penstock {
namespace {

template <class T>
class DeviceGmres : public DeviceWork<T> {
 public:
  using DeviceWork<T>::DeviceWork;

  void scale(T factor, T* v) { this->pass(KrylovScale<T>{.in = {v}, .out = {v}, .scale = factor}); }
  /// The sums v[0 .. j] . w, w . w of w = v[j + 1]
  void project(int j) {
    in_groups(j + 2, [&]<int K>(int first) {
      BasisDots<T, K> dots{.in = {(*this)[j + 1]}, .out = {}, .sums_out = this->sums() + first};
      for (int i = 0; i < K; ++i) dots.in[i + 1] = (*this)[first + i];
      this->pass(dots);
    });
  }
  /// w -= V h, and the sums of what is left
  void subtract(int j, std::span<const double> h) {
    add_all(h, -1, (*this)[j + 1]);
    project(j);
  }
  /// u = V y
  void combine(std::span<const double> y, T* u) {
    this->pass(KrylovScale<T>{.in = {(*this)[0]}, .out = {u}, .scale = T(0)});
    add_all(y, 1, u);
  }

 private:
  /// to += sign V factors
  void add_all(std::span<const double> factors, double sign, T* to) {
    in_groups(static_cast<int>(factors.size()), [&]<int K>(int first) {
      BasisAdd<T, K> add{.in = {to}, .out = {to}, .factor = {}};
      for (int i = 0; i < K; ++i) {
        add.in[i + 1] = (*this)[first + i];
        add.factor[i] = static_cast<T>(sign * factors[static_cast<std::size_t>(first + i)]);
      }
      this->pass(add);
    });
  }
  /// f.operator()<K>(first) for groups of vectors, as large as passes are compiled for
  template <class F>
  static void in_groups(int count, F&& f) {
    int i = 0;
    for (; count - i >= 8; i += 8) f.template operator()<8>(i);
    if (count - i >= 4) f.template operator()<4>(i), i += 4;
    if (count - i >= 2) f.template operator()<2>(i), i += 2;
    if (count - i >= 1) f.template operator()<1>(i);
  }
};

}  // namespace

template <class T>
SolveResult dist_gmres_gpu(const DeviceSolve<T>& s, const T* b, T* x, const SolveOptions& o) {
  const int kept = std::max(o.restart, 1);
  return run_on_device<DeviceGmres<T>>(s, b, x, o, gmres_vectors(kept), std::int64_t(kept) + 2,
                                       [&](auto& work) { return gmres_on(work, kept); });
}

template SolveResult dist_gmres_gpu(const DeviceSolve<float>&, const float*, float*, const SolveOptions&);
template SolveResult dist_gmres_gpu(const DeviceSolve<double>&, const double*, double*, const SolveOptions&);

}  // namespace penstock
