// Counts what a product over parts exchanges, by reading every entry once. A task reads the rows of one row of the grid of
// parts (those of one part where the grid has a single column). Within a row of the grid every column of the matrix belongs
// to one part, so one bitmap of columns finds the distinct columns of all parts of the task.
#include "penstock/partition/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

/// The rows that each row of the grid has as a whole: a range, or a list.
struct Groups {
  const Partition& p;
  std::vector<std::int64_t> begin, rows;

  explicit Groups(const Partition& partition) : p(partition) {
    if (!p.row_cuts.empty()) return;
    begin.assign(at(p.parts) + 2, 0);
    each_whole([&](std::int64_t, Index part) { ++begin[at(part) + 2]; });
    for (std::size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
    rows.resize(at(begin.back()));
    each_whole([&](std::int64_t r, Index part) { rows[at(begin[at(part) + 1]++)] = r; });
  }
  template <class F>
  void each_whole(F&& f) const {
    auto piece = p.pieces.begin();
    for (std::int64_t r = 0; r < p.rows; ++r) {
      while (piece != p.pieces.end() && piece->row < r) ++piece;
      if (piece == p.pieces.end() || piece->row != r) f(r, p.row_owners.data[r]);
    }
  }
  template <class F>
  void each_row(std::int64_t group, F&& f) const {
    const auto first = p.row_cuts.empty() ? begin[at(group)] : p.row_cuts[at(group)];
    const auto last = p.row_cuts.empty() ? begin[at(group) + 1] : p.row_cuts[at(group) + 1];
    for (auto i = first; i < last; ++i) {
      f(p.row_cuts.empty() ? rows[at(i)] : i);
      if (i % 1024 == 0) poll_interrupt();
    }
  }
};

/// How many numbers the parts that own rows or columns need. In a grid only the parts of its first column or of its first
/// row own any.
std::int64_t stride_of(const Partition& p) { return std::max(p.grid_rows, p.grid_cols); }

/// Counts how often consecutive rows differ in length: a processor cannot predict the ends of such loops.
class Lengths {
 public:
  /// Adds an entry of the part's row number `place`. `ghost`: its column belongs to another part.
  void add(std::int64_t place, bool ghost) {
    if (place != place_) {
      close();
      if (place > place_ + 1 && before_) ++uneven_, before_ = 0;  // rows without entries lie between
      place_ = place;
    }
    ++(ghost ? ghosts_ : own_);
  }
  /// Returns the count for all rows so far, of which there are `rows`, and begins anew.
  std::int64_t finish(std::int64_t rows) {
    close();
    const auto found = uneven_ + (before_ && place_ + 1 < rows);
    *this = {};
    return found;
  }

 private:
  void close() {
    if (place_ < 0) return;
    uneven_ += place_ > 0 && own_ != before_;
    before_ = std::exchange(own_, 0);
    if (!ghosts_) return;
    uneven_ += ghosts_before_ && ghosts_ != ghosts_before_;
    ghosts_before_ = std::exchange(ghosts_, 0);
  }
  std::int64_t place_ = -1, own_ = 0, ghosts_ = 0, before_ = 0, ghosts_before_ = 0, uneven_ = 0;
};

/// The memory of a task. A task leaves it cleared for the next one.
struct Scratch {
  std::vector<std::uint64_t> seen;                 // a bit for each column
  std::vector<std::size_t> words;                  // the words of `seen` that are not 0
  std::vector<std::int64_t> halo, partial, count;  // grid_cols x stride; the same; grid_cols
  std::vector<std::int64_t> pairs;                 // indices of halo and partial that are not 0
  // For each grid column: the last row with an entry in it, the last row with a ghost, and the ghosts of that row so far.
  std::vector<std::int64_t> last_row, ghost_row, ghosts, ghost_rows, ghosts_most;
  std::vector<Lengths> lengths;  // of each grid column

