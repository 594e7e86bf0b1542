// C(i, j) += A(i, k) B(k, j), all sparse, on the CPU. Products of small tiles are put together (tile_batch.hpp) and become
// one matrix; each product of large tiles and each piece from another rank is a matrix of its own. Parts of one product, which
// have rows of their own, are runs of rows of one matrix, so that a product in parts is merged as seldom as a whole one. Matrices are
// merged as in a tree: a matrix is merged only with one of about its own size. So an entry takes part in log(products)
// merges instead of all later ones, and the matrices that wait are together at most as large as the one that is merged.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "penstock/core/parallel.hpp"
#include "penstock/dist/tile/tile_batch.hpp"
#include "penstock/dist/tile/tile_pieces.hpp"
#include "penstock/dist/tile/tile_sum.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece: its first row, and its numbers of rows and of entries.
constexpr std::int64_t kSparseHead = 24;

/// Rows and entries of tiles that are multiplied together: copies cost less than merging results. R-MAT 13 squared in 4 x 4
/// tiles took 258 ms of CPU time where each product was computed alone, 102 ms with 2^15 and 41 ms with 2^17; in 32 x 32
/// tiles 820, 240 and 250 ms. The same of a mesh, where few products meet in a tile: 5.8, 6.0 and 6.2 ms.
constexpr std::int64_t kBatch = 1 << 17;

constexpr std::int64_t kMergedRows = 1024;  // rows of one task of a merge
/// Sums of other ranks that wait to be merged, and their rows and entries (about 50 MB): more of them hold more memory.
constexpr std::int64_t kLate = 4, kLateSize = 1 << 22;

