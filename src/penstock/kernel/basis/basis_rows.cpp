// Passes over a basis that is kept as rows, in blocks of columns: each row meets pieces of the vectors that are in the
// first-level cache. The passes are bound by memory. They run on this library's threads: BLAS would wake threads of its
// own, which wait for one another in each call.
#include "penstock/kernel/basis/basis_rows.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBasisBlock = 2048;                   // columns that a thread claims
constexpr std::int64_t kBasisAlone = std::int64_t{1} << 16;  // entries up to which one thread is faster
constexpr std::int64_t kBasisRows =
    4;  // that meet a vector at once, so that it is read and written less often
constexpr int kBasisLanes = 16;

template <class T>
inline constexpr bool complex_entry = !std::is_floating_point_v<T>;

/// f(first, count) for blocks of columns
template <class F>
void basis_columns(std::int64_t n, std::int64_t rows, F&& f) {
  const auto body = [&](std::int64_t first, std::int64_t last) { f(first, last - first); };
  if (n * rows > kBasisAlone) return parallel_ranges(n, kBasisBlock, body);
  for (std::int64_t first = 0; first < n; first += kBasisBlock) body(first, std::min(n, first + kBasisBlock));
}

/// The sum of conj(q) v
template <class T>
T dot_of_rows(const T* q, const T* v, std::int64_t n) {
  if constexpr (complex_entry<T>) {
    using Real = typename T::value_type;
    const auto* p = reinterpret_cast<const Real*>(q);
    const auto* w = reinterpret_cast<const Real*>(v);
    Real re[2] = {}, im[2] = {};
    for (std::int64_t j = 0; j < 2 * n; j += 2) {
      re[0] += p[j] * w[j], re[1] += p[j + 1] * w[j + 1];
      im[0] += p[j] * w[j + 1], im[1] += p[j + 1] * w[j];
    }
    return T(re[0] + re[1], im[0] - im[1]);
  } else {
    T s[kBasisLanes] = {}, rest = 0;
    std::int64_t j = 0;
    for (; j + kBasisLanes <= n; j += kBasisLanes)
      for (int l = 0; l < kBasisLanes; ++l) s[l] += q[j + l] * v[j + l];
    for (; j < n; ++j) rest += q[j] * v[j];
    for (const T part : s) rest += part;
    return rest;
  }
}

/// v -= the sum of f[r * step] q_r over R rows
template <class T, int R>
void subtract_rows(const T* q, std::int64_t stride, const T* f, std::int64_t step, T* __restrict v,
                   std::int64_t n) {
  if constexpr (complex_entry<T>) {
    using Real = typename T::value_type;
    auto* w = reinterpret_cast<Real*>(v);
    for (int r = 0; r < R; ++r) {
      const T by = -f[r * step];
      const Real a = by.real(), b = by.imag();
      const auto* p = reinterpret_cast<const Real*>(q + r * stride);
      for (std::int64_t j = 0; j < 2 * n; j += 2) {
        w[j] += a * p[j] - b * p[j + 1];
        w[j + 1] += a * p[j + 1] + b * p[j];
      }
    }
  } else {
    T by[R];
    for (int r = 0; r < R; ++r) by[r] = -f[r * step];
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = v[j];
      for (int r = 0; r < R; ++r) sum += by[r] * q[r * stride + j];
      v[j] = sum;
    }
  }
}

/// The sum of abs(v)^2
template <class T>
double square_of_row(const T* v, std::int64_t n) {
  return static_cast<double>(std::real(dot_of_rows(v, v, n)));
}

/// v_c -= the sum over i of f[i * v.count + c] q_i, in columns [first, first + n)
template <class T>
void subtract_columns(const VectorRows<const T>& q, const T* f, const VectorRows<T>& v, std::int64_t first,
                      std::int64_t n) {
  const auto step = v.count;
  std::int64_t i = 0;
  for (; i + kBasisRows <= q.count; i += kBasisRows)
    for (std::int64_t c = 0; c < step; ++c)
      subtract_rows<T, kBasisRows>(q.row(i) + first, q.stride, f + i * step + c, step, v.row(c) + first, n);
  for (; i < q.count; ++i)
    for (std::int64_t c = 0; c < step; ++c)
      subtract_rows<T, 1>(q.row(i) + first, q.stride, f + i * step + c, step, v.row(c) + first, n);
}

/// part[i * v.count + c] = the inner product of q_i and v_c in columns [first, first + n)
template <class T>
void dots_of_columns(const VectorRows<const T>& q, const VectorRows<const T>& v, T* part, std::int64_t first,
                     std::int64_t n) {
  for (std::int64_t i = 0; i < q.count; ++i)
    for (std::int64_t c = 0; c < v.count; ++c)
      part[i * v.count + c] = dot_of_rows(q.row(i) + first, v.row(c) + first, n);
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
