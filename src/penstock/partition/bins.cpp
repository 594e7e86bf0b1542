#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/graph/reorder.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock::partition {
namespace {

/// Finds the part with the least load; of several with equal loads the one with the lowest number.
class Least {
 public:
  explicit Least(const std::vector<std::int64_t>& loads) {
    for (std::size_t i = 0; i < loads.size(); ++i) heap_.emplace(loads[i], static_cast<Index>(i));
  }
  Index give(std::int64_t weight) {
    const auto [load, part] = heap_.top();
    heap_.pop();
    heap_.emplace(load + weight, part);
    return part;
  }

 private:
  using Item = std::pair<std::int64_t, Index>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> heap_;
};

/// Cuts the rows that have more than omega entries into pieces of at most omega, sorted by row. At most `parts` rows are so
/// long.
std::vector<RowPiece> split(const Csr<One>& a, const Array<Index>& longest_first, Offset omega) {
  std::vector<RowPiece> pieces;
  for (const auto r : longest_first.span()) {
    const auto first = a.indptr.data[r], last = a.indptr.data[r + 1];
    if (last - first <= omega) break;
    for (auto k = first; k < last; k += omega) pieces.push_back({r, k, std::min(k + omega, last), 0});
  }
  std::ranges::sort(pieces, {}, &RowPiece::first);
  return pieces;
}

}  // namespace

/// The balanced distribution of Page and Kogge (2018): rows longer than omega = ceil(nnz / parts) are split there, then
/// the longest goes to the part with the fewest entries, and so on. A split row is owned by the holder of its first
/// piece. Rows without entries go where fewest rows are. (The paper prints omega as nnz / m, which would split half the
/// rows of any matrix; its text, "the optimal amount of nnz per process", says nnz / P.)
Partition bins(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::bins);
  const auto order = degree_order(a, true);
  const auto omega = (a.nnz() + parts - 1) / parts;
  p.pieces = split(a, order, omega);
  std::vector<RowPiece*> cut;
  for (auto& piece : p.pieces) cut.push_back(&piece);
  std::ranges::stable_sort(cut, std::greater{}, [](const RowPiece* x) { return x->last - x->first; });

  auto owners = allocate_apart<Index>(a.rows);
  const auto length = [&](Index r) { return a.indptr.data[r + 1] - a.indptr.data[r]; };
  std::vector<std::int64_t> held(static_cast<std::size_t>(parts));  // rows of each part
  Least fewest_entries(held);
  auto next = cut.begin();
  const auto place_pieces = [&](Offset at_least) {
    for (; next != cut.end() && (*next)->last - (*next)->first >= at_least; ++next) {
      auto& piece = **next;
      piece.part = fewest_entries.give(piece.last - piece.first);
      if (piece.first == a.indptr.data[piece.row]) {
        owners.data[piece.row] = piece.part;
        ++held[static_cast<std::size_t>(piece.part)];
      }
    }
  };
  std::int64_t i = 0;
  for (; i < a.rows && length(order.data[i]) > 0; ++i) {
    const auto r = order.data[i];
    if (length(r) > omega) continue;
    place_pieces(length(r));
    const auto part = owners.data[r] = fewest_entries.give(length(r));
    ++held[static_cast<std::size_t>(part)];
    if (i % 4096 == 0) poll_interrupt();
  }
  place_pieces(0);
  for (Least fewest_rows(held); i < a.rows; ++i) owners.data[order.data[i]] = fewest_rows.give(1);
  p.row_owners = owners;
  own_columns(p);
  return p;
}

}  // namespace penstock::partition