  explicit Scratch(const Partition& p)
      : seen(at(p.cols / 64 + 1)),
        halo(at(p.grid_cols * stride_of(p))),
        partial(halo.size()),
        count(at(p.grid_cols)),
        last_row(at(p.grid_cols), -1),
        ghost_row(last_row),
        ghosts(last_row.size()),
        ghost_rows(last_row.size()),
        ghosts_most(last_row.size()),
        lengths(last_row.size()) {}
};

class Measure {
 public:
  Measure(const Csr<One>& a, const Partition& p, PartitionMetrics& m) : a_(a), p_(p), m_(m), groups_(p) {
    exchanges_.resize(at(p.grid_rows));
    pieces_.resize(p.pieces.empty() ? 0 : at(p.parts));
    for (const auto& piece : p.pieces) pieces_[at(piece.part)].push_back(&piece);
  }

  void group(std::int64_t g) {
    auto s = take();
    std::int64_t rows = 0;
    groups_.each_row(
        g, [&](std::int64_t r) { entries(g, r, rows++, a_.indptr.data[r], a_.indptr.data[r + 1], *s); });
    if (!pieces_.empty()) {
      for (const auto* piece : pieces_[at(g)]) {  // sorted by row: a part may hold several pieces of one row
        rows += s->last_row[0] != piece->row;
        entries(g, piece->row, rows - 1, piece->first, piece->last, *s);
      }
    }
    for (std::int64_t j = 0; j < p_.grid_cols; ++j) {
      const auto part = at(g * p_.grid_cols + j);
      m_.held[part] = rows;
      m_.nnz[part] = std::exchange(s->count[at(j)], 0);
      m_.ghost_rows[part] = std::exchange(s->ghost_rows[at(j)], 0);
      m_.ghosts_most[part] = std::exchange(s->ghosts_most[at(j)], 0);
      m_.uneven[part] = s->lengths[at(j)].finish(rows);
    }
    finish(g, *s);
    give(std::move(s));
  }
  void collect() {
    for (auto& some : exchanges_) m_.exchanges.insert(m_.exchanges.end(), some.begin(), some.end());
    std::ranges::sort(m_.exchanges, {}, [](const PairTraffic& e) { return std::pair(e.to, e.from); });
    std::vector<PairTraffic> joined;  // a part may send another both entries of x and sums
    for (const auto& e : m_.exchanges) {
      if (joined.empty() || joined.back().to != e.to || joined.back().from != e.from) joined.push_back(e);
      else joined.back().halo += e.halo, joined.back().partial += e.partial;
    }
    m_.exchanges = std::move(joined);
  }

