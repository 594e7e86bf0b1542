#include "penstock/solver/device_basis.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/basis/basis_sweep.hpp"
#include "penstock/kernel/spmm/relayout.hpp"
#include "penstock/kernel/vectors/krylov_passes.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSlabBytes = 16 << 20;  // of results that are turned at a time: they stay in the cache
constexpr std::int64_t kRange = 512;           // columns that a thread of the CPU turns at a time

template <class T>
Array<T> taken(std::int64_t count, Place place) {
  const auto owner = reuse_bytes(std::max<std::int64_t>(count, 1) * std::int64_t{sizeof(T)}, place);
  return {static_cast<T*>(owner.get()), count, place, owner};
}

std::int64_t stride_of(std::int64_t n) { return (n + 63) / 64 * 64; }  // rows begin at multiples of 256 bytes

template <class T>
void turn_here(const VectorRows<T>& rows, std::int64_t q, const T* y) {
  parallel_ranges(rows.n, kRange, [&](std::int64_t first, std::int64_t last) {
    std::vector<T> turned(static_cast<std::size_t>(q * (last - first)));
    const auto cell = [&](std::int64_t c) { return turned.data() + c * (last - first); };
    for (std::int64_t c = 0; c < q; ++c)
      for (std::int64_t i = 0; i < rows.count; ++i)
        for (auto j = first; j < last; ++j) cell(c)[j - first] += y[i * q + c] * rows.row(i)[j];
    for (std::int64_t c = 0; c < q; ++c) std::copy_n(cell(c), last - first, rows.row(c) + first);
  });
}

}  // namespace

template <class T>
std::int64_t DeviceBasis<T>::bytes(std::int64_t rows, std::int64_t n) {
  return rows * stride_of(n) * std::int64_t{sizeof(T)} +
         (rows + 1) * gpu::basis_blocks(n) * std::int64_t{sizeof(double)} + kSlabBytes;
}

template <class T>
DeviceBasis<T>::DeviceBasis(std::int64_t rows, std::int64_t n, Where where)
    : stream_(where), no_sums_(stream_.get()), memory_(taken<T>(rows * stride_of(n), device_place(where))) {
  require(rows > 0 && n > 0, "a basis has at least one row and one column");
  rows_ = {memory_.data, rows, stride_of(n), n};
  if (!where.is_gpu()) return;
  parts_ = taken<double>((rows + 1) * gpu::basis_blocks(n) + 1, device_place(where));
  sums_ = taken<double>(3 * (rows + 1), device_place(where));
  here_ = taken<double>(3 * (rows + 1), Place{Memory::pinned});
  fill_async(parts_.data + parts_.size - 1, 0, sizeof(double), stream_);
  fill_async(sums_.data, 0, sums_.bytes(), stream_);
}

template <class T>
DeviceBasis<T>::~DeviceBasis() {
  drain(stream_.get());
}

template <class T>
void DeviceBasis<T>::put(std::int64_t first, std::int64_t count, const T* from) {
  for (std::int64_t i = 0; i < count; ++i)
    copy_async(rows_.row(first + i), from + i * rows_.n, rows_.n * std::int64_t{sizeof(T)}, stream_);
  synchronize(stream_.get());
}

template <class T>
void DeviceBasis<T>::get(std::int64_t first, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i)
    copy_async(to + i * rows_.n, rows_.row(first + i), rows_.n * std::int64_t{sizeof(T)}, stream_);
  synchronize(stream_.get());
}

template <class T>
void DeviceBasis<T>::multiply(const DeviceOp<T>& a, std::int64_t from, std::int64_t to, double factor) {
  require(a.rows == rows_.n && a.cols == rows_.n && a.where == where(),
          "the basis and A do not belong together");
  a.apply(rows_.row(from), rows_.row(to), stream_);
  if (factor != 1) scale(to, factor);
}

template <class T>
void DeviceBasis<T>::multiply_block(
    std::int64_t from, std::int64_t to, std::int64_t count, double factor,
    const std::function<void(DenseView<const T> x, DenseView<T> y, Stream stream)>& apply) {
  require(0 <= from && 0 <= to && 0 < count && std::max(from, to) + count <= rows(),
          "multiply_block: rows that are not there");
  const auto n = rows_.n;
  const auto x = taken<T>(n * count, device_place(where())), y = taken<T>(n * count, device_place(where()));
  const auto beside = [&](const Array<T>& of) { return RawDense{of.data, count, 1}; };
  const auto rows_at = [&](std::int64_t i) { return RawDense{rows_.row(i), 1, rows_.stride}; };
  relayout(beside(x), rows_at(from), n, count, sizeof(T), stream_.get());
  apply({x.data, n, count, count, 1}, {y.data, n, count, count, 1}, stream_.get());
  relayout(rows_at(to), beside(y), n, count, sizeof(T), stream_.get());
  for (auto i = to; factor != 1 && i < to + count; ++i) scale(i, factor);
  synchronize(stream_.get());  // the memory goes
}

