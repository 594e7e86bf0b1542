// y = A x where each rank has some rows of A and some entries of x. A rank's rows are two matrices: `local` has the columns
// whose entries of x the rank owns, `halo` the columns whose entries other ranks own. The product is
//
//   begin to exchange x            entries of x that others need set out
//   y = scale(local x, y)          while they travel
//   end the exchange               `ghosts` are the entries that have come
//   y += alpha halo ghosts         only in rows that have such columns; the halo block holds no others
//
// In layouts that share rows a rank also has foreign rows, which other ranks own. It computes their sums like its own ones,
// sends them to the owners while it multiplies its own halo block, and adds what it gets for its own rows. The product with
// A^T takes the same exchanges backwards: sums of ghosts go to their owners.
#include "penstock/dist/product/dist_product.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/multiply_columns.hpp"

namespace penstock {
namespace {

/// Rows of one task of a pass that moves an entry of each row.
constexpr std::int64_t kGrain = 1 << 12;
/// The halo block leaves out rows without ghosts, unless less than one row in so many is such a row: a list of the other rows
/// would then cost more than it saves.
constexpr std::int64_t kFew = 4;
/// Up to so many entries a row of the halo block is summed in place, without a buffer and a second pass.
constexpr Offset kShortRow = 8;

bool on_cpu(const Schedule& schedule) {
  const auto* in_core = std::get_if<InCore>(&schedule);
  return in_core && !in_core->where.is_gpu();
}

template <class T>
DenseView<T> dense(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns, 1};
}

template <class T>
void require_dense(const DenseView<T>& v, const char* name, std::int64_t rows, const char* counted) {
  require(v.rows == rows, std::string("distributed product: ") + name + " has " + std::to_string(v.rows) +
                              " rows here, the matrix has " + std::to_string(rows) + " " + counted +
                              " on this rank");
  require(v.cols == 1 ? v.row_step == 1 : v.col_step == 1 && v.row_step == v.cols,
          std::string("distributed product: ") + name + " is not row-major without gaps: copy it");
}

}  // namespace

std::vector<std::string_view> sum_names() { return {"owners", "reduce", "gather"}; }

/// The local work of one kind of product.
template <class V>
template <Semiring S>
struct DistProduct<V>::Steps {
  using T = typename S::value_type;
  using In = DenseView<const T>;
  using Out = DenseView<T>;
  DistProduct& p;
  std::int64_t columns;

  /// y = scale(a x, y) by the schedule; with `planned` by the plans, which are those of the owned rows.
  void local(const Csr<V>& a, In x, Out y, Scale<S> scale, bool planned) {
    const ScopedTimer timer(&p.times_.local);
    auto& o = p.options_;
    const auto xs = std::span(x.data, static_cast<std::size_t>(a.cols));
    const auto ys = std::span(y.data, static_cast<std::size_t>(a.rows));
    if (columns == 1) {
      if (planned && on_cpu(o.schedule)) penstock::multiply<S, V>(a, xs, ys, *p.plans_, o.algorithm, scale);
      else penstock::multiply<S, V>(a, xs, ys, o.schedule, scale);
    } else if (planned && on_cpu(o.schedule)) {
      penstock::multiply_columns<S, V>(a, x, y, *p.plans_, o.algorithm, scale);
    } else {
      penstock::multiply_columns<S, V>(a, x, y, o.schedule, scale);
    }
  }