 private:
  std::unique_ptr<Scratch> take() {
    const std::lock_guard guard(lock_);
    if (spare_.empty()) return std::make_unique<Scratch>(p_);
    auto s = std::move(spare_.back());
    spare_.pop_back();
    return s;
  }
  void give(std::unique_ptr<Scratch> s) {
    const std::lock_guard guard(lock_);
    spare_.push_back(std::move(s));
  }
  std::int64_t grid_col(Index c) const {
    if (p_.grid_cols == 1) return 0;
    return std::upper_bound(p_.col_cuts.begin(), p_.col_cuts.end(), c) - p_.col_cuts.begin() - 1;
  }
  /// Counts entries [first, last) of a row. `place` is the row's number among the part's rows.
  void entries(std::int64_t g, std::int64_t row, std::int64_t place, Offset first, Offset last,
               Scratch& s) const {
    for (auto k = first; k < last; ++k) {
      const auto c = a_.indices.data[k];
      const auto j = grid_col(c);
      const auto part = g * p_.grid_cols + j;
      ++s.count[at(j)];
      if (std::exchange(s.last_row[at(j)], row) != row && p_.row_owners.data[row] != part)
        add(s.partial, j, p_.row_owners.data[row] / p_.grid_cols, s);
      const auto owner = p_.col_owners.data[c];
      s.lengths[at(j)].add(place, owner != part);
      if (owner != part) {
        if (std::exchange(s.ghost_row[at(j)], row) != row) ++s.ghost_rows[at(j)], s.ghosts[at(j)] = 0;
        s.ghosts_most[at(j)] = std::max(s.ghosts_most[at(j)], ++s.ghosts[at(j)]);
      }
      auto& word = s.seen[at(c / 64)];
      const auto bit = std::uint64_t{1} << (c % 64);
      if (word & bit) continue;
      if (!word) s.words.push_back(at(c / 64));
      word |= bit;
      if (owner != part) add(s.halo, j, in_first_row() ? owner : owner / p_.grid_cols, s);
    }
  }
  bool in_first_row() const { return p_.rows != p_.cols; }  // where the owners of columns are in a grid
  void add(std::vector<std::int64_t>& to, std::int64_t j, std::int64_t number, Scratch& s) const {
    const auto pair = j * stride_of(p_) + number;
    if (!s.halo[at(pair)] && !s.partial[at(pair)]) s.pairs.push_back(pair);
    ++to[at(pair)];
  }
  void finish(std::int64_t g, Scratch& s) {
    const auto stride = stride_of(p_), cols = p_.grid_cols;
    for (const auto pair : s.pairs) {
      const auto me = static_cast<Index>(g * cols + pair / stride),
                 first_col = static_cast<Index>(pair % stride * cols);
      const auto owner = in_first_row() && cols > 1 ? static_cast<Index>(pair % stride) : first_col;
      const auto halo = std::exchange(s.halo[at(pair)], 0), partial = std::exchange(s.partial[at(pair)], 0);
      if (halo) exchanges_[at(g)].push_back({owner, me, halo, 0});
      if (partial) exchanges_[at(g)].push_back({me, first_col, 0, partial});
      m_.halo[at(me)] += halo;
    }
    for (const auto w : s.words) s.seen[w] = 0;
    s.words.clear(), s.pairs.clear();
    std::ranges::fill(s.last_row, -1), std::ranges::fill(s.ghost_row, -1);
  }

  const Csr<One>& a_;
  const Partition& p_;
  PartitionMetrics& m_;
  Groups groups_;
  std::vector<std::vector<const RowPiece*>> pieces_;
  std::vector<std::vector<PairTraffic>> exchanges_;
  std::mutex lock_;
  std::vector<std::unique_ptr<Scratch>> spare_;
};

}  // namespace

PartitionMetrics metrics(const Csr<One>& a, const Partition& p, std::int64_t value_bytes,
                         std::int64_t vector_bytes) {
  partition::require_same(a, p);
  PartitionMetrics m;
  for (auto* list : {&m.nnz, &m.rows, &m.halo, &m.bytes, &m.held, &m.ghost_rows, &m.ghosts_most, &m.uneven})
    list->assign(at(p.parts), 0);
  Measure measure(a, p, m);
  parallel_for(p.grid_rows, [&](std::int64_t g) { measure.group(g); });
  measure.collect();

  std::vector<std::int64_t> x(at(p.parts)), sums(at(p.parts));
  for (const auto owner : p.row_owners.span()) ++m.rows[at(owner)];
  for (const auto owner : p.col_owners.span()) ++x[at(owner)];
  for (const auto& e : m.exchanges) {
    m.halo_volume += e.halo, m.partial_volume += e.partial;
    m.messages += (e.halo > 0) + (e.partial > 0);
    sums[at(e.from)] += e.partial;
  }
  const auto mean = static_cast<double>(p.nnz) / static_cast<double>(p.parts);
  double off = 0;
  for (std::int64_t i = 0; i < p.parts; ++i) {
    const auto n = at(i);
    off += std::abs(static_cast<double>(m.nnz[n]) - mean);
    const auto vectors = x[n] + m.halo[n] + m.rows[n] + sums[n];
    m.bytes[n] = m.nnz[n] * (4 + value_bytes) + (m.held[n] + 1) * 8 + vectors * vector_bytes;
  }
  if (p.nnz > 0) {
    m.mad = off / static_cast<double>(p.parts) / static_cast<double>(p.nnz);
    m.imbalance = static_cast<double>(*std::ranges::max_element(m.nnz)) / mean;
  }
  return m;
}

}  // namespace penstock
