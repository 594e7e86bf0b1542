#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "penstock/kernel/spgemm/spgemm.hpp"
#include "penstock/kernel/spgemm/spgemm_few.hpp"
#include "penstock/kernel/spgemm/spgemm_scan.hpp"
#include "penstock/kernel/spgemm/spgemm_scratch.hpp"
#include "penstock/kernel/spgemm/spgemm_sort.hpp"
#include "penstock/kernel/spgemm/spgemm_tiny.hpp"

// Computes one row of C = A B by Gustavson's algorithm (ACM TOMS 4, 1978): the rows of B that the entries of A's row name are
// scaled and added up. The way to add depends on the number of the row's products and on the window of columns in which they
// may fall:
//
//   copy    the row has one entry: its row of B is copied, and there is nothing to add
//   merge   there are at most 16 products: all are listed, ranked by comparing every pair, and added in their places. With AVX2,
//           but not AVX-512, at most 64: they are sorted in registers, over plus_times many rows at a time (spgemm_few.hpp)
//   list    with AVX2, but not AVX-512, and at most 512 products in a wide window: as dense, but the columns that are met are
//           listed, and the list is sorted in registers
//   dense   every column of the window has a sum and a flag; used if that fits the second-level cache, or if the products are
//           a large share of the window. The flags give the columns in order, without sorting
//   hash    used otherwise: open addressing in a table that fits the first-level cache for most rows, and a radix sort of the
//           columns (after Nagasaka, Matsuoka, Azad, Buluc, Parallel Computing 90, 2019)
//   repeat  A's row is the row above moved by one, and so are the rows of B that it names (PDEs, bands): the columns are those
//           of the row above plus one, and every product is added where its counterpart above was added
namespace penstock {

template <Semiring S, class V>
class RowProduct {
 public:
  using T = typename S::value_type;
  static constexpr bool kNumbers = !PatternSemiring<S>;
  static constexpr bool kDropsZeros = kNumbers && BooleanSemiring<S>;  // sums of ones that are 0

  RowProduct(const CsrView<T>& a, const CsrView<V>& b, const SpgemmOptions& options, RowScratch<T>& scratch,
             const Repeats* repeats = nullptr)
      : a_(a), b_(b), options_(options), scratch_(scratch), repeats_(repeats), entries_(a.nnz()) {}

  /// Tells it that rows [first, last) come next. If neighbouring rows of A name rows of B that are far apart, these are
  /// prefetched. If they name neighbours, prefetching is left out: it would cost a 2-D Laplacian 6 % of its time.
  void expect(std::int64_t first, std::int64_t last) {
    constexpr std::int64_t kSampled = 32, kNear = 512;
    std::int64_t near = 0, far = 0;
    for (auto row = first; row + 1 < std::min(last, first + kSampled); ++row) {
      const auto e = a_.indptr[row] - a_.first_nnz, next = a_.indptr[row + 1] - a_.first_nnz;
      if (e == next || next >= entries_) continue;
      ++(std::abs(std::int64_t{a_.indices[next]} - a_.indices[e]) < kNear ? near : far);
    }
    scattered_ = far > near;
  }

  /// Writes rows [first, last) of C, and where each of them ends. `products` are the offsets of products: entry first is not
  /// read, as `before` has it.
  template <class Buffer>
  void run_rows(std::int64_t first, std::int64_t last, Offset before, const Offset* products,
                Buffer& buffer) {
    expect(first, last);
    auto* const ends = buffer.ends.data() - first;
    auto& n = buffer.count;
    if constexpr (kVectors) {
      static const auto few = few_rows_kernel<T>();
      if (few && options_.accumulator == Accumulator::automatic && !options_.mask && !repeats_ &&
          b_.cols <= kFewColumns) {
        const auto p = few_rows(products, buffer.columns, buffer.values, ends);
        for (auto row = few(p, first, last, before, n); row < last; row = few(p, row, last, before, n)) {
          ends[row] = n += run(row, buffer.columns + n, buffer.values + n);
          before = products[++row];
        }
        return;
      }
    }
    for (auto row = first; row < last; ++row)
      ends[row] = n += run(row, buffer.columns + n, kNumbers ? buffer.values + n : nullptr);
  }

