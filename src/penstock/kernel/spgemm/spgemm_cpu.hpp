#pragma once
#include <algorithm>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/kernel/spgemm/spgemm_append.hpp"
#include "penstock/kernel/spgemm/spgemm_row.hpp"

// The driver of C = A B: rows are cut into blocks of about equal numbers of products, blocks go to threads in ascending
// order. Included by the files that instantiate it.
namespace penstock {

/// Consecutive rows with about kBlockProducts products, or one row with more.
struct ProductBlock {
  std::int64_t first_row, last_row;
  Offset room;    // entries that its rows can have together
  Offset before;  // products of the rows before it
};
std::vector<ProductBlock> product_blocks(const Array<Offset>& offsets, std::int64_t cols);

/// Finds the rows that repeat the row above. It looks at a sample first; both lists are empty unless most rows repeat,
/// or nearly all, if the others have `few` products and are sorted in registers.
Repeats find_repeats(const CsrView<One>& a, const CsrView<One>& b, bool few);

/// How many entries of C the memory allows, at most `bound`. Throws Error{out_of_memory} if an estimate says that C will have
/// more.
Offset allowed_entries(const CsrView<One>& a, const CsrView<One>& b, Offset bound, std::int64_t entry_bytes,
                       const SpgemmOptions& options);

template <Semiring S, class V>
Csr<ProductValue<S>> spgemm(const CsrView<typename S::value_type>& a, const CsrView<V>& b,
                            const SpgemmOptions& options) {
  using T = typename S::value_type;
  constexpr bool kNumbers = RowProduct<S, V>::kNumbers;
  require(a.cols == b.rows, "spgemm: A has " + std::to_string(a.cols) + " columns and B " +
                                std::to_string(b.rows) + " rows: they must be equal");
  if (options.mask)
    require(options.mask->rows == a.rows && options.mask->cols == b.cols,
            "spgemm: the mask must have the rows of A and the columns of B");
  const auto pattern = pattern_of(a);
  const auto offsets = product_offsets(pattern, b.indptr);
  const auto blocks = product_blocks(offsets, b.cols);
  Offset bound = 0;
  for (const auto& block : blocks) bound += block.room;
  if (options.mask) bound = std::min(bound, options.mask->nnz());
  const bool few = few_sort() && offsets.data[a.rows] <= kFew * a.rows;
  bound = allowed_entries(pattern, pattern_of(b), bound, sizeof(Index) + (kNumbers ? sizeof(T) : 0), options);
  OrderedAppend<T> out(std::ssize(blocks), bound, kNumbers, offsets.data);
  detail::Lent<RowScratch<T>> scratches;
  Repeats repeats;
  if (options.accumulator == Accumulator::automatic && !options.mask && options.ascending)
    repeats = find_repeats(pattern, pattern_of(b), few);
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    const auto& block = blocks[static_cast<std::size_t>(i)];
    try {
      scratches.with([&](RowScratch<T>& scratch) {
        auto buffer = out.take(i, block.first_row, block.last_row - block.first_row, block.room);
        RowProduct<S, V> product(a, b, options, scratch, repeats.b.size > 0 ? &repeats : nullptr);
        product.run_rows(block.first_row, block.last_row, block.before, offsets.data, *buffer);
        out.put(i, std::move(buffer));
      });
    } catch (...) {
      out.fail(std::current_exception());
      throw;
    }
  });
  offsets.data[0] = 0;
  Csr<ProductValue<S>> c{a.rows, b.cols, offsets, out.columns(), {}};
  if constexpr (!BooleanSemiring<S>) c.values = out.values();
  return c;
}

}  // namespace penstock