  /// y[row] += alpha * (halo block * ghosts), for the rows that have ghosts.
  void halo(const Rows& rows, const void* ghosts, Out y, T alpha) {
    if (rows.halo.rows == 0) return;
    const ScopedTimer timer(&p.times_.halo);
    if (columns == 1 && rows.short_halo) return short_halo(rows, static_cast<const T*>(ghosts), y, alpha);
    const auto sums = allocate<T>(rows.halo.rows * columns);
    const auto g = dense(static_cast<const T*>(ghosts), rows.halo.cols, columns);
    spmm_any(rows.halo, g, dense(sums.data, rows.halo.rows, columns));
    parallel_ranges(rows.halo.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        for (std::int64_t c = 0; c < columns && rows.has_ghosts(i); ++c) {
          T& out = y.data[rows.halo_row(i) * columns + c];
          out = S::add(out, S::mul(alpha, sums.data[i * columns + c]));
        }
    });
  }
  void short_halo(const Rows& rows, const T* ghosts, Out y, T alpha) {
    const auto a = rows.halo.view();
    parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        if (!rows.has_ghosts(i)) continue;
        auto sum = S::zero();
        for (auto k = a.indptr[i]; k < a.indptr[i + 1]; ++k)
          sum = S::add(sum, S::mul(entry<S>(a.values, k), ghosts[a.indices[k]]));
        T& out = y.data[rows.halo_row(i)];
        out = S::add(out, S::mul(alpha, sum));
      }
    });
  }
  void spmm_any(const Csr<V>& a, In x, Out y) {
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    if (columns == 1)
      penstock::multiply<S, V>(a, std::span(x.data, size(a.cols)), std::span(y.data, size(a.rows)));
    else penstock::multiply_columns<S, V>(a, x, y);
  }

  /// y = scale(A^T x, y).
  void transposed(const Csr<V>& a, In x, Out y, Scale<S> scale, double* seconds) {
    const ScopedTimer timer(seconds);
    if (columns == 1) spmv_transposed<S, V>(a.view(), x.data, y.data, scale);
    else spmm_transposed<S, V>(a.view(), x, y, scale);
  }
  /// The sums for ghosts of A^T x, from the rows that have ghosts.
  void transposed_halo(const Rows& rows, In x, void* ghosts, Scale<S> scale) {
    const auto ghost_sums = [&](const T* from) {
      transposed(rows.halo, dense(from, rows.halo.rows, columns),
                 dense(static_cast<T*>(ghosts), rows.halo.cols, columns), scale, &p.times_.halo);
    };
    if (!rows.halo_rows.data) return ghost_sums(x.data);
    const auto mine = allocate<T>(rows.halo.rows * columns);
    parallel_ranges(rows.halo.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i)
        std::copy_n(x.data + rows.halo_rows.data[i] * columns, columns, mine.data + i * columns);
    });
    ghost_sums(mine.data);
  }
};

template <class V>
DistProduct<V>::DistProduct(DistCsr<V> a, DistProductOptions options)
    : a_(std::move(a)), options_(std::move(options)) {
  require_halo(options_.halo, {});
  const auto sums = sum_names();
  require(std::ranges::find(sums, options_.sums) != sums.end(),
          "sums = \"" + options_.sums + "\" is not owners, reduce or gather");
  check(options_.schedule, {});
  own_ = rows_of(a_, 0, a_.rows());
  foreign_ = rows_of(a_, a_.rows(), a_.local.rows);
  std::int64_t any[] = {a_.plan->ghosts(), a_.sums->ghosts()};
  a_.comm->all_reduce(any, Reduce::max);
  any_ghosts_ = any[0] > 0, any_foreign_ = any[1] > 0;
  if (options_.halo != "auto") strategy_ = options_.halo;
}

template <class V>
typename DistProduct<V>::Rows DistProduct<V>::rows_of(const DistCsr<V>& a, std::int64_t first,
                                                      std::int64_t last) {
  Rows out;
  const auto cut = [&](const Csr<V>& from, std::int64_t lo, std::int64_t hi) {
    const auto begin = from.indptr.data[lo], end = from.indptr.data[hi];
    Csr<V> some{
        hi - lo, from.cols, from.indptr.slice(lo, hi - lo + 1), from.indices.slice(begin, end - begin), {}};
    if constexpr (!is_pattern<V>) some.values = from.values.slice(begin, end - begin);
    if (begin > 0) {
      auto offsets = allocate<Offset>(hi - lo + 1);
      for (auto r = lo; r <= hi; ++r) offsets.data[r - lo] = from.indptr.data[r] - begin;
      some.indptr = offsets;
    }
    return some;
  };
  out.local = cut(a.local, first, last);
  out.halo = cut(a.halo, first, last);
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < last - first; ++r) {
    const auto ghosts = out.halo.indptr.data[r + 1] - out.halo.indptr.data[r];
    count += ghosts > 0, out.short_halo = out.short_halo && ghosts <= kShortRow;
  }
  if (count > last - first - (last - first) / kFew) return out;
  auto rows = allocate<Index>(count);
  auto offsets = allocate<Offset>(count + 1);
  offsets.data[0] = 0;
  for (std::int64_t r = 0, n = 0; r < last - first; ++r)
    if (out.has_ghosts(r))
      rows.data[n] = static_cast<Index>(r), offsets.data[++n] = out.halo.indptr.data[r + 1];
  out.halo.rows = count, out.halo.indptr = offsets, out.halo_rows = rows;
  return out;
}

