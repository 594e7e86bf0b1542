#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/kernel/dot.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/scalars.hpp"

// Passes over vectors that do as much as possible at once: a pass walks tiles that stay in the cache, and on each tile its
// steps (the small loops below) run one after the other. So every vector crosses memory once in a pass. Sums are taken in
// blocks of a fixed size, and the blocks are added in order, so sums do not depend on the number of threads.
namespace penstock {

// Five tiles of float64 are 80 KB: they stay in the second-level cache between the steps.
inline constexpr std::int64_t kTile = 2048;
inline constexpr std::int64_t kSumBlock = 8 * kTile;  // entries that a thread claims at a time
/// Up to so many entries, waking a thread costs more time than it saves.
inline constexpr std::int64_t kAlone = 2 * kSumBlock;

/// tile(first, count, sums) over [0, n); sums[0 .. k) are added up, in order. `moved`: vectors that a tile reads or
/// writes, for the count of bytes.
class Sweeper {
 public:
  explicit Sweeper(std::int64_t entry_bytes) : entry_bytes_(entry_bytes) {}
  std::int64_t bytes() const { return bytes_; }
  void count(std::int64_t n, std::int64_t moved) { bytes_ += moved * n * entry_bytes_; }

  template <class F>
  void operator()(std::int64_t n, std::int64_t moved, std::span<double> sums, F&& tile) {
    count(n, moved);
    const auto k = sums.size();
    const auto blocks = (n + kSumBlock - 1) / kSumBlock;
    parts_.assign(static_cast<std::size_t>(blocks) * k, 0.0);
    const auto block = [&](std::int64_t i) {
      const auto end = std::min(n, (i + 1) * kSumBlock);
      for (auto first = i * kSumBlock; first < end; first += kTile)
        tile(first, std::min(kTile, end - first), parts_.data() + static_cast<std::size_t>(i) * k);
    };
    if (n <= kAlone)
      for (std::int64_t i = 0; i < blocks; ++i) block(i);
    else parallel_for(blocks, block);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t i = 0; i < parts_.size(); ++i) sums[i % std::max<std::size_t>(k, 1)] += parts_[i];
  }
  template <class F>
  void operator()(std::int64_t n, std::int64_t moved, F&& tile) {
    (*this)(n, moved, std::span<double>{},
            [&](std::int64_t first, std::int64_t count, double*) { tile(first, count); });
  }

 private:
  std::int64_t entry_bytes_, bytes_ = 0;
  std::vector<double> parts_;
};

// The steps. Pointers are to the tile's first entries, and no two overlap unless they are equal.

/// y += a x
template <class T>
void axpy(T a, const T* __restrict x, T* __restrict y, std::int64_t n) {
  if constexpr (kParts<T> == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += a * x[i];
  else add_times(a, x, y, n);
}
/// y = x + b y
template <class T>
void xpby(const T* __restrict x, T b, T* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] + times(b, y[i]);
}
/// y = d x + b y, entry by entry
template <class T>
void dxpby(const T* __restrict d, const T* __restrict x, T b, T* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = d[i] * x[i] + b * y[i];
}
/// x . (d x), added up in the same order as dot() does
template <class T>
double dot_scaled(const T* __restrict d, const T* __restrict x, std::int64_t n) {
  double s[8] = {}, rest = 0;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) {
      const auto v = static_cast<double>(x[i + l]);
      s[l] += v * (static_cast<double>(d[i + l]) * v);
    }
  for (; i < n; ++i)
    rest += static_cast<double>(x[i]) * (static_cast<double>(d[i]) * static_cast<double>(x[i]));
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) + rest;
}

/// y = A x, w . y and y . y of this process's rows, by the operator's own fused product or in a second pass.
template <class T>
LocalDots apply_dots(const LinearOp<T>& a, std::span<const T> x, std::span<T> y, const T* w, Sweeper& sweep) {
  const auto n = a.rows;
  sweep.count(n, 2);
  if (a.apply_dots) return a.apply_dots(x, y, w);
  a.apply(x, y);
  std::array<double, 2> sums;
  sweep(n, 2, sums, [&](std::int64_t first, std::int64_t count, double* s) {
    s[0] += dot(w + first, y.data() + first, count);
    s[1] += dot(y.data() + first, y.data() + first, count);
  });
  return {sums[0], sums[1]};
}

/// Uninitialised memory for vectors, in one block.
template <class T>
class Workspace {
 public:
  Workspace(std::int64_t entries, int vectors)
      : stride_((entries + kAligned - 1) / kAligned * kAligned),
        memory_(allocate<T>(std::max<std::int64_t>(1, stride_ * vectors))),
        n_(entries) {}
  std::span<T> operator[](int i) const { return {memory_.data + i * stride_, static_cast<std::size_t>(n_)}; }

 private:
  static constexpr std::int64_t kAligned = 16;  // vectors begin at multiples of so many entries
  std::int64_t stride_;
  Array<T> memory_;
  std::int64_t n_;
};

}  // namespace penstock
