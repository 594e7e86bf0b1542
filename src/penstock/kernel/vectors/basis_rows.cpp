// Passes over a basis that is kept as rows, in blocks of columns: each row meets pieces of the vectors that are in the
// first-level cache. The passes are bound by memory. They run on this library's threads: BLAS would wake threads of its
// own, which wait for one another in each call.
#include "penstock/kernel/vectors/basis_rows.hpp"

#include <algorithm>
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

}  // namespace

template <class T>
void basis_dots(const VectorRows<const T>& q, const VectorRows<const T>& v, T* h) {
  const auto sums = q.count * v.count;
  const auto blocks = (q.n + kBasisBlock - 1) / kBasisBlock;
  std::vector<T> parts(static_cast<std::size_t>(blocks * sums));
  basis_columns(q.n, sums, [&](std::int64_t first, std::int64_t n) {
    T* part = parts.data() + first / kBasisBlock * sums;
    for (std::int64_t i = 0; i < q.count; ++i)
      for (std::int64_t c = 0; c < v.count; ++c)
        part[i * v.count + c] = dot_of_rows(q.row(i) + first, v.row(c) + first, n);
  });
  std::fill_n(h, sums, T(0));
  for (std::size_t i = 0; i < parts.size(); ++i) h[static_cast<std::int64_t>(i) % sums] += parts[i];
}

template <class T>
void basis_subtract(const VectorRows<const T>& q, const T* h, const VectorRows<T>& v) {
  const auto step = v.count;
  basis_columns(q.n, q.count * step, [&](std::int64_t first, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + kBasisRows <= q.count; i += kBasisRows)
      for (std::int64_t c = 0; c < step; ++c)
        subtract_rows<T, kBasisRows>(q.row(i) + first, q.stride, h + i * step + c, step, v.row(c) + first, n);
    for (; i < q.count; ++i)
      for (std::int64_t c = 0; c < step; ++c)
        subtract_rows<T, 1>(q.row(i) + first, q.stride, h + i * step + c, step, v.row(c) + first, n);
  });
}

#define X(T)                                                                               \
  template void basis_dots<T>(const VectorRows<const T>&, const VectorRows<const T>&, T*); \
  template void basis_subtract<T>(const VectorRows<const T>&, const T*, const VectorRows<T>&);
X(float)
X(double)
X(std::complex<float>)
X(std::complex<double>)
#undef X

}  // namespace penstock