  /// Writes row `row` of C to columns[0 ..) and values[0 ..), with ascending columns, and returns the number of its entries.
  /// There is room for the row's products or for b.cols entries, whichever is less. If the row above was computed just before,
  /// it ends where this row begins.
  Offset run(std::int64_t row, Index* columns, T* values) {
    first_ = a_.indptr[row] - a_.first_nnz, last_ = a_.indptr[row + 1] - a_.first_nnz;
    if constexpr (kDropsZeros) return without_zeros(columns, values, computed(row, columns, values));
    if (!repeats_) return computed(row, columns, values);
    if (row == above_ + 1 && repeats_->a.data[row] && moved()) {
      above_ = row;
      return repeated(columns, values);
    }
    above_count_ = computed(row, columns, values);
    above_ = products_ <= kMostPlaces ? row : -2, placed_ = false;
    return above_count_;
  }

 private:
  Offset computed(std::int64_t row, Index* columns, T* values) {
    look();
    if (products_ == 0) return 0;
    if (options_.mask) return masked(row, columns, values);
    switch (options_.accumulator) {
      case Accumulator::merge: return sorted(columns, values);
      case Accumulator::hash: return hashed(columns, values);
      case Accumulator::dense: return dense(columns, values);
      case Accumulator::automatic: break;
    }
    if (lists_ == 1 && options_.ascending) return copied(columns, values);
    const auto window = high_ - low_ + 1;
    static const auto few = few_sort();
    if (few && products_ <= kFew && window <= kFewColumns) return sorted_few(few, columns, values);
    if (products_ <= kTiny) return tiny(columns, values);
    if (few && products_ <= kListed && products_ * kSparse < window && window <= kDenseWindow)
      return listed(few, columns, values);
    if (window <= kDenseWindow || products_ >= window / kDenseShare) return dense(columns, values);
    return hashed(columns, values);
  }

  static Offset without_zeros(Index* columns, T* values, Offset count) {
    Offset out = 0;
    for (Offset i = 0; i < count; ++i)
      if (values[i] != S::zero()) columns[out] = columns[i], values[out++] = values[i];
    return out;
  }

  bool moved() const {
    std::uint8_t all = 1;
    for (auto e = first_; e < last_; ++e) all &= repeats_->b.data[a_.indices[e]];
    return all != 0;
  }

  /// A row that repeats the row above, which is in columns[-above_count_ ..).
  Offset repeated(Index* columns, T* values) {
    const auto count = above_count_;
    const auto* above = columns - count;
    if constexpr (kNumbers) {
      if (!placed_) {
        RowScratch<T>::grow(scratch_.places, products_);
        auto* place = scratch_.places.data;
        each([&](Index c, T) {
          *place++ = static_cast<std::uint16_t>(std::lower_bound(above, above + count, c - 1) - above);
        });
        placed_ = true;
      }
      std::fill_n(values, count, S::zero());
      const auto* place = scratch_.places.data;
      for (auto e = first_; e < last_; ++e) {
        const auto a = factor(e);
        for (auto k = begin(e), stop = end(e); k < stop; ++k) {
          auto& sum = values[*place++];
          sum = S::add(sum, product(a, b_.values, k));
        }
      }
    }
    for (Offset i = 0; i < count; ++i) columns[i] = above[i] + 1;
    return count;
  }

  static constexpr Offset kMostPlaces = 1 << 12;
  static constexpr std::int64_t kDenseWindow = (std::int64_t{4} << 20) / (sizeof(T) + 1);
  static constexpr std::int64_t kDenseShare = 8;
  // A window of more columns than this for each product is listed. The squares of t2dah_e and xenon1 take the same time either way,
  // those of cage10 and wiki-Vote 0.7 of the time with a list, and a uniform one of 200,000 columns a third.
  static constexpr Offset kSparse = 8;
  static constexpr Offset kFar = 32, kNear = 16;  // entries of A between a prefetch and its use
  static constexpr Offset kAhead = 4;             // how many rows of B ahead are prefetched

  static T product(T a, [[maybe_unused]] const V* v, [[maybe_unused]] Offset k) {
    if constexpr (!kNumbers) return T(1);
    else return S::mul(a, entry<S>(v, k));
  }
  T factor(Offset e) const {
    if constexpr (!kNumbers) return T(1);
    else return a_.values ? a_.values[e] : T(1);
  }
  Offset begin(Offset e) const { return b_.indptr[a_.indices[e]] - b_.first_nnz; }
  Offset end(Offset e) const { return b_.indptr[a_.indices[e] + 1] - b_.first_nnz; }

