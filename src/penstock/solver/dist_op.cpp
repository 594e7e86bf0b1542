// A distributed matrix as solvers see it: a LinearOp over its product, and a Space whose sums are reductions over the ranks. A
// plan of the local block is built after some products, because it pays only in solves of many iterations.
#include "penstock/solver/dist_op.hpp"

#include <algorithm>
#include <array>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/solver/matrix_op.hpp"

namespace penstock {
namespace {

template <class T, class V>
struct Product {
  std::shared_ptr<DistProduct<V>> a;
  std::int64_t left = -1;         // products until a plan of the local block is built
  std::vector<T> x = {}, y = {};  // several vectors, row by row

  void prepare() {
    if (left < 0 || left-- > 0 || a->prepared() != SpmvAlgorithm::balanced) return;
    a->prepare(SpmvAlgorithm::automatic);
  }
  void run(std::span<const T> from, std::span<T> to) {
    prepare();
    a->template multiply<PlusTimes<T>>(from, to);
  }
  /// Vectors that lie one after the other are put side by side in rows, so that one exchange and one pass over the matrix serve
  /// all of them. `columns` is given, because a rank without rows cannot tell it from the sizes.
  void run_many(std::span<const T> from, std::span<T> to, std::int64_t columns) {
    const auto n = a->matrix().rows();
    x.resize(from.size()), y.resize(from.size());
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < n; ++i) x[i * columns + j] = from[j * n + i];
    a->template multiply_columns<PlusTimes<T>>({x.data(), n, columns, columns, 1},
                                               {y.data(), n, columns, columns, 1});
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < n; ++i) to[j * n + i] = y[i * columns + j];
  }
};

bool on_all(Comm& comm, bool here) {
  std::array<std::int64_t, 1> ok{here ? 1 : 0};
  comm.all_reduce(std::span<std::int64_t>(ok), Reduce::min);
  return ok[0] == 1;
}

template <class V>
double value_at(const Csr<V>& a, Offset k) {
  if constexpr (is_pattern<V>) return 1;
  else return static_cast<double>(a.values.data[k]);
}

}  // namespace

Space space_of(std::shared_ptr<Comm> comm, GlobalIndex all_rows) {
  Space space;
  space.start_sum = [comm](std::span<double> sums) { comm->start_sum(sums); };
  space.finish_sum = [comm] { comm->finish_sum(); };
  space.sum_now = [comm](std::span<double> sums) { comm->all_reduce(sums, Reduce::sum); };
  space.all_rows = all_rows;
  return space;
}

template <class V>
void require_square(const DistCsr<V>& a) {
  require(a.all_rows() == a.all_cols(), "a solver needs a square matrix, this one is " +
                                            std::to_string(a.all_rows()) + " x " +
                                            std::to_string(a.all_cols()));
  require(on_all(*a.comm, a.row_owners->same_on(a.comm->rank(), *a.col_owners)),
          "a solver needs x shared out as the rows are: give rows and columns the same owners");
}

template <class V>
void require_whole_rows(const DistCsr<V>& a, const std::string& method) {
  require(
      on_all(*a.comm, a.sums->ghosts() == 0),
      method +
          " needs whole rows, and this partition splits rows among ranks: choose one that does not, such as "
          "'balanced', or take Jacobi or Chebyshev");
}

template <class T, class V>
LinearOp<T> dist_op(std::shared_ptr<DistProduct<V>> a, const MatrixOpOptions& options) {
  require_square(a->matrix());
  auto product = std::make_shared<Product<T, V>>(Product<T, V>{a});
  const auto* in_core = std::get_if<InCore>(&a->options().schedule);
  if (in_core && !in_core->where.is_gpu() && a->options().algorithm == SpmvAlgorithm::automatic &&
      Plannable<PlusTimes<T>, V> && a->local().nnz() >= kWorthAPlan)
    product->left = options.prepare_after;
  LinearOp<T> op;
  op.rows = a->matrix().rows();
  op.apply = [product](std::span<const T> x, std::span<T> y) { product->run(x, y); };
  op.apply_many = [product](std::span<const T> x, std::span<T> y, std::int64_t columns) {
    product->run_many(x, y, columns);
  };
  op.matrix_bytes = [a] { return a->matrix().local.bytes() + a->matrix().halo.bytes(); };
  return op;
}

template <class V>
std::vector<double> diagonal_of(DistProduct<V>& product) {
  const auto& a = product.matrix();
  require_square(a);
  const auto rows = a.rows();
  const auto& local = a.local;
  std::vector<double> out(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i)
    for (auto k = local.indptr.data[i]; k < local.indptr.data[i + 1]; ++k)
      if (local.indices.data[k] == i) out[static_cast<std::size_t>(i)] += value_at(local, k);
  if (on_all(*a.comm, a.sums->ghosts() == 0)) return out;

  // Other ranks hold parts of rows that are owned here: they are told the numbers of rows and columns, and send sums back.
  const auto mine = a.row_owners->numbers(a.comm->rank());
  const HaloContext rows_link{.comm = a.comm, .plan = a.sums, .entry_bytes = sizeof(GlobalIndex)};
  const auto to_foreign = make_halo("isend", rows_link);
  to_foreign->begin(mine.data, {}), to_foreign->end({});
  const auto* foreign = static_cast<const GlobalIndex*>(to_foreign->ghosts());
  const auto* ghosts = static_cast<const GlobalIndex*>(product.exchange(mine.data, sizeof(GlobalIndex)));
  HaloBack back("isend", {.comm = a.comm, .plan = a.sums, .entry_bytes = sizeof(double)});
  auto* parts = static_cast<double*>(back.values());
  for (std::int64_t f = 0; f < a.sums->ghosts(); ++f) {
    parts[f] = 0;
    const auto r = rows + f;
    for (auto k = local.indptr.data[r]; k < local.indptr.data[r + 1]; ++k)
      if (mine.data[local.indices.data[k]] == foreign[f]) parts[f] += value_at(local, k);
    for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k)
      if (ghosts[a.halo.indices.data[k]] == foreign[f]) parts[f] += value_at(a.halo, k);
  }
  back.begin();
  back.end<PlusTimes<double>>(out.data());
  return out;
}

template <class T>
LinearOp<T> diagonal_op(Array<const T> diagonal) {
  LinearOp<T> op;
  op.rows = diagonal.size;
  op.diagonal = diagonal;
  op.apply = [diagonal](std::span<const T> x, std::span<T> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = diagonal.data[i] * x[i];
  };
  op.matrix_bytes = [bytes = diagonal.bytes()] { return bytes; };
  return op;
}

template <class V>
Csr<V> diagonal_block(const DistProduct<V>& a) {
  require_square(a.matrix());
  require_whole_rows(a.matrix(), "a preconditioner made from each rank's block");
  return a.local();
}

#define X(V)                                                               \
  template void require_square(const DistCsr<V>&);                         \
  template void require_whole_rows(const DistCsr<V>&, const std::string&); \
  template std::vector<double> diagonal_of(DistProduct<V>&);               \
  template Csr<V> diagonal_block(const DistProduct<V>&);
X(One)
X(float)
X(double)
#undef X
template LinearOp<float> diagonal_op(Array<const float>);
template LinearOp<double> diagonal_op(Array<const double>);
#define X(T, V) template LinearOp<T> dist_op<T, V>(std::shared_ptr<DistProduct<V>>, const MatrixOpOptions&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock
