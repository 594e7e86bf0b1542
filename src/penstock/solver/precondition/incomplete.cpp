// Incomplete factors with A's own pattern: ILU(0) and IC(0) (Meijerink & van der Vorst 1977; Saad 2003, section 10.3). They are
// kept as unit triangles and a diagonal, A ~ L D U, so that the solves need no division. Rows are factored and solved in the
// order of TriangleOrder: in chunks, or by blocks where entries between blocks were left out.
#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/solver/precondition/device_factors.hpp"
#include "penstock/solver/precondition/levels.hpp"
#include "penstock/solver/precondition/preconditioners.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLook = 1024;        // rows between two looks for Ctrl-C, where one thread works alone
constexpr std::int64_t kFactorRows = 4096;  // rows of a task

/// A copy of A that has been checked: square, rows sorted without duplicates, with every diagonal entry.
struct Sorted {
  std::int64_t rows = 0;
  std::vector<Offset> indptr, diagonal;
  std::vector<Index> indices;
  std::vector<double> values;
  std::vector<double> largest;  // largest absolute value of each row, before the shift
};

std::vector<std::int64_t> cut(std::int64_t rows, std::int64_t blocks) {
  std::vector<std::int64_t> starts;
  for (std::int64_t b = 0; b <= blocks; ++b) starts.push_back(rows * b / blocks);
  return starts;
}

template <class V>
Sorted sorted_copy(const Csr<V>& a, const std::vector<std::int64_t>& starts, bool lower_only, double shift) {
  const auto view = a.view();
  struct Part {
    std::vector<Index> indices;
    std::vector<double> values;
    std::vector<Offset> ends, diagonal;
  };
  std::vector<Part> parts(static_cast<std::size_t>((a.rows + kFactorRows - 1) / kFactorRows));
  Sorted s;
  s.rows = a.rows;
  s.largest.resize(static_cast<std::size_t>(a.rows));
  parallel_ranges(a.rows, kFactorRows, [&](std::int64_t first, std::int64_t last) {
    auto& part = parts[static_cast<std::size_t>(first / kFactorRows)];
    std::vector<std::pair<Index, double>> row;
    auto block = std::upper_bound(starts.begin(), starts.end(), first) - 1;
    for (auto i = first; i < last; ++i) {
      while (*(block + 1) <= i) ++block;
      row.assign(1, {static_cast<Index>(i), 0.0});
      double largest = 0;
      for (auto k = view.indptr[i]; k < view.indptr[i + 1]; ++k) {
        double v = 1;
        if constexpr (!is_pattern<V>) v = static_cast<double>(view.values[k]);
        largest = std::max(largest, std::abs(v));
        const auto j = view.indices[k];
        if (j >= *block && j < *(block + 1) && !(lower_only && j > i)) row.emplace_back(j, v);
      }
      std::stable_sort(row.begin(), row.end(),
                       [](const auto& x, const auto& y) { return x.first < y.first; });
      for (std::size_t k = 0; k < row.size();) {
        const auto j = row[k].first;
        double v = j == i ? shift * largest : 0;
        for (; k < row.size() && row[k].first == j; ++k) v += row[k].second;
        if (j == i) part.diagonal.push_back(std::ssize(part.indices));
        part.indices.push_back(j), part.values.push_back(v);
      }
      part.ends.push_back(std::ssize(part.indices));
      s.largest[static_cast<std::size_t>(i)] = largest;
    }
  });
  s.indptr.assign(1, 0);
  for (auto& part : parts) {
    poll_interrupt();
    const auto base = std::ssize(s.indices);
    for (const auto e : part.ends) s.indptr.push_back(base + e);
    for (const auto d : part.diagonal) s.diagonal.push_back(base + d);
    s.indices.insert(s.indices.end(), part.indices.begin(), part.indices.end());
    s.values.insert(s.values.end(), part.values.begin(), part.values.end());
    part = {};
  }
  return s;
}

/// A unit triangle, rows in the order in which they are solved.
template <class T>
struct Triangle {
  TriangleOrder order;
  std::vector<Offset> starts;  // where the row at each position begins
  std::vector<Index> indices;
  std::vector<T> values;

  std::int64_t bytes() const {
    return std::ssize(starts) * static_cast<std::int64_t>(sizeof(Offset)) +
           std::ssize(indices) * static_cast<std::int64_t>(sizeof(Index) + sizeof(T));
  }
  HostTriangle<T> view() const {
    return {.rows = order.rows(),
            .backward = order.backward(),
            .starts = starts.data(),
            .indices = indices.data(),
            .values = values.data()};
  }
};

/// z[i] = scale[i] in[i] - sum of the row times z; `scale` may be null. in and z may be the same.
template <class T>
void solve_rows(const Triangle<T>& t, const T* scale, const T* in, T* z, std::int64_t first,
                std::int64_t last) {
  const Index* indices = t.indices.data();
  const T* values = t.values.data();
  for (auto p = first; p < last; ++p) {
    const auto i = t.order.row(p);
    T sum = scale ? scale[i] * in[i] : in[i];
    for (auto k = t.starts[static_cast<std::size_t>(p)], end = t.starts[static_cast<std::size_t>(p) + 1];
         k < end; ++k)
      sum -= values[k] * z[indices[k]];
    z[i] = sum;
  }
}

/// A triangle of entries [begin(i), end(i)) of each row i of `s`, with values value(k, i), in the order given.
template <class T, class Begin, class End, class Value>
Triangle<T> take(const Sorted& s, TriangleOrder order, Begin begin, End end, Value value) {
  Triangle<T> t;
  t.order = std::move(order);
  t.starts.assign(1, 0);
  for (std::int64_t p = 0; p < s.rows; ++p) {
    if (p % kLook == 0) poll_interrupt();
    const auto i = t.order.row(p);
    t.starts.push_back(t.starts.back() + end(i) - begin(i));
  }
  t.indices.resize(static_cast<std::size_t>(t.starts.back()));
  t.values.resize(t.indices.size());
  parallel_ranges(s.rows, kFactorRows, [&](std::int64_t first, std::int64_t last) {
    for (auto p = first; p < last; ++p) {
      const auto i = t.order.row(p);
      auto to = static_cast<std::size_t>(t.starts[static_cast<std::size_t>(p)]);
      for (auto k = begin(i); k < end(i); ++k, ++to) {
        t.indices[to] = s.indices[static_cast<std::size_t>(k)];
        t.values[to] = static_cast<T>(value(k, i));
      }
    }
  });
  return t;
}

template <class T>
struct Factors {
  Triangle<T> lower, upper;
  std::vector<T> inverse;  // the inverse of D

  static LinearOp<T> as_op(std::int64_t rows, Factors factors) {
    auto f = std::make_shared<Factors>(std::move(factors));
    LinearOp<T> op;
    op.rows = rows;
    op.apply = [f](std::span<const T> r, std::span<T> z) {
      f->lower.order.run([&](auto a, auto b) { solve_rows<T>(f->lower, nullptr, r.data(), z.data(), a, b); });
      f->upper.order.run(
          [&](auto a, auto b) { solve_rows<T>(f->upper, f->inverse.data(), z.data(), z.data(), a, b); });
    };
    op.matrix_bytes = [f] {
      return f->lower.bytes() + f->upper.bytes() + std::ssize(f->inverse) * std::int64_t(sizeof(T));
    };
    op.on_device = device_factors<T>(f, f->lower.view(), f->upper.view(), f->inverse);
    return op;
  }
};

/// The first row whose pivot failed, and the pivot.
struct Fault {
  std::atomic<std::int64_t> row = std::numeric_limits<std::int64_t>::max();
  void report(std::int64_t i) {
    auto seen = row.load();
    while (i < seen && !row.compare_exchange_weak(seen, i)) {}
  }
  bool any() const { return row != std::numeric_limits<std::int64_t>::max(); }
};

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