  /// Counts the row's products and bounds their columns.
  void look() {
    products_ = 0, lists_ = 0, low_ = 0, high_ = b_.cols - 1;
    std::int64_t low = b_.cols, high = 0;
    for (auto e = first_; e < last_; ++e) {
      // The entries ahead may be those of later rows, which then find their offsets in the cache.
      if (scattered_ && e + kFar < entries_) {
        __builtin_prefetch(b_.indptr + a_.indices[e + kFar]);
        const auto next = begin(e + kNear);
        __builtin_prefetch(b_.indices + next);
        if constexpr (!is_pattern<V>) __builtin_prefetch(b_.values + next);
      }
      const auto k = begin(e), stop = end(e);
      if (k == stop) continue;
      products_ += stop - k, ++lists_, list_ = e;
      low = std::min<std::int64_t>(low, b_.indices[k]);
      high = std::max<std::int64_t>(high, b_.indices[stop - 1]);
    }
    if (options_.ascending && lists_ > 0) low_ = low, high_ = high;
  }

  /// Calls f(column, product) for every product, in the order of A's row.
  template <class F>
  void each(F&& f) const {
    const auto* __restrict columns = b_.indices;
    for (auto e = first_; e < last_; ++e) {
      if (e + kAhead < last_) {
        const auto next = begin(e + kAhead);
        __builtin_prefetch(columns + next);
        if constexpr (!is_pattern<V>) __builtin_prefetch(b_.values + next);
      }
      const auto a = factor(e);
      for (auto k = begin(e), stop = end(e); k < stop; ++k) f(columns[k], product(a, b_.values, k));
    }
  }

  Offset copied(Index* columns, T* values) const {
    const auto k = begin(list_), count = products_;
    std::copy_n(b_.indices + k, count, columns);
    if constexpr (kNumbers) {
      const auto a = factor(list_);
      for (Offset i = 0; i < count; ++i) values[i] = S::add(S::zero(), product(a, b_.values, k + i));
    }
    return count;
  }

  /// Adds up the runs of equal columns among n products that are in ascending order. at(i) is the column and the value of
  /// product i.
  template <class At>
  static Offset summed(Offset n, At&& at, Index* columns, T* values) {
    Offset out = -1;
    Index last = -1;
    T sum = S::zero();
    for (Offset i = 0; i < n; ++i) {
      const auto [column, value] = at(i);
      const bool same = column == last;
      out += !same;
      if constexpr (kNumbers) values[out] = sum = S::add(same ? sum : S::zero(), value);
      columns[out] = last = column;
    }
    return out + 1;
  }

  static constexpr bool kVectors = std::same_as<S, PlusTimes<float>> || std::same_as<S, PlusTimes<double>>;

  Offset tiny(Index* columns, T* values) const {
    const auto n = static_cast<int>(products_);
    if constexpr (kVectors) {
      static const auto kernel = tiny_kernel<T>();
      if (kernel) {
        TinyArgs<T> args{a_.indices + first_,
                         a_.values ? a_.values + first_ : nullptr,
                         last_ - first_,
                         b_.indptr,
                         b_.indices - b_.first_nnz,
                         nullptr,
                         columns,
                         values};
        if constexpr (!is_pattern<V>) args.b_values = b_.values - b_.first_nnz;
        return kernel(args);
      }
    }
    Index column[kTiny], place[kTiny];
    T product[kTiny];
    std::fill_n(column, kTiny, kNoColumn);
    int i = 0;
    each([&](Index c, T v) { column[i] = c, product[i] = v, ++i; });
    const int different = unique_ranks(column, n, place);
    if constexpr (kNumbers) std::fill_n(values, different, S::zero());
    for (i = 0; i < n; ++i) {
      const auto at = place[i];
      columns[at] = column[i];
      if constexpr (kNumbers) values[at] = S::add(values[at], product[i]);
    }
    return different;
  }

  FewRows<T> few_rows(const Offset* products, Index* columns, T* values, Offset* ends) const {
    FewRows<T> p{.a_indptr = a_.indptr,
                 .a_columns = a_.indices - a_.first_nnz,
                 .a_values = a_.values ? a_.values - a_.first_nnz : nullptr,
                 .b_indptr = b_.indptr,
                 .b_columns = b_.indices - b_.first_nnz,
                 .a_end = a_.first_nnz + entries_,
                 .b_end = b_.first_nnz + b_.nnz(),
                 .products = products,
                 .scattered = scattered_,
                 .columns = columns,
                 .values = values,
                 .ends = ends};
    if constexpr (!is_pattern<V>) p.b_values = b_.values - b_.first_nnz;
    return p;
  }