std::int64_t whole_words(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Rows [first, first + entries.rows) of a tile; columns ascend in each.
template <class P>
struct Rows {
  std::int64_t first = 0;
  Csr<P> entries;
  std::int64_t last() const { return first + entries.rows; }
  std::int64_t size() const { return entries.nnz() + entries.rows; }
  Offset begin(std::int64_t r) const { return first <= r && r < last() ? entries.indptr.data[r - first] : 0; }
  Offset end(std::int64_t r) const {
    return first <= r && r < last() ? entries.indptr.data[r - first + 1] : 0;
  }
};

/// Runs of rows, one behind the other.
template <class P>
struct Runs {
  std::vector<Rows<P>> runs;

  /// Whether the rows lie between these runs, to which they are added then.
  bool insert(Rows<P>& rows) {
    const auto next = std::ranges::lower_bound(runs, rows.first, {}, &Rows<P>::first);
    if (next != runs.end() && next->first < rows.last()) return false;
    if (next != runs.begin() && std::prev(next)->last() > rows.first) return false;
    runs.insert(next, std::move(rows));
    return true;
  }
  std::int64_t first() const { return runs.front().first; }
  std::int64_t last() const { return runs.back().last(); }
  std::int64_t size() const {
    std::int64_t n = 0;
    for (const auto& run : runs) n += run.size();
    return n;
  }
  Offset nnz() const {
    Offset n = 0;
    for (const auto& run : runs) n += run.entries.nnz();
    return n;
  }
};

/// A row of runs.
template <class P>
struct Row {
  const Index* columns = nullptr;
  const P* values = nullptr;
  Offset count = 0;
};

/// Looks rows of runs up, one after the other.
template <class P>
class RowsInTurn {
 public:
  explicit RowsInTurn(const Runs<P>& of) : of_(of) {}
  Row<P> operator()(std::int64_t r) {
    while (at_ < of_.runs.size() && of_.runs[at_].last() <= r) ++at_;
    if (at_ == of_.runs.size()) return {};
    const auto& run = of_.runs[at_];
    const auto begin = run.begin(r);
    return {run.entries.indices.data + begin, is_pattern<P> ? nullptr : run.entries.values.data + begin,
            run.end(r) - begin};
  }

 private:
  const Runs<P>& of_;
  std::size_t at_ = 0;
};

/// x + y over S: a pass counts the entries of each row of the sum, and another one writes them.
template <class S, class P>
Runs<P> merge(const Runs<P>& x, const Runs<P>& y) {
  const auto first = std::min(x.first(), y.first()), rows = std::max(x.last(), y.last()) - first;
  const auto indptr = allocate<Offset>(rows + 1);
  indptr.data[0] = 0;
  parallel_ranges(rows, kMergedRows, [&](std::int64_t r, std::int64_t end) {
    RowsInTurn<P> of_x(x), of_y(y);
    for (; r < end; ++r) {
      const auto a = of_x(first + r), b = of_y(first + r);
      Offset i = 0, j = 0, n = a.count + b.count;
      while (i < a.count && j < b.count) {
        const auto left = a.columns[i], right = b.columns[j];
        n -= left == right;
        i += left <= right;
        j += right <= left;
      }
      indptr.data[r + 1] = n;
    }
  });
  for (std::int64_t r = 0; r < rows; ++r) indptr.data[r + 1] += indptr.data[r];
  const auto nnz = indptr.data[rows];
  const auto indices = allocate<Index>(nnz);
  const auto values = allocate<P>(is_pattern<P> ? 0 : nnz);
  parallel_ranges(rows, kMergedRows, [&](std::int64_t r, std::int64_t end) {
    RowsInTurn<P> of_x(x), of_y(y);
    for (; r < end; ++r) {
      const auto a = of_x(first + r), b = of_y(first + r);
      Offset i = 0, j = 0;
      for (auto n = indptr.data[r]; n < indptr.data[r + 1]; ++n) {
        const bool left = i < a.count && (j == b.count || a.columns[i] <= b.columns[j]),
                   right = j < b.count && (i == a.count || b.columns[j] <= a.columns[i]);
        indices.data[n] = left ? a.columns[i] : b.columns[j];
        if constexpr (!is_pattern<P>)
          values.data[n] = left && right ? S::add(a.values[i], b.values[j])
                           : left        ? a.values[i]
                                         : b.values[j];
        i += left;
        j += right;
      }
    }
  });
  return {{{first, {rows, x.runs.front().entries.cols, indptr, indices, values}}}};
}

template <Semiring S, class VA, class VB>
class SparseSum final : public TileSum {
  using T = typename S::value_type;
  using P = ProductValue<S>;

 public:
  explicit SparseSum(const TileAt& tile) : tile_(tile) {}

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto left = csr_of<VA>(a.data, a.tile);
    const auto right = csr_of<VB>(b.data, b.tile);
    if (is_part(a)) return add_part(nullptr, a, right);
    if (left.rows + left.nnz() + right.rows + right.nnz() > kBatch) {
      settle();
      return add(left, right, nullptr);
    }
    batch_.add(left, right);
    if (batch_.size() > kBatch) settle();
  }
  void multiply_add_on(const TileView& mask, const TileView& a, const TileView& b) override {
    const auto right = csr_of<VB>(b.data, b.tile);
    if (is_part(a)) return add_part(&mask, a, right);
    const auto entries = csr_of<One>(mask.data, mask.tile);
    add(csr_of<VA>(a.data, a.tile), right, &entries);
  }

  void settle() override {
    if (!batch_.empty()) batch_.take([&](const auto& a, const auto& b) { add(a, b, nullptr); });
  }

  void add(const CsrView<VA>& left, const CsrView<VB>& right, const CsrView<One>* mask) {
    balance();
    push({0, product(left, right, mask)});
    balance();
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    collapse();
    join_runs();
    const auto& entries = sums_.front().runs.front().entries;
    cut_rows<P>(entries.indptr.data, entries.rows, entries.nnz(), most - kSparseHead,
                [&](std::int64_t row, std::int64_t count, Offset e, Offset n) {
                  const auto fill = [&](std::byte* to) { write(to, row, count, e, n); };
                  piece(kSparseHead + rows_bytes<P>(count, n), fill, e + n == entries.nnz());
                });
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    std::int64_t head[3];
    std::memcpy(head, piece, kSparseHead);
    if (head[2] == 0) return;
    const auto memory = allocate<std::byte>(bytes - kSparseHead);
    std::memcpy(memory.data, piece + kSparseHead, static_cast<std::size_t>(bytes - kSparseHead));
    const auto view = csr_of<P>(memory.data, {.rows = head[1], .cols = tile_.cols, .nnz = head[2]});
    Csr<P> entries{head[1],
                   tile_.cols,
                   {view.indptr, head[1] + 1, {}, memory.owner},
                   {view.indices, head[2], {}, memory.owner},
                   {}};
    if constexpr (!is_pattern<P>) entries.values = {view.values, head[2], {}, memory.owner};
    add_late({head[0], std::move(entries)});
  }

  Offset finish() override {
    collapse();
    return sums_.front().nnz();
  }

  void take(std::byte* blob) override {
    collapse();
    const auto& sum = sums_.front();
    if (sum.runs.size() == 1 && sum.runs.front().entries.rows == tile_.rows) {
      write_csr(sum.runs.front().entries.view(), blob);
    } else {
      auto* indptr = reinterpret_cast<Offset*>(blob);
      const TileAt whole{.rows = tile_.rows, .cols = tile_.cols, .nnz = sum.nnz()};
      const auto to = csr_of<P>(blob, whole);
      RowsInTurn<P> of_sum(sum);
      indptr[0] = 0;
      for (std::int64_t r = 0; r < tile_.rows; ++r) indptr[r + 1] = indptr[r] + of_sum(r).count;
      Offset n = 0;
      for (const auto& run : sum.runs) {
        std::copy_n(run.entries.indices.data, run.entries.nnz(), const_cast<Index*>(to.indices) + n);
        if constexpr (!is_pattern<P>)
          std::copy_n(run.entries.values.data, run.entries.nnz(), const_cast<P*>(to.values) + n);
        n += run.entries.nnz();
      }
    }
    sums_.clear();
  }

 private:
  /// Whether a left factor has some only of its rows with entries.
  static bool is_part(const TileView& a) {
    const auto* const indptr = reinterpret_cast<const Offset*>(a.data);
    const auto rows = a.tile.row_span();
    return indptr[rows.end] - indptr[rows.first] != indptr[a.tile.rows];
  }
  static Csr<P> product(const CsrView<VA>& left, const CsrView<VB>& right, const CsrView<One>* mask) {
    CsrView<T> factor{.rows = left.rows,
                      .cols = left.cols,
                      .indptr = left.indptr,
                      .indices = left.indices,
                      .count = left.nnz()};
    if constexpr (std::same_as<VA, T>) factor.values = left.values;
    // Whether B's rows ascend takes a pass over B: worth it where a product has at least as many entries of A.
    const bool ascending = !mask && right.nnz() <= left.nnz() && ascending_rows(pattern_of(right));
    return spgemm<S, VB>(factor, right, {.mask = mask, .ascending = ascending});
  }
  /// Rows that come behind those of the same product are another run of it.
  void add_part(const TileView* mask, const TileView& a, const CsrView<VB>& right) {
    const auto rows = a.tile.row_span();
    CsrView<One> entries;
    if (mask) entries = rows_of<One>(*mask, rows);
    Rows<P> part{rows.first, product(rows_of<VA>(a, rows), right, mask ? &entries : nullptr)};
    if (in_parts_ && sums_.back().insert(part)) return;
    balance();
    push(std::move(part));
    in_parts_ = true;
  }
  /// A piece of another rank's sum. Its rows are missing here where that rank has taken parts of the product under way; other
  /// pieces wait for those with rows beside theirs.
  void add_late(Rows<P> piece) {
    if (in_parts_ && sums_.back().insert(piece)) return;
    if ((late_size_ += piece.size()) > kLateSize) merge_late();
    for (auto& runs : late_)
      if (runs.insert(piece)) return;
    if (std::ssize(late_) == kLate) merge_late();
    late_.push_back({});
    late_.back().runs.push_back(std::move(piece));
  }
  void merge_late() {
    for (auto& runs : std::exchange(late_, {})) {
      balance();
      sums_.push_back(std::move(runs));
    }
    balance();
    late_size_ = 0;
  }
  void push(Rows<P> sum) {
    sums_.push_back({});
    sums_.back().runs.push_back(std::move(sum));
  }
  void balance() {
    in_parts_ = false;
    while (sums_.size() > 1 && sums_[sums_.size() - 2].size() < 2 * sums_.back().size()) merge_last();
  }
  void merge_last() {
    auto last = std::move(sums_.back());
    sums_.pop_back();
    sums_.back() = merge<S>(sums_.back(), last);
  }
  /// Makes one run of a sum's runs.
  void join_runs() {
    if (auto& sum = sums_.front(); sum.runs.size() > 1) {
      const auto last = Runs<P>{{std::move(sum.runs.back())}};
      sum.runs.pop_back();
      sum = merge<S>(sum, last);
    }
  }
  void collapse() {
    settle();
    merge_late();
    while (sums_.size() > 1) merge_last();
    if (!sums_.empty()) return;
    const auto zero = allocate<Offset>(1);
    zero.data[0] = 0;
    push({0, {0, tile_.cols, zero, {}, {}}});
  }

  /// Entries [e, e + n), which lie in `count` rows from `row` on.
  void write(std::byte* to, std::int64_t row, std::int64_t count, Offset e, Offset n) const {
    const auto& sum = sums_.front().runs.front();
    const std::int64_t head[3] = {sum.first + row, count, n};
    std::memcpy(to, head, kSparseHead);
    auto* indptr = reinterpret_cast<Offset*>(to + kSparseHead);
    for (std::int64_t r = 0; r <= count; ++r)
      indptr[r] = std::clamp(sum.entries.indptr.data[row + r], e, e + n) - e;
    auto* at = to + kSparseHead + (count + 1) * 8;
    if (n > 0) std::memcpy(at, sum.entries.indices.data + e, static_cast<std::size_t>(n) * 4);
    if constexpr (!is_pattern<P>)
      if (n > 0)
        std::memcpy(at + whole_words(n * 4), sum.entries.values.data + e,
                    static_cast<std::size_t>(n) * sizeof(P));
  }

  TileAt tile_;
  TileBatch<VA, VB> batch_;
  std::vector<Runs<P>> sums_;  // each at least twice as large as the next
  bool in_parts_ = false;      // the last of them is a product whose parts are still coming
  std::vector<Runs<P>> late_;  // pieces that wait to be merged
  std::int64_t late_size_ = 0;
};

