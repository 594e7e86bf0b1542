// Passes over a basis that is kept as rows, in blocks of columns: each row meets pieces of the vectors that are in the
// first-level cache. The passes are bound by memory. They run on this library's threads: BLAS would wake threads of its
// own, which wait for one another in each call.
#include "penstock/kernel/basis/basis_rows.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/basis/basis_loops.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBasisBlock = 2048;                   // columns that a thread claims
constexpr std::int64_t kBasisAlone = std::int64_t{1} << 16;  // entries up to which one thread is faster

template <class T>
inline constexpr bool complex_entry = !std::is_floating_point_v<T>;

/// f(first, count) for blocks of columns
template <class F>
void basis_columns(std::int64_t n, std::int64_t rows, F&& f) {
  const auto body = [&](std::int64_t first, std::int64_t last) { f(first, last - first); };
  if (n * rows > kBasisAlone) return parallel_ranges(n, kBasisBlock, body);
  for (std::int64_t first = 0; first < n; first += kBasisBlock) body(first, std::min(n, first + kBasisBlock));
}

struct Baseline {};

/// The fastest loops for this CPU.
template <class T>
BasisKernels<T> basis_kernels() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() != Simd::scalar) return avx2::basis_kernels<T>();
  return {basis_loops::dots<Baseline, T>, basis_loops::subtract<Baseline, T>};
}

/// out[i * step] = the sum of conj(q_i) v
template <class T>
void dots_of_rows(const VectorRows<const T>& q, const T* v, std::int64_t first, std::int64_t n, T* out,
                  std::int64_t step) {
  if constexpr (complex_entry<T>) {
    using Real = typename T::value_type;
    for (std::int64_t i = 0; i < q.count; ++i) {
      const auto* p = reinterpret_cast<const Real*>(q.row(i) + first);
      const auto* w = reinterpret_cast<const Real*>(v);
      Real re[2] = {}, im[2] = {};
      for (std::int64_t j = 0; j < 2 * n; j += 2) {
        re[0] += p[j] * w[j], re[1] += p[j + 1] * w[j + 1];
        im[0] += p[j] * w[j + 1], im[1] += p[j + 1] * w[j];
      }
      out[i * step] = T(re[0] + re[1], im[0] - im[1]);
    }
  } else {
    static const auto kernel = basis_kernels<T>().dots;
    if (q.count) kernel(q.data + first, q.stride, q.count, v, n, out, step);
  }
}

/// v -= the sum of f[i * step] q_i
template <class T>
void subtract_rows(const VectorRows<const T>& q, const T* f, std::int64_t step, T* v, std::int64_t first,
                   std::int64_t n) {
  if constexpr (complex_entry<T>) {
    using Real = typename T::value_type;
    auto* w = reinterpret_cast<Real*>(v);
    for (std::int64_t i = 0; i < q.count; ++i) {
      const T by = -f[i * step];
      const Real a = by.real(), b = by.imag();
      const auto* p = reinterpret_cast<const Real*>(q.row(i) + first);
      for (std::int64_t j = 0; j < 2 * n; j += 2) {
        w[j] += a * p[j] - b * p[j + 1];
        w[j + 1] += a * p[j + 1] + b * p[j];
      }
    }
  } else {
    static const auto kernel = basis_kernels<T>().subtract;
    if (q.count) kernel(q.data + first, q.stride, q.count, f, step, v, n);
  }
}

/// The sum of abs(v)^2
template <class T>
double square_of_row(const T* v, std::int64_t n) {
  T square = 0;
  dots_of_rows<T>({v, 1, n, n}, v, 0, n, &square, 1);
  return static_cast<double>(std::real(square));
}

/// v_c -= the sum over i of f[i * v.count + c] q_i, in columns [first, first + n)
template <class T>
void subtract_columns(const VectorRows<const T>& q, const T* f, const VectorRows<T>& v, std::int64_t first,
                      std::int64_t n) {
  for (std::int64_t c = 0; c < v.count; ++c) subtract_rows<T>(q, f + c, v.count, v.row(c) + first, first, n);
}

/// part[i * v.count + c] = the inner product of q_i and v_c in columns [first, first + n)
template <class T>
void dots_of_columns(const VectorRows<const T>& q, const VectorRows<const T>& v, T* part, std::int64_t first,
                     std::int64_t n) {
  for (std::int64_t c = 0; c < v.count; ++c)
    dots_of_rows<T>(q, v.row(c) + first, first, n, part + c, v.count);
}