template <class V>
template <Semiring S>
typename DistProduct<V>::Links& DistProduct<V>::links_of(std::int64_t columns, bool transposed) {
  using T = typename S::value_type;
  const auto names = rank_semirings();
  const auto number = static_cast<int>(std::ranges::find(names, semiring_name<S>()) - names.begin());
  const int kind = (number * 16 + static_cast<int>(sizeof(T))) * 2 + transposed;
  if (const auto known = links_.find({columns, kind}); known != links_.end()) return known->second;
  return links_of(columns, kind,
                  std::string("a distributed product\nmatrix\t") + (transposed ? "A.T" : "A") +
                      "\nsemiring\t" + std::string(semiring_name<S>()) + "\ndtype\t" +
                      (BooleanSemiring<S> ? "bool"
                       : sizeof(T) == 4   ? "float32"
                                          : "float64") +
                      "\ncolumns of x\t" + std::to_string(columns));
}

template <class V>
typename DistProduct<V>::Links& DistProduct<V>::links_of(std::int64_t columns, int kind,
                                                         const std::string& text) {
  Links made;
  made.topic = std::make_shared<const Topic>(text);
  const About about(*a_.comm, made.topic);
  a_.comm->barrier();
  if (!any_ghosts_ && !any_foreign_) made.tag = a_.comm->own_tag();
  return links_.emplace(std::pair(columns, kind), std::move(made)).first->second;
}

template <class V>
HaloContext DistProduct<V>::context(const Plan& plan, std::int64_t entry_bytes, const void* x) {
  HaloContext c{.comm = a_.comm, .plan = plan, .entry_bytes = entry_bytes};
  if (strategy_.empty()) strategy_ = choose_halo(c, x);
  return c;
}

template <class V>
Halo& DistProduct<V>::forward(const Links& links, std::unique_ptr<Halo>& link, const Plan& plan,
                              std::int64_t entry_bytes, const void* x) {
  const ScopedTimer timer(&times_.setup);
  if (!link) {
    const About about(*a_.comm, links.topic);
    const auto c = context(plan, entry_bytes, x);
    link = make_halo(strategy_, c);
  }
  return *link;
}

template <class V>
HaloBack& DistProduct<V>::back(const Links& links, std::unique_ptr<HaloBack>& link, const Plan& plan,
                               std::int64_t entry_bytes, std::string_view strategy) {
  const ScopedTimer timer(&times_.setup);
  if (!link) {
    const About about(*a_.comm, links.topic);
    const auto c = context(plan, entry_bytes, nullptr);
    link = std::make_unique<HaloBack>(strategy == "owners" ? std::string_view(strategy_) : strategy, c);
  }
  return *link;
}

template <class V>
void DistProduct<V>::count(Links& links) {
  const auto add = [&](auto& link) {
    if (!link) return;
    const auto& t = link->times();
    times_.exchange += t.pack + t.wait + t.copy, times_.wait += t.wait;
    times_.sent_bytes += t.sent_bytes, times_.received_bytes += t.received_bytes,
        times_.messages += t.messages;
    link->clear_times();
  };
  add(links.x), add(links.rows), add(links.sums), add(links.ghosts);
}

template <class V>
const void* DistProduct<V>::exchange(const void* x, std::int64_t entry_bytes) {
  if (!any_ghosts_) return nullptr;
  const auto known = links_.find({entry_bytes, -1});
  auto& links =
      known != links_.end()
          ? known->second
          : links_of(entry_bytes, -1, "an exchange of x\nbytes of an entry\t" + std::to_string(entry_bytes));
  auto& halo = forward(links, links.x, a_.plan, entry_bytes, x);
  halo.begin(x, {});
  halo.end({});
  count(links);
  return halo.ghosts();
}

template <class V>
template <Semiring S>
void DistProduct<V>::product(DenseView<const typename S::value_type> x, DenseView<typename S::value_type> y,
                             Scale<S> scale) {
  using T = typename S::value_type;
  require_dense(x, "x", a_.cols(), "columns");
  require_dense(y, "y", a_.rows(), "rows");
  require(x.cols == y.cols,
          "distributed product: x has " + std::to_string(x.cols) + " columns, y " + std::to_string(y.cols));
  if (options_.sums == "reduce" && any_foreign_ && !std::same_as<S, PlusTimes<double>>)
    throw Error(Errc::not_compiled, "sums by reduction are sums of float64: use sums=\"owners\"");
  const auto bytes = x.cols * std::int64_t{sizeof(T)};
  if (bytes == 0) return;
  auto& links = links_of<S>(x.cols, false);
  if (links.tag >= 0) a_.comm->step(links.tag);
  auto* halo = any_ghosts_ ? &forward(links, links.x, a_.plan, bytes, x.data) : nullptr;
  auto* sums = any_foreign_ ? &back(links, links.sums, a_.sums, bytes, options_.sums) : nullptr;
  const ScopedTimer timer(&times_.seconds);
  Steps<S> step{*this, x.cols};
  const auto plain = Scale<S>{scale.alpha};
  if (halo) halo->begin(x.data, {});
  step.local(own_.local, x, y, scale, true);
  const auto theirs = dense(sums ? static_cast<T*>(sums->values()) : nullptr, foreign_.local.rows, x.cols);
  if (theirs.rows) step.local(foreign_.local, x, theirs, plain, false);
  const void* ghosts = nullptr;
  if (halo) halo->end({}), ghosts = halo->ghosts();
  if (sums) step.halo(foreign_, ghosts, theirs, scale.alpha), sums->begin();
  step.halo(own_, ghosts, y, scale.alpha);
  if (sums) sums->template end<S>(y.data, x.cols);
  ++times_.products;
  count(links);
}