template <class V>
void check(const Csr<V>& a, const FactorOptions& o, const std::string& name) {
  require(a.rows == a.cols, name + ": the matrix is not square");
  require(o.shift >= 0 && std::isfinite(o.shift),
          name + ": shift=" + number(o.shift) + " is negative or not finite");
  require(o.blocks >= 1 && o.blocks <= std::max<std::int64_t>(a.rows, 1),
          name + ": blocks=" + std::to_string(o.blocks) + " is not in 1 .. " + std::to_string(a.rows));
}

constexpr double kZeroPivot = 1e-14;  // a pivot below this part of its row's largest entry is rounding

}  // namespace

template <class T, class V>
LinearOp<T> ilu0(const Csr<V>& a, const FactorOptions& o) {
  check(a, o, "ILU0");
  const auto starts = cut(a.rows, o.blocks);
  auto s = sorted_copy(a, starts, false, o.shift);
  const auto row = [&](auto i) { return s.indptr[static_cast<std::size_t>(i)]; };
  const auto diagonal = [&](auto i) { return s.diagonal[static_cast<std::size_t>(i)]; };
  const auto end = [&](auto i) { return s.indptr[static_cast<std::size_t>(i) + 1]; };
  const auto above = [&](auto i) { return diagonal(i) + 1; };
  const auto column = [&](Offset k) { return s.indices[static_cast<std::size_t>(k)]; };
  const auto value = [&](Offset k) -> double& { return s.values[static_cast<std::size_t>(k)]; };
  TriangleOrder forward(a.rows, starts, false, [&](std::int64_t i, auto&& f) {
    for (auto k = row(i); k < diagonal(i); ++k) f(column(k));
  });
  Fault fault;
  forward.run([&](std::int64_t first, std::int64_t last) {
    for (auto p = first; p < last; ++p) {
      if (p % kLook == 0) poll_interrupt();
      const auto i = forward.row(p);
      for (auto e = row(i); e < diagonal(i); ++e) {  // row i -= l_ik row k, on row i's entries
        const auto k = column(e);
        const double l = value(e) /= value(diagonal(k));
        auto mine = e + 1;
        for (auto theirs = above(k); theirs < end(k) && mine < end(i);) {
          const auto j = column(theirs), here = column(mine);
          if (here < j) ++mine;
          else if (here > j) ++theirs;
          else value(mine++) -= l * value(theirs++);
        }
      }
      auto& pivot = value(diagonal(i));
      if (!(std::abs(pivot) > kZeroPivot * s.largest[static_cast<std::size_t>(i)]) || !std::isfinite(pivot)) {
        fault.report(i);
        pivot = 1;
      }
    }
  });
  if (fault.any())
    throw Error(Errc::invalid_argument,
                "ILU0: the pivot of row " + std::to_string(fault.row) +
                    " is zero or not finite: give shift=1e-3 or more (a fraction of each row's "
                    "largest entry, added to the diagonal), or reorder the matrix");
  TriangleOrder backward(a.rows, starts, true, [&](std::int64_t i, auto&& f) {
    for (auto k = above(i); k < end(i); ++k) f(column(k));
  });
  Factors<T> f;
  f.inverse.resize(static_cast<std::size_t>(a.rows));
  for (std::int64_t i = 0; i < a.rows; ++i)
    f.inverse[static_cast<std::size_t>(i)] = static_cast<T>(1 / value(diagonal(i)));
  f.lower = take<T>(s, std::move(forward), row, diagonal, [&](Offset k, std::int64_t) { return value(k); });
  f.upper = take<T>(s, std::move(backward), above, end,
                    [&](Offset k, std::int64_t i) { return value(k) / value(diagonal(i)); });
  return Factors<T>::as_op(a.rows, std::move(f));
}

