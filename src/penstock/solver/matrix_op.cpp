#include "penstock/solver/matrix_op.hpp"

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/spmm.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"

namespace penstock {
namespace {

template <class T, class V>
struct MatrixProduct {
  Csr<V> a;
  std::shared_ptr<SpmvPlans<V>> plans;
  Schedule schedule;
  std::int64_t left = -1;  // products until a plan is built

  bool in_core() const {
    const auto* s = std::get_if<InCore>(&schedule);
    return s && !s->where.is_gpu();
  }
  void prepare() {
    if (left < 0 || left-- > 0 || plans->chosen() != SpmvAlgorithm::balanced) return;
    plans->prepare(a.view(), SpmvAlgorithm::automatic);
  }
  void run(std::span<const T> x, std::span<T> y, ProductDots<T>* dots) {
    if (in_core()) {
      prepare();
      plans->template multiply<PlusTimes<T>>(SpmvAlgorithm::automatic, a.view(), x.data(), y.data(), {},
                                             dots);
    } else {
      multiply<PlusTimes<T>, V>(a, x, y, schedule);
      if (dots) dots->pass(y.data(), a.rows);
    }
  }
  /// Several vectors, for which the matrix is read once. A stencil plan hardly reads it, so there they go one by one.
  void run_many(std::span<const T> x, std::span<T> y, std::int64_t columns) {
    const auto n = a.rows;
    prepare();
    if (plans->chosen() != SpmvAlgorithm::stencil)
      return spmm<PlusTimes<T>, V>(a.view(), {x.data(), n, columns, 1, n}, {y.data(), n, columns, 1, n}, {});
    for (std::int64_t j = 0; j < columns; ++j)
      run(x.subspan(static_cast<std::size_t>(j * n), static_cast<std::size_t>(n)),
          y.subspan(static_cast<std::size_t>(j * n), static_cast<std::size_t>(n)), nullptr);
  }
  std::int64_t bytes() const {
    const auto plan = in_core() && plans->chosen() != SpmvAlgorithm::balanced ? plans->bytes() : 0;
    return plan > 0 ? std::min(plan, a.bytes()) : a.bytes();
  }
};

}  // namespace

template <class T, class V>
LinearOp<T> matrix_op(const Csr<V>& a, std::shared_ptr<SpmvPlans<V>> plans, const Schedule& schedule,
                      const MatrixOpOptions& options) {
  require(a.rows == a.cols, "a solver needs a square matrix, this one is " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols));
  for (const Place place : {a.indptr.place, a.indices.place, a.values.place})
    if (std::holds_alternative<InCore>(schedule)) check(schedule, place);
  auto product = std::make_shared<MatrixProduct<T, V>>(MatrixProduct<T, V>{a, std::move(plans), schedule});
  if (Plannable<PlusTimes<T>, V> && a.nnz() >= kWorthAPlan) product->left = options.prepare_after;
  LinearOp<T> op;
  op.rows = a.rows;
  op.apply = [product](std::span<const T> x, std::span<T> y) { product->run(x, y, nullptr); };
  if (product->in_core() && a.rows > 0)
    op.apply_many = [product](std::span<const T> x, std::span<T> y, std::int64_t columns) {
      product->run_many(x, y, columns);
    };
  op.apply_dots = [product](std::span<const T> x, std::span<T> y, const T* w) {
    ProductDots<T> dots(w);
    product->run(x, y, &dots);
    return LocalDots{dots.wy(), dots.yy()};
  };
  op.matrix_bytes = [product] { return product->bytes(); };
  return op;
}

#define X(T, V)                                                                                       \
  template LinearOp<T> matrix_op<T, V>(const Csr<V>&, std::shared_ptr<SpmvPlans<V>>, const Schedule&, \
                                       const MatrixOpOptions&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
PENSTOCK_FOR_EACH_COMPLEX_OP(X)
#undef X

}  // namespace penstock