template <Semiring S, class VA, class VB>
class Spgemm final : public LocalProduct {
 public:
  TileValue result() const override { return tile_value<ProductValue<S>>(); }
  bool takes_rows() const override { return true; }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte*) const override {
    return std::make_unique<SparseSum<S, VA, VB>>(tile);
  }
};

}  // namespace

std::unique_ptr<LocalProduct> local_spgemm(std::string_view semiring, TileValue a, TileValue b) {
#define X(S, VA, VB)                                                                    \
  if (semiring == semiring_name<S>() && a == tile_value<VA>() && b == tile_value<VB>()) \
    return std::make_unique<Spgemm<S, VA, VB>>();
  X(PlusTimes<double>, One, One)
  X(PlusTimes<double>, double, double)
  X(PlusTimes<double>, One, double)
  X(PlusTimes<double>, double, One)
  X(PlusTimes<float>, float, float)
  X(PlusTimes<float>, One, float)
  X(PlusTimes<float>, float, One)
#define OF_NUMBERS(S, T) X(S<T>, T, T)
  PENSTOCK_RANK_SEMIRINGS(OF_NUMBERS, float)
  PENSTOCK_RANK_SEMIRINGS(OF_NUMBERS, double)
#undef OF_NUMBERS
#define OF_PATTERNS(S, _)                                             \
  static_assert(PatternSemiring<S>, "tiles are merged without sums"); \
  X(S, One, One)
  PENSTOCK_RANK_BOOLEAN_SEMIRINGS(OF_PATTERNS, bool)
#undef OF_PATTERNS
#undef X
  return nullptr;
}

void TileSum::multiply_add_on(const TileView&, const TileView&, const TileView&) {
  throw Error(Errc::not_compiled, "products of these tiles cannot be masked: sparse ones in host memory can");
}

std::unique_ptr<LocalProduct> local_product(std::string_view semiring, TileValue a, TileValue b,
                                            bool b_sparse) {
  if (auto found = b_sparse ? local_spgemm(semiring, a, b) : local_spmm(semiring, a, b)) return found;
  throw Error(
      Errc::not_compiled,
      "no product of tiles over " + std::string(semiring) + " of A in " + std::string(text_of(a)) + " and " +
          (b_sparse ? "sparse" : "dense") + " B in " + std::string(text_of(b)) +
          ": there are plus_times with one of float32 and float64 (A, or sparse B, may be a pattern), " +
          rank_real_semirings() + " with one of them, and " + rank_boolean_semirings() +
          " of patterns with patterns or uint8");
}

}  // namespace penstock
