#include "penstock/solver/multigrid/dist_rows.hpp"

#include <utility>
#include <vector>

#include "penstock/solver/multigrid/rows_in_ranges.hpp"

namespace penstock {
namespace {

template <class V>
double value_at(const Csr<V>& a, Offset k) {
  if constexpr (is_pattern<V>) return 1;
  else return static_cast<double>(a.values.data[k]);
}

}  // namespace

template <class T, class V>
Csr<T> whole_columns(DistProduct<V>& product, double scale) {
  const auto& a = product.matrix();
  const auto mine = a.col_owners->numbers(a.comm->rank());
  const auto* ghosts = static_cast<const GlobalIndex*>(product.exchange(mine.data, sizeof(GlobalIndex)));
  return rows_in_ranges<T>(
      a.rows(), a.all_cols(),
      [&](std::int64_t r) { return a.local.indptr.data[r] + a.halo.indptr.data[r] + r; },
      [&](std::int64_t r, RowPiece<T>& piece) {
        thread_local std::vector<std::pair<GlobalIndex, double>> row;
        row.clear();
        for (auto k = a.local.indptr.data[r]; k < a.local.indptr.data[r + 1]; ++k)
          row.emplace_back(mine.data[a.local.indices.data[k]], value_at(a.local, k));
        for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k)
          row.emplace_back(ghosts[a.halo.indices.data[k]], value_at(a.halo, k));
        std::stable_sort(row.begin(), row.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        for (std::size_t k = 0, end = 0; k < row.size(); k = end) {
          double sum = 0;
          for (; end < row.size() && row[end].first == row[k].first; ++end) sum += row[end].second;
          piece.indices.push_back(static_cast<Index>(row[k].first));
          piece.values.push_back(static_cast<T>(scale * sum));
        }
      });
}

template <class T>
std::shared_ptr<DistProduct<T>> share_out(std::shared_ptr<Comm> comm, std::shared_ptr<const Ownership> rows,
                                          std::shared_ptr<const Ownership> cols,
                                          Array<const GlobalIndex> row_ids, const Csr<T>& entries) {
  Share<T> share;
  share.row_ids = std::move(row_ids), share.entries = entries;
  auto a = distribute(std::move(comm), std::move(rows), std::move(cols), std::move(share));
  return std::make_shared<DistProduct<T>>(std::move(a), DistProductOptions{.halo = "isend"});
}

template <class T>
Csr<T> wide_rows(const DistProduct<T>& product) {
  const auto& a = product.matrix();
  const auto rows = a.rows(), owned = a.cols();
  Csr<T> wide;
  wide.rows = rows, wide.cols = owned + a.halo.cols;
  const auto indptr = allocate<Offset>(rows + 1);
  for (std::int64_t r = 0; r <= rows; ++r) indptr.data[r] = a.local.indptr.data[r] + a.halo.indptr.data[r];
  const auto nnz = indptr.data[rows];
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  const auto values = allocate<T>(std::max<Offset>(nnz, 1));
  constexpr std::int64_t kRowsOfTask = 4096;
  parallel_ranges(rows, kRowsOfTask, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      auto to = indptr.data[r];
      for (auto k = a.local.indptr.data[r]; k < a.local.indptr.data[r + 1]; ++k, ++to)
        indices.data[to] = a.local.indices.data[k], values.data[to] = a.local.values.data[k];
      for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k, ++to)
        indices.data[to] = static_cast<Index>(owned + a.halo.indices.data[k]),
        values.data[to] = a.halo.values.data[k];
    }
  });
  wide.indptr = indptr, wide.indices = indices.slice(0, nnz), wide.values = values.slice(0, nnz);
  return wide;
}

template <class T>
RankRows columns_of(std::shared_ptr<DistProduct<T>> product) {
  const auto& a = product->matrix();
  RankRows rows;
  rows.comm = a.comm;
  rows.numbers = a.col_owners->numbers(a.comm->rank());
  rows.all = a.all_cols();
  rows.ghosts = a.plan->ghosts();
  rows.exchange = [product](const void* own, std::int64_t entry_bytes) {
    return product->exchange(own, entry_bytes);
  };
  return rows;
}

template <class T>
Csr<T> stacked(const Csr<T>& first, const Csr<T>& second) {
  if (second.rows == 0) return first;
  Csr<T> out;
  out.rows = first.rows + second.rows, out.cols = first.cols;
  const auto nnz = first.nnz() + second.nnz();
  const auto indptr = allocate<Offset>(out.rows + 1);
  const auto indices = allocate<Index>(std::max<Offset>(nnz, 1));
  const auto values = allocate<T>(std::max<Offset>(nnz, 1));
  std::copy_n(first.indptr.data, first.rows + 1, indptr.data);
  for (std::int64_t r = 0; r < second.rows; ++r)
    indptr.data[first.rows + r + 1] = first.nnz() + second.indptr.data[r + 1];
  std::copy_n(first.indices.data, first.nnz(), indices.data);
  std::copy_n(second.indices.data, second.nnz(), indices.data + first.nnz());
  std::copy_n(first.values.data, first.nnz(), values.data);
  std::copy_n(second.values.data, second.nnz(), values.data + first.nnz());
  out.indptr = indptr, out.indices = indices.slice(0, nnz), out.values = values.slice(0, nnz);
  return out;
}

#define X(T)                                                                                     \
  template std::shared_ptr<DistProduct<T>> share_out(                                            \
      std::shared_ptr<Comm>, std::shared_ptr<const Ownership>, std::shared_ptr<const Ownership>, \
      Array<const GlobalIndex>, const Csr<T>&);                                                  \
  template Csr<T> wide_rows(const DistProduct<T>&);                                              \
  template RankRows columns_of(std::shared_ptr<DistProduct<T>>);                                 \
  template Csr<T> stacked(const Csr<T>&, const Csr<T>&);                                         \
  template Csr<T> whole_columns<T, One>(DistProduct<One>&, double);                              \
  template Csr<T> whole_columns<T, float>(DistProduct<float>&, double);                          \
  template Csr<T> whole_columns<T, double>(DistProduct<double>&, double);
X(float)
X(double)
#undef X

}  // namespace penstock
