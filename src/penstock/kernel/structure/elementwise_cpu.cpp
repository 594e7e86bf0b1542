// Union, intersection and difference of sorted rows, in one pass over ranges of rows. A few ranges for each thread are merged
// at a time, each into memory of its own in the cache; then it is known where they begin in the result, and they are copied
// there. The merge has no branches on the data, which a processor could not predict: each step takes the smaller column and
// moves on in A, in B or in both. Rows with equal columns, the usual case of A + B, need no merge.
#include "penstock/kernel/structure/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {
namespace {

enum class Keep { either, both, left };
constexpr std::int64_t kRangesAThread = 8;
// If a row is so many times shorter than the other one, its entries are searched for in the longer row.
constexpr std::int64_t kLopsided = 32;

template <class V>
constexpr bool is_complex = std::same_as<V, Complex64> || std::same_as<V, Complex128>;

/// The value of (take ? v : other), without a branch.
template <class V>
V pick(bool take, V v, V other) {
  if constexpr (is_complex<V>) {
    return {pick(take, v.real(), other.real()), pick(take, v.imag(), other.imag())};
  } else {
    using Bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
    const auto mask = static_cast<Bits>(-static_cast<Bits>(take));
    return std::bit_cast<V>((std::bit_cast<Bits>(v) & mask) | (std::bit_cast<Bits>(other) & ~mask));
  }
}

template <class V>
struct Plus {
  static constexpr V neutral() { return V(); }
  static V of(V a, V b) { return a + b; }
};
template <class V>
struct Minus {
  static constexpr V neutral() { return V(); }
  static V of(V a, V b) { return a - b; }
};
template <class V>
struct Min {
  static constexpr V neutral() { return std::numeric_limits<V>::infinity(); }
  static V of(V a, V b) { return b < a ? b : a; }
};
template <class V>
struct Max {
  static constexpr V neutral() { return -std::numeric_limits<V>::infinity(); }
  static V of(V a, V b) { return a < b ? b : a; }
};
template <class V>
struct Times {
  static constexpr V neutral() { return V(); }
  static V of(V a, V b) {
    // The formula is written out, because the library's operator checks for infinities.
    if constexpr (is_complex<V>)
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    else return a * b;
  }
};
struct Left {};  // the operation that takes A's value; B has none

/// One row of each matrix, with values.
template <class V>
struct Rows {
  const Index *a, *b;
  std::int64_t na, nb;
  const V *av = nullptr, *bv = nullptr;
};

/// Calls f(i) for every entry i of the short row that the long row has, too. Both are sorted.
template <class F>
void search(const Index* few, std::int64_t n, const Index* many, std::int64_t m, F&& f) {
  const auto* const end = many + m;
  for (std::int64_t i = 0; i < n; ++i) {
    many = std::lower_bound(many, end, few[i]);
    if (many == end) return;
    if (*many == few[i]) f(i, many);
  }
}

/// The value of an entry that only A, only B, or both have.
template <class Op, class V>
V combine(bool in_a, bool in_b, V x, V y) {
  if constexpr (std::same_as<Op, Left>) return x;
  else return Op::of(pick(in_a, x, Op::neutral()), pick(in_b, y, Op::neutral()));
}

/// Merges two rows into `columns` and `values`, which have room for the entries of both, and returns how many entries there
/// are.
template <Keep K, class Op, class V>
std::int64_t merge_row(const Rows<V>& in, Index* columns, V* values) {
  constexpr bool kReadsB = !is_pattern<V> && !std::same_as<Op, Left>;
  const auto value = [&](std::int64_t at, bool in_a, bool in_b, std::int64_t i, std::int64_t j) {
    if constexpr (kReadsB) values[at] = combine<Op>(in_a, in_b, in.av[i], in.bv[j]);
    else if constexpr (!is_pattern<V>) values[at] = in.av[i];
  };
  if (in.na == in.nb && std::equal(in.a, in.a + in.na, in.b)) {
    if (K == Keep::left) return 0;
    std::copy_n(in.a, in.na, columns);
    if constexpr (kReadsB)
      for (std::int64_t i = 0; i < in.na; ++i) values[i] = Op::of(in.av[i], in.bv[i]);
    else if constexpr (!is_pattern<V>) std::copy_n(in.av, in.na, values);
    return in.na;
  }
  std::int64_t at = 0, i = 0, j = 0;
  if (K == Keep::both && in.nb > kLopsided * in.na) {
    search(in.a, in.na, in.b, in.nb, [&](std::int64_t k, const Index* match) {
      columns[at] = in.a[k];
      value(at++, true, true, k, match - in.b);
    });
    return at;
  }
  if (K == Keep::both && in.na > kLopsided * in.nb) {
    search(in.b, in.nb, in.a, in.na, [&](std::int64_t k, const Index* match) {
      columns[at] = in.b[k];
      value(at++, true, true, match - in.a, k);
    });
    return at;
  }
  while (i < in.na && j < in.nb) {
    const auto x = in.a[i], y = in.b[j];
    columns[at] = x < y ? x : y;
    value(at, x <= y, y <= x, i, j);
    // An entry that is not kept is overwritten by the next one.
    at += K == Keep::either ? 1 : K == Keep::both ? x == y : x < y;
    i += x <= y, j += y <= x;
  }
  if constexpr (K == Keep::both) return at;
  for (; i < in.na; ++at, ++i) {
    columns[at] = in.a[i];
    if constexpr (!is_pattern<V>) values[at] = in.av[i];
  }
  if constexpr (K == Keep::either)
    for (; j < in.nb; ++at, ++j) {
      columns[at] = in.b[j];
      if constexpr (kReadsB) values[at] = Op::of(Op::neutral(), in.bv[j]);
    }
  return at;
}

template <class V, class W>
void check_shapes(const Csr<V>& a, const Csr<W>& b) {
  const auto shape = [](const auto& m) { return std::to_string(m.rows) + " x " + std::to_string(m.cols); };
  require(a.rows == b.rows && a.cols == b.cols,
          "the matrices are " + shape(a) + " and " + shape(b) + ": entry by entry needs equal shapes");
}

/// The merged entries of one range of rows.
template <class V>
struct Scratch {
  std::vector<Index> columns;
  std::vector<V> values;
  Offset size = 0, begin = 0;