template <class T>
void DeviceBasis<T>::beside_one_another(
    std::int64_t from, std::int64_t count,
    const std::function<void(DenseView<const T> x, Stream stream)>& apply) {
  require(0 <= from && 0 < count && from + count <= rows(), "beside_one_another: rows that are not there");
  const auto x = taken<T>(rows_.n * count, device_place(where()));
  relayout(RawDense{x.data, count, 1}, RawDense{rows_.row(from), 1, rows_.stride}, rows_.n, count, sizeof(T),
           stream_.get());
  apply({x.data, rows_.n, count, count, 1}, stream_.get());
  synchronize(stream_.get());  // the memory goes
}

template <class T>
void DeviceBasis<T>::scale(std::int64_t at, double by) {
  T* const row = rows_.row(at);
  penstock::sweep(rows_.n, KrylovScale<T>{.in = {row}, .out = {row}, .scale = static_cast<T>(by)}, no_sums_,
                  stream_.get());
}

template <class T>
void DeviceBasis<T>::copy(std::int64_t from, std::int64_t to) {
  copy_async(rows_.row(to), rows_.row(from), rows_.n * std::int64_t{sizeof(T)}, stream_);
}

template <class T>
void DeviceBasis<T>::orthogonalise(std::int64_t count, std::int64_t near, std::int64_t at, double* h,
                                   double* squares) {
  require(0 <= near && near <= count && count <= at && at < rows(), "orthogonalise: rows that are not there");
  if (!where().is_gpu()) {
    std::vector<T> mine(static_cast<std::size_t>(count));
    basis_orthogonalise<T>({rows_.data, count, rows_.stride, rows_.n}, near,
                           {rows_.row(at), 1, rows_.stride, rows_.n}, mine.data(), squares, squares + 1);
    std::copy(mine.begin(), mine.end(), h);
    return;
  }
  if constexpr (have_cuda) {
    // Three rows of sums: of the first pass with the square before, of the second with that in between, and the square after.
    double* const first = sums_.data;
    double* const second = first + rows() + 1;
    double* const third = second + rows() + 1;
    sweep({}, nullptr, {near, count}, first, at);
    if (count) {
      sweep({near, count}, first, {0, count}, second, at);
      sweep({0, count}, second, {}, third, at);
    }
    tell();
    const double* const one = here_.data;
    const double* const two = one + rows() + 1;
    squares[0] = one[count - near];
    squares[1] = count ? two[rows() + 1] : squares[0];
    std::fill_n(h, count, 0.0);
    if (!count || !std::isfinite(squares[0])) return;
    for (auto i = near; i < count; ++i) h[i] = one[i - near];
    for (std::int64_t i = 0; i < count; ++i) h[i] += two[i];
    if (squares[1] >= kBasisKept * kBasisKept * two[count]) return;
    sweep({}, nullptr, {0, count}, second, at);
    sweep({0, count}, second, {}, third, at);
    tell();
    for (std::int64_t i = 0; i < count; ++i) h[i] += two[i];
    squares[1] = two[rows() + 1];
  } else {
    no_cuda("a basis on a GPU");
  }
}

template <class T>
void DeviceBasis<T>::sweep(Part taken, const double* f, Part met, double* h, std::int64_t at) {
  if constexpr (have_cuda) {
    const auto part = [&](Part p) {
      return VectorRows<const T>{rows_.row(p.first), p.end - p.first, rows_.stride, rows_.n};
    };
    auto* const arrived = reinterpret_cast<unsigned*>(parts_.data + parts_.size - 1);
    gpu::basis_sweep<T>({part(taken), f, part(met), h, rows_.row(at)}, parts_.data, arrived, stream_.get());
  }
}

template <class T>
void DeviceBasis<T>::tell() {
  copy_async(here_.data, sums_.data, sums_.bytes(), stream_.get());
  synchronize(stream_.get());
}

template <class T>
void DeviceBasis<T>::rotate(std::int64_t first, std::int64_t size, std::int64_t q, const T* y) {
  require(0 <= first && 0 < q && q <= size && first + size <= rows(), "rotate: rows that are not there");
  const VectorRows<T> turned{rows_.row(first), size, rows_.stride, rows_.n};
  if (!where().is_gpu()) return turn_here(turned, q, y);
  if constexpr (have_cuda) {
    const auto columns = (q + gpu::kTurned - 1) / gpu::kTurned * gpu::kTurned;
    const auto slab = std::clamp<std::int64_t>(kSlabBytes / (columns * std::int64_t{sizeof(T)}), 1, rows_.n);
    std::vector<T> padded(static_cast<std::size_t>(size * columns));
    for (std::int64_t i = 0; i < size; ++i) std::copy_n(y + i * q, q, padded.data() + i * columns);
    const auto place = device_place(where());
    const auto there = taken<T>(size * columns, place), scratch = taken<T>(columns * slab, place);
    copy_async(there.data, padded.data(), there.bytes(), stream_.get());
    gpu::turn_rows<T>(turned, there.data, q, {scratch.data, columns, slab, slab}, stream_.get());
    synchronize(stream_.get());  // `padded` and the memory go
  }
}

template class DeviceBasis<float>;
template class DeviceBasis<double>;

}  // namespace penstock
