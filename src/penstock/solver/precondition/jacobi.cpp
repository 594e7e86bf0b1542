// Jacobi and block Jacobi: the inverse of the diagonal, or of dense diagonal blocks.
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/kernel/vectors/dense_blocks.hpp"
#include "penstock/solver/matrix_op.hpp"
#include "penstock/solver/precondition/device_form.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kJacobiRows = 4096;  // rows of a task
/// A pivot below this part of the largest entry of its block is taken for rounding: the block is singular.
constexpr double kZeroInBlock = 1e-14;
/// Rows of a block: it is inverted as a dense matrix, in time that grows as the cube of its rows.
constexpr std::int64_t kMostBlock = 1024;

template <class V>
auto value_at(const CsrView<V>& a, Offset k) {
  if constexpr (is_pattern<V>) return 1.0;
  else return static_cast<ScalarOf<V>>(a.values[k]);
}

/// The first fault by its row, in whatever order threads find faults.
class First {
 public:
  void report(std::int64_t row) {
    auto seen = row_.load();
    while (row < seen && !row_.compare_exchange_weak(seen, row)) {}
  }
  bool any() const { return row_ != kNone; }
  std::int64_t row() const { return row_; }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_ = kNone;
};

/// Inverts an n x n matrix in place, by rows, with the largest pivot of each column. False where it is singular.
bool invert(double* m, std::int64_t n, double* work) {
  double largest = 0;
  for (std::int64_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(m[i]));
  double* out = work;
  std::fill_n(out, n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i) out[i * n + i] = 1;
  for (std::int64_t c = 0; c < n; ++c) {
    auto p = c;
    for (auto r = c + 1; r < n; ++r)
      if (std::abs(m[r * n + c]) > std::abs(m[p * n + c])) p = r;
    if (!(std::abs(m[p * n + c]) > kZeroInBlock * largest) || !std::isfinite(m[p * n + c])) return false;
    for (std::int64_t j = 0; j < n && p != c; ++j)
      std::swap(m[p * n + j], m[c * n + j]), std::swap(out[p * n + j], out[c * n + j]);
    const double inverse = 1 / m[c * n + c];
    for (std::int64_t j = 0; j < n; ++j) m[c * n + j] *= inverse, out[c * n + j] *= inverse;
    for (std::int64_t r = 0; r < n; ++r) {
      const double f = m[r * n + c];
      if (r == c || f == 0) continue;
      for (std::int64_t j = 0; j < n; ++j)
        m[r * n + j] -= f * m[c * n + j], out[r * n + j] -= f * out[c * n + j];
    }
  }
  std::copy_n(out, n * n, m);
  return true;
}

}  // namespace

template <class T, class V>
LinearOp<T> jacobi(const Csr<V>& a) {
  require(a.rows == a.cols, "Jacobi: the matrix is not square");
  const auto inverse = allocate<T>(std::max<std::int64_t>(a.rows, 1));
  const auto view = a.view();
  First fault;
  parallel_ranges(a.rows, kJacobiRows, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      ScalarOf<T> d = 0;
      for (auto k = view.indptr[i]; k < view.indptr[i + 1]; ++k)
        if (view.indices[k] == i) d += value_at(view, k);
      const auto value = static_cast<T>(1.0 / d);
      if (!finite(ScalarOf<T>(value)) || value == T(0)) fault.report(i);
      inverse.data[i] = value;
    }
  });
  if (fault.any())
    throw Error(Errc::invalid_argument, "Jacobi: the diagonal entry of row " + std::to_string(fault.row()) +
                                            " is zero or has no inverse: take another preconditioner (ILU0 "
                                            "with a shift), or reorder the rows");
  LinearOp<T> op;
  op.rows = a.rows;
  op.diagonal = Array<const T>(inverse).slice(0, a.rows);
  op.apply = [inverse](std::span<const T> x, std::span<T> y) {
    Sweeper sweep(sizeof(T));
    sweep(std::ssize(x), 3, [&](std::int64_t f, std::int64_t n) {
      for (auto i = f; i < f + n; ++i) y[i] = times(inverse.data[i], x[i]);
    });
  };
  op.matrix_bytes = [n = a.rows] { return n * static_cast<std::int64_t>(sizeof(T)); };
  return op;
}