template <class V>
template <Semiring S>
void DistProduct<V>::product_transposed(DenseView<const typename S::value_type> x,
                                        DenseView<typename S::value_type> y, Scale<S> scale) {
  using T = typename S::value_type;
  require_dense(x, "x", a_.rows(), "rows");
  require_dense(y, "y", a_.cols(), "columns");
  require(x.cols == y.cols,
          "distributed product: x has " + std::to_string(x.cols) + " columns, y " + std::to_string(y.cols));
  const auto bytes = x.cols * std::int64_t{sizeof(T)};
  if (bytes == 0) return;
  auto& links = links_of<S>(x.cols, true);
  if (links.tag >= 0) a_.comm->step(links.tag);
  auto* rows = any_foreign_ ? &forward(links, links.rows, a_.sums, bytes, x.data) : nullptr;
  auto* sums = any_ghosts_ ? &back(links, links.ghosts, a_.plan, bytes) : nullptr;
  const ScopedTimer timer(&times_.seconds);
  Steps<S> step{*this, x.cols};
  const auto plain = Scale<S>{scale.alpha}, more = Scale<S>{scale.alpha, S::one()};
  if (rows) rows->begin(x.data, {});
  if (sums) step.transposed_halo(own_, x, sums->values(), plain);
  if (sums && !rows) sums->begin();
  step.transposed(own_.local, x, y, scale, &times_.local);
  if (rows) {
    rows->end({});
    const auto theirs = dense(static_cast<const T*>(rows->ghosts()), foreign_.local.rows, x.cols);
    if (sums) step.transposed_halo(foreign_, theirs, sums->values(), more), sums->begin();
    step.transposed(foreign_.local, theirs, y, more, &times_.local);
  }
  if (sums) sums->template end<S>(y.data, x.cols);
  ++times_.products;
  count(links);
}

template <class V>
template <Semiring S>
void DistProduct<V>::multiply(std::span<const typename S::value_type> x, std::span<typename S::value_type> y,
                              Scale<S> scale) {
  product<S>(dense(x.data(), std::ssize(x), 1), dense(y.data(), std::ssize(y), 1), scale);
}
template <class V>
template <Semiring S>
void DistProduct<V>::multiply_transposed(std::span<const typename S::value_type> x,
                                         std::span<typename S::value_type> y, Scale<S> scale) {
  product_transposed<S>(dense(x.data(), std::ssize(x), 1), dense(y.data(), std::ssize(y), 1), scale);
}
template <class V>
template <Semiring S>
void DistProduct<V>::multiply_columns(DenseView<const typename S::value_type> x,
                                      DenseView<typename S::value_type> y, Scale<S> scale) {
  product<S>(x, y, scale);
}
template <class V>
template <Semiring S>
void DistProduct<V>::multiply_columns_transposed(DenseView<const typename S::value_type> x,
                                                 DenseView<typename S::value_type> y, Scale<S> scale) {
  product_transposed<S>(x, y, scale);
}

template <class V>
SpmvAlgorithm DistProduct<V>::prepare(SpmvAlgorithm wish) {
  return plans_->prepare(own_.local.view(), wish);
}

template class DistProduct<One>;
template class DistProduct<float>;
template class DistProduct<double>;
#define X(S, V)                                                                                       \
  template void DistProduct<V>::multiply<S>(std::span<const S::value_type>, std::span<S::value_type>, \
                                            Scale<S>);                                                \
  template void DistProduct<V>::multiply_transposed<S>(std::span<const S::value_type>,                \
                                                       std::span<S::value_type>, Scale<S>);           \
  template void DistProduct<V>::multiply_columns<S>(DenseView<const S::value_type>,                   \
                                                    DenseView<S::value_type>, Scale<S>);              \
  template void DistProduct<V>::multiply_columns_transposed<S>(DenseView<const S::value_type>,        \
                                                               DenseView<S::value_type>, Scale<S>);
PENSTOCK_FOR_EACH_DIST(X)
#undef X

}  // namespace penstock