template <class T, class V>
LinearOp<T> ic0(const Csr<V>& a, const FactorOptions& o) {
  check(a, o, "IC0");
  const auto starts = cut(a.rows, o.blocks);
  auto s = sorted_copy(a, starts, true, o.shift);
  const auto row = [&](auto i) { return s.indptr[static_cast<std::size_t>(i)]; };
  const auto diagonal = [&](auto i) { return s.diagonal[static_cast<std::size_t>(i)]; };
  const auto column = [&](Offset k) { return s.indices[static_cast<std::size_t>(k)]; };
  const auto value = [&](Offset k) -> double& { return s.values[static_cast<std::size_t>(k)]; };
  TriangleOrder forward(a.rows, starts, false, [&](std::int64_t i, auto&& f) {
    for (auto k = row(i); k < diagonal(i); ++k) f(column(k));
  });
  Fault fault;
  // While row i is computed its entries are l_ij d_j; at the end they become l_ij.
  forward.run([&](std::int64_t first, std::int64_t last) {
    for (auto p = first; p < last; ++p) {
      if (p % kLook == 0) poll_interrupt();
      const auto i = forward.row(p);
      double pivot = value(diagonal(i));
      for (auto e = row(i); e < diagonal(i); ++e) {
        const auto j = column(e);
        double sum = value(e);
        auto mine = row(i);
        for (auto theirs = row(j); theirs < diagonal(j) && mine < e;) {
          const auto k = column(theirs), here = column(mine);
          if (here < k) ++mine;
          else if (here > k) ++theirs;
          else sum -= value(mine++) * value(theirs++);
        }
        value(e) = sum;
      }
      for (auto e = row(i); e < diagonal(i); ++e) {
        const double scaled = value(e);
        value(e) = scaled / value(diagonal(column(e)));
        pivot -= scaled * value(e);
      }
      if (!(pivot > kZeroPivot * s.largest[static_cast<std::size_t>(i)]) || !std::isfinite(pivot)) {
        fault.report(i);
        pivot = 1;
      }
      value(diagonal(i)) = pivot;
    }
  });
  if (fault.any())
    throw Error(Errc::invalid_argument,
                "IC0: the pivot of row " + std::to_string(fault.row) +
                    " is not positive: the matrix is not positive definite, or its incomplete factor "
                    "is not; give shift=1e-3 or more (a fraction of each row's largest entry, added "
                    "to the diagonal), or use ILU0");
  Factors<T> f;
  f.inverse.resize(static_cast<std::size_t>(a.rows));
  for (std::int64_t i = 0; i < a.rows; ++i)
    f.inverse[static_cast<std::size_t>(i)] = static_cast<T>(1 / value(diagonal(i)));
  // The rows of L^T.
  Sorted turned;
  turned.rows = a.rows;
  turned.indptr.assign(static_cast<std::size_t>(a.rows) + 1, 0);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (i % kLook == 0) poll_interrupt();
    for (auto k = row(i); k < diagonal(i); ++k) ++turned.indptr[static_cast<std::size_t>(column(k)) + 1];
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) turned.indptr[i + 1] += turned.indptr[i];
  turned.indices.resize(static_cast<std::size_t>(turned.indptr.back()));
  turned.values.resize(turned.indices.size());
  auto next = turned.indptr;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    if (i % kLook == 0) poll_interrupt();
    for (auto k = row(i); k < diagonal(i); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(column(k))]++);
      turned.indices[to] = static_cast<Index>(i), turned.values[to] = value(k);
    }
  }
  const auto begin = [&](auto i) { return turned.indptr[static_cast<std::size_t>(i)]; };
  const auto end = [&](auto i) { return turned.indptr[static_cast<std::size_t>(i) + 1]; };
  TriangleOrder backward(a.rows, starts, true, [&](std::int64_t i, auto&& g) {
    for (auto k = begin(i); k < end(i); ++k) g(turned.indices[static_cast<std::size_t>(k)]);
  });
  f.lower = take<T>(s, std::move(forward), row, diagonal, [&](Offset k, std::int64_t) { return value(k); });
  f.upper = take<T>(turned, std::move(backward), begin, end,
                    [&](Offset k, std::int64_t) { return turned.values[static_cast<std::size_t>(k)]; });
  return Factors<T>::as_op(a.rows, std::move(f));
}

#define X(T, V)                                                         \
  template LinearOp<T> ilu0<T, V>(const Csr<V>&, const FactorOptions&); \
  template LinearOp<T> ic0<T, V>(const Csr<V>&, const FactorOptions&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

}  // namespace penstock