template <class T, class V>
LinearOp<T> block_jacobi(const Csr<V>& a, std::int64_t block, double shift) {
  require(a.rows == a.cols, "BlockJacobi: the matrix is not square");
  require(block >= 1 && block <= kMostBlock,
          "BlockJacobi: block_size=" + std::to_string(block) +
              " is not in 1 .. 1024: blocks are kept dense; inner='ilu' takes larger ones");
  const auto n = a.rows, blocks = (n + block - 1) / block;
  const auto inverse = allocate<T>(std::max<std::int64_t>(n * block, 1));
  const auto view = a.view();
  First fault;
  const auto per_thread = std::max<std::int64_t>(1, kJacobiRows / block);
  parallel_ranges(blocks, per_thread, [&](std::int64_t first, std::int64_t last) {
    std::vector<double> dense(static_cast<std::size_t>(block * block)), work(dense.size());
    for (auto k = first; k < last; ++k) {
      poll_interrupt();
      const auto from = k * block, size = std::min(block, n - from);
      std::fill(dense.begin(), dense.end(), 0.0);
      for (std::int64_t i = 0; i < size; ++i) {
        double largest = 0;
        for (auto e = view.indptr[from + i]; e < view.indptr[from + i + 1]; ++e) {
          const auto j = view.indices[e] - from;
          largest = std::max(largest, std::abs(value_at(view, e)));
          if (j >= 0 && j < size) dense[static_cast<std::size_t>(i * size + j)] += value_at(view, e);
        }
        dense[static_cast<std::size_t>(i * size + i)] += shift * largest;
      }
      if (!invert(dense.data(), size, work.data())) fault.report(from);
      std::copy_n(dense.data(), size * size, inverse.data + from * block);
    }
  });
  if (fault.any())
    throw Error(Errc::invalid_argument, "BlockJacobi: the block of rows " + std::to_string(fault.row()) +
                                            " .. " + std::to_string(std::min(n, fault.row() + block) - 1) +
                                            " is singular: give shift=1e-3 or more, or another block_size");
  LinearOp<T> op;
  op.rows = n;
  op.apply = [inverse, n, block](std::span<const T> x, std::span<T> y) {
    multiply_blocks<T>(inverse.data, n, block, x.data(), y.data(), {});
  };
  op.matrix_bytes = [n, block] { return n * block * static_cast<std::int64_t>(sizeof(T)); };
  const auto cache = std::make_shared<KeptOnDevice<Array<T>>>();
  op.on_device.make = [inverse, n, block, cache](Stream stream, std::int64_t spare,
                                                 const DeviceGhosts<T>&) -> DeviceApply<T> {
    const auto kept = cache->get(stream.where, [&] {
      require_room(n * block * static_cast<std::int64_t>(sizeof(T)), spare, stream.where);
      auto blocks =
          copy_to_device(std::span<const T>(inverse.data, static_cast<std::size_t>(n * block)), stream);
      synchronize(stream);
      return blocks;
    });
    return [kept, n, block](const T* r, T* z, Stream stream) {
      multiply_blocks<T>(kept->data, n, block, r, z, stream);
    };
  };
  return op;
}

#define X(T, V)                                     \
  template LinearOp<T> jacobi<T, V>(const Csr<V>&); \
  template LinearOp<T> block_jacobi<T, V>(const Csr<V>&, std::int64_t, double);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X
#define X(T, V) template LinearOp<T> jacobi<T, V>(const Csr<V>&);
PENSTOCK_FOR_EACH_COMPLEX_OP(X)
#undef X

}  // namespace penstock