  Offset sorted_few(FewSort sort, Index* columns, T* values) const {
    std::uint32_t keys[kFew];
    T expanded[kFew];
    std::uint32_t n = 0;
    const auto low = static_cast<Index>(low_);
    each([&](Index c, T v) {
      keys[n] = static_cast<std::uint32_t>(c - low) << kFewBits | n;
      if constexpr (kNumbers) expanded[n] = v;
      ++n;
    });
    sort(keys, static_cast<int>(n));
    return summed(
        products_,
        [&](Offset i) {
          const auto key = keys[i];
          return std::pair(static_cast<Index>(key >> kFewBits) + low, kNumbers ? expanded[key % kFew] : T(1));
        },
        columns, values);
  }

  int column_bits() const { return std::bit_width(static_cast<std::uint64_t>(high_ - low_)); }

  /// Sorts all products by column, whatever their number, and adds them up.
  Offset sorted(Index* columns, T* values) {
    RowScratch<T>::grow(scratch_.keys, products_), RowScratch<T>::grow(scratch_.spare, products_);
    RowScratch<T>::grow(scratch_.expanded, products_);
    auto* keys = scratch_.keys.data;
    auto* expanded = scratch_.expanded.data;
    std::uint64_t n = 0;
    const auto low = low_;
    each(
        [&](Index c, T v) { keys[n] = static_cast<std::uint64_t>(c - low) << 32 | n, expanded[n] = v, ++n; });
    const auto* in_order = sort_keys(keys, scratch_.spare.data, products_, column_bits());
    return summed(
        products_,
        [&](Offset i) {
          return std::pair(static_cast<Index>(static_cast<std::int64_t>(in_order[i] >> 32) + low),
                           expanded[static_cast<std::uint32_t>(in_order[i])]);
        },
        columns, values);
  }

  Offset dense(Index* columns, T* values) {
    const auto first = low_ / 64 * 64, groups = (high_ - first) / 64 + 1;
    auto& s = scratch_;
    s.grow_window(groups * 64, b_.cols, kNumbers, S::zero());
    auto* __restrict flag = s.flags.data - first;
    auto* __restrict group = s.groups.data - first / 64;
    [[maybe_unused]] auto* __restrict sum = s.sums.data - (kNumbers ? first : 0);
    // If products are few for the window, the groups that they hit are marked; if they are many, it is cheaper to look at
    // every group.
    constexpr Offset kManyForAGroup = 16;
    const bool all = products_ >= groups * kManyForAGroup;
    const auto add = [&](Index c, [[maybe_unused]] T v) {
      if constexpr (kNumbers) sum[c] = S::add(sum[c], v);
      flag[c] = 1;
    };
    if (all) each(add);
    else
      each([&](Index c, T v) {
        add(c, v);
        group[c >> 6] = 1;
      });
    static const auto scan = scan_kernel<T>();
    const auto count = scan({s.flags.data, s.groups.data, s.sums.data, groups, all, static_cast<Index>(first),
                             S::zero(), columns, values});
    if constexpr (kDropsZeros)  // of bytes the kernel takes the flags alone
      for (Offset i = 0; i < count; ++i) values[i] = std::exchange(sum[columns[i]], S::zero());
    return count;
  }

  /// A window with few products: its columns are listed as they are met first, and the list is sorted.
  Offset listed(FewSort sort, Index* columns, T* values) {
    alignas(32) std::uint32_t list[kListed + 1];
    auto& s = scratch_;
    s.grow_window(high_ - low_ + 1, b_.cols, kNumbers, S::zero());
    auto* __restrict flag = s.flags.data;
    [[maybe_unused]] auto* __restrict sum = s.sums.data;
    const auto low = static_cast<Index>(low_);
    int n = 0;
    each([&](Index c, [[maybe_unused]] T v) {
      const auto at = static_cast<std::uint32_t>(c - low);
      list[n] = at;
      n += !std::exchange(flag[at], std::uint8_t{1});
      if constexpr (kNumbers) sum[at] = S::add(sum[at], v);
    });
    sort(list, n);
    for (int i = 0; i < n; ++i) {
      const auto at = list[i];
      columns[i] = static_cast<Index>(at) + low, flag[at] = 0;
      if constexpr (kNumbers) values[i] = std::exchange(sum[at], S::zero());
    }
    return n;
  }