/// What a block of columns found, of `each` numbers, added up in the blocks' order
template <class T>
class ColumnSums {
 public:
  ColumnSums(std::int64_t n, std::int64_t each)
      : each_(each), parts_(static_cast<std::size_t>((n + kBasisBlock - 1) / kBasisBlock * each)) {}
  T* part(std::int64_t first) { return parts_.data() + first / kBasisBlock * each_; }
  void add_up(T* to) const {
    std::fill_n(to, each_, T(0));
    for (std::size_t i = 0; i < parts_.size(); ++i) to[static_cast<std::int64_t>(i) % each_] += parts_[i];
  }

 private:
  std::int64_t each_;
  std::vector<T> parts_;
};

/// One sweep over the columns: subtracts `taken` by `f`, then h = the inner products with `met`, and squares = the sums of
/// squares of v. Either of the two bases may be empty.
template <class T>
void basis_sweep(const VectorRows<const T>& taken, const T* f, const VectorRows<const T>& met, T* h,
                 const VectorRows<T>& v, double* squares) {
  const VectorRows<const T> seen{v.data, v.count, v.stride, v.n};
  ColumnSums<T> dots(v.n, met.count * v.count);
  ColumnSums<double> sizes(v.n, v.count);
  basis_columns(v.n, (taken.count + met.count + 1) * v.count, [&](std::int64_t first, std::int64_t n) {
    subtract_columns(taken, f, v, first, n);
    dots_of_columns(met, seen, dots.part(first), first, n);
    for (std::int64_t c = 0; c < v.count; ++c) sizes.part(first)[c] = square_of_row(v.row(c) + first, n);
  });
  if (met.count) dots.add_up(h);
  sizes.add_up(squares);
}

}  // namespace

template <class T>
void basis_dots(const VectorRows<const T>& q, const VectorRows<const T>& v, T* h) {
  ColumnSums<T> dots(q.n, q.count * v.count);
  basis_columns(q.n, q.count * v.count, [&](std::int64_t first, std::int64_t n) {
    dots_of_columns(q, v, dots.part(first), first, n);
  });
  dots.add_up(h);
}

template <class T>
void basis_subtract(const VectorRows<const T>& q, const T* h, const VectorRows<T>& v) {
  basis_columns(q.n, q.count * v.count,
                [&](std::int64_t first, std::int64_t n) { subtract_columns(q, h, v, first, n); });
}

template <class T>
void basis_orthogonalise(const VectorRows<const T>& q, std::int64_t near, const VectorRows<T>& v, T* h,
                         double* before, double* after) {
  const auto b = static_cast<std::size_t>(v.count), size = static_cast<std::size_t>(q.count) * b;
  const VectorRows<const T> none{q.data, 0, q.stride, v.n};
  const VectorRows<const T> last{q.row(near), q.count - near, q.stride, v.n};
  std::vector<T> first(size), more(size);
  std::vector<double> between(b);
  const auto pass = [&] {
    for (std::size_t i = 0; i < size; ++i) h[i] += more[i];
    basis_sweep(q, more.data(), none, static_cast<T*>(nullptr), v, after);
  };
  basis_sweep(none, static_cast<const T*>(nullptr), last, first.data(), v, before);
  std::fill_n(h, size, T(0));
  std::copy_n(before, b, after);
  const bool finite = std::all_of(before, before + b, [](double s) { return std::isfinite(s); });
  if (!q.count || !finite) return;
  std::copy_n(first.data(), last.count * v.count, h + near * v.count);
  basis_sweep(last, first.data(), q, more.data(), v, between.data());
  pass();
  const auto lost = [&](std::size_t c) { return after[c] < kBasisKept * kBasisKept * between[c]; };
  for (std::size_t c = 0; c < b; ++c) {
    if (!lost(c)) continue;
    basis_dots(q, {v.data, v.count, v.stride, v.n}, more.data());
    return pass();
  }
}

#define X(T)                                                                                               \
  template void basis_dots<T>(const VectorRows<const T>&, const VectorRows<const T>&, T*);                 \
  template void basis_subtract<T>(const VectorRows<const T>&, const T*, const VectorRows<T>&);             \
  template void basis_orthogonalise<T>(const VectorRows<const T>&, std::int64_t, const VectorRows<T>&, T*, \
                                       double*, double*);
X(float)
X(double)
X(std::complex<float>)
X(std::complex<double>)
#undef X

}  // namespace penstock