  void reserve(Offset room) {
    size = 0;
    if (std::ssize(columns) >= room) return;
    columns.resize(static_cast<std::size_t>(room));
    if constexpr (!is_pattern<V>) values.resize(static_cast<std::size_t>(room));
  }
};

template <Keep K, class Op, class V, class W>
Csr<V> merge(const Csr<V>& a, const Csr<W>& b) {
  check_shapes(a, b);
  const auto starts =
      row_ranges(a.rows, [&](std::int64_t r) { return a.indptr.data[r] + b.indptr.data[r] + r; });
  const auto most = K == Keep::either ? a.nnz() + b.nnz()
                    : K == Keep::both ? std::min(a.nnz(), b.nnz())
                                      : a.nnz();
  const auto indptr = allocate<Offset>(a.rows + 1);
  const auto columns = allocate<Index>(most);  // memory that stays unused is never touched
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(most);
  indptr.data[0] = 0;
  const auto ranges = std::ssize(starts) - 1;
  const auto at_once = std::min<std::int64_t>(ranges, kRangesAThread * num_threads());
  std::vector<Scratch<V>> merged(static_cast<std::size_t>(at_once));
  Offset nnz = 0;
  for (std::int64_t done = 0; done < ranges; done += at_once) {
    const auto now = std::min(at_once, ranges - done);
    const auto first_row = [&](std::int64_t i) { return starts[static_cast<std::size_t>(done + i)]; };
    parallel_for(now, [&](std::int64_t i) {
      auto& out = merged[static_cast<std::size_t>(i)];
      const auto first = first_row(i), last = first_row(i + 1);
      out.reserve(a.indptr.data[last] - a.indptr.data[first] + b.indptr.data[last] - b.indptr.data[first]);
      for (auto r = first; r < last; ++r) {
        const auto ka = a.indptr.data[r], kb = b.indptr.data[r];
        Rows<V> rows{a.indices.data + ka, b.indices.data + kb, a.indptr.data[r + 1] - ka,
                     b.indptr.data[r + 1] - kb};
        if constexpr (!is_pattern<V>) rows.av = a.values.data + ka;
        if constexpr (!is_pattern<W>) rows.bv = b.values.data + kb;
        out.size += merge_row<K, Op>(rows, out.columns.data() + out.size, out.values.data() + out.size);
        indptr.data[r + 1] = out.size;
      }
    });
    for (std::int64_t i = 0; i < now; ++i) {
      auto& out = merged[static_cast<std::size_t>(i)];
      out.begin = nnz;
      nnz += out.size;
    }
    parallel_for(now, [&](std::int64_t i) {
      const auto& out = merged[static_cast<std::size_t>(i)];
      for (auto r = first_row(i); r < first_row(i + 1); ++r) indptr.data[r + 1] += out.begin;
      std::copy_n(out.columns.data(), out.size, columns.data + out.begin);
      if constexpr (!is_pattern<V>) std::copy_n(out.values.data(), out.size, values.data + out.begin);
    });
  }
  Csr<V> out{a.rows, a.cols, indptr, detail::trimmed(columns, nnz), {}};
  if constexpr (!is_pattern<V>) out.values = detail::trimmed(values, nnz);
  return out;
}

}  // namespace

template <class V>
Csr<V> join(const Csr<V>& a, const Csr<V>& b, Join op) {
  if constexpr (is_pattern<V>) {
    return merge<Keep::either, Left>(a, b);
  } else {
    if (op == Join::plus) return merge<Keep::either, Plus<V>>(a, b);
    if (op == Join::minus) return merge<Keep::either, Minus<V>>(a, b);
    if constexpr (is_complex<V>) {
      throw Error(Errc::invalid_argument,
                  "the smaller or larger of two values: complex numbers have no order");
    } else {
      return op == Join::min ? merge<Keep::either, Min<V>>(a, b) : merge<Keep::either, Max<V>>(a, b);
    }
  }
}

template <class V>
Csr<V> multiply(const Csr<V>& a, const Csr<V>& b) {
  if constexpr (is_pattern<V>) return merge<Keep::both, Left>(a, b);
  else return merge<Keep::both, Times<V>>(a, b);
}

template <class V>
Csr<V> mask(const Csr<V>& a, const Csr<One>& m, bool complement) {
  return complement ? merge<Keep::left, Left>(a, m) : merge<Keep::both, Left>(a, m);
}

#define X(V)                                                \
  template Csr<V> join(const Csr<V>&, const Csr<V>&, Join); \
  template Csr<V> multiply(const Csr<V>&, const Csr<V>&);   \
  template Csr<V> mask(const Csr<V>&, const Csr<One>&, bool);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