  Offset hashed(Index* columns, T* values) {
    const auto most = std::min<Offset>(products_, b_.cols);
    const auto size = std::bit_ceil(static_cast<std::uint64_t>(most) * 2);
    auto& s = scratch_;
    RowScratch<T>::grow(s.hash_columns, static_cast<std::int64_t>(size), Index{-1});
    if constexpr (kNumbers) RowScratch<T>::grow(s.hash_values, static_cast<std::int64_t>(size));
    RowScratch<T>::grow(s.keys, most), RowScratch<T>::grow(s.spare, most);
    const auto mask = static_cast<std::uint32_t>(size - 1);
    const int shift = 32 - std::countr_zero(size);
    auto* __restrict table = s.hash_columns.data;
    [[maybe_unused]] auto* __restrict sums = s.hash_values.data;
    auto* keys = s.keys.data;
    Offset n = 0;
    const auto low = low_;
    each([&](Index c, [[maybe_unused]] T v) {
      auto at = static_cast<std::uint32_t>((static_cast<std::uint32_t>(c) * 0x9E3779B1u) >> shift) & mask;
      while (table[at] != c) {
        if (table[at] == -1) {
          table[at] = c;
          if constexpr (kNumbers) sums[at] = S::zero();
          keys[n++] = static_cast<std::uint64_t>(c - low) << 32 | at;
          break;
        }
        at = (at + 1) & mask;
      }
      if constexpr (kNumbers) sums[at] = S::add(sums[at], v);
    });
    const auto* in_order = sort_keys(keys, s.spare.data, n, column_bits());
    for (Offset i = 0; i < n; ++i) {
      const auto at = static_cast<std::uint32_t>(in_order[i]);
      columns[i] = static_cast<Index>(static_cast<std::int64_t>(in_order[i] >> 32) + low);
      if constexpr (kNumbers) values[i] = sums[at];
      table[at] = -1;
    }
    return n;
  }

  /// The part of a row on the mask: the mask's columns get slots, and only products in these columns are added up.
  Offset masked(std::int64_t row, Index* columns, T* values) {
    const auto& m = *options_.mask;
    const auto k = m.indptr[row] - m.first_nnz;
    const auto most = m.indptr[row + 1] - m.first_nnz - k;
    if (most == 0) return 0;
    auto& s = scratch_;
    RowScratch<T>::grow(s.slots, b_.cols, 0u);
    RowScratch<T>::grow(s.keys, most), RowScratch<T>::grow(s.spare, most);
    RowScratch<T>::grow(s.expanded, most);
    s.grow_window(most, b_.cols, false, S::zero());
    auto* __restrict slot = s.slots.data;
    auto* __restrict hit = s.flags.data;
    auto* sums = s.expanded.data;
    std::uint64_t n = 0;
    for (Offset i = 0; i < most; ++i) {
      const auto c = m.indices[k + i];
      if (slot[c] != 0) continue;  // the mask has this column twice
      s.keys.data[n] = static_cast<std::uint64_t>(c) << 32 | n;
      if constexpr (kNumbers) sums[n] = S::zero();
      slot[c] = static_cast<std::uint32_t>(++n);
    }
    each([&](Index c, [[maybe_unused]] T v) {
      if (slot[c] == 0) return;
      const auto at = slot[c] - 1;
      if constexpr (kNumbers) sums[at] = S::add(sums[at], v);
      hit[at] = 1;
    });
    const auto bits = std::bit_width(static_cast<std::uint64_t>(b_.cols));
    const auto* in_order = sort_keys(s.keys.data, s.spare.data, static_cast<Offset>(n), bits);
    Offset out = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::uint32_t>(in_order[i]);
      const auto c = static_cast<Index>(in_order[i] >> 32);
      slot[c] = 0;
      if (!hit[at]) continue;
      hit[at] = 0;
      columns[out] = c;
      if constexpr (kNumbers) values[out] = sums[at];
      ++out;
    }
    return out;
  }

  const CsrView<T> a_;
  const CsrView<V> b_;
  const SpgemmOptions& options_;
  RowScratch<T>& scratch_;
  const Repeats* repeats_;
  std::int64_t above_ = -2;  // the row that was computed last
  Offset above_count_ = 0;
  bool placed_ = false;
  Offset entries_;  // the entries of A
  bool scattered_ = false;
  Offset first_ = 0, last_ = 0;  // the entries of A's row
  Offset products_ = 0, lists_ = 0, list_ = 0;
  std::int64_t low_ = 0, high_ = 0;  // columns that products may fall on
};

}  // namespace penstock
