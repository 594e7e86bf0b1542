#pragma once
#include <cstdint>

#include "penstock/kernel/row_blocks.hpp"

// How the blocks of a matrix lie in the slots of a ring: sizes that everybody who cuts, moves or multiplies blocks must
// agree on. A slot is one piece of memory. A block of CSR rows fills it from the front: row offsets, then columns, then
// values, so that rows and nonzeros share one budget.
namespace penstock {

/// The arrays in a slot, and slots beside each other, begin at multiples of so many bytes.
inline constexpr std::int64_t kSlotAlign = 128;
/// What a slot's arrays take at most beside their entries: three arrays are aligned, and n rows have n + 1 offsets.
inline constexpr std::int64_t kSlotPadding = 512;
/// A smaller slot is refused: it would hold the padding, but hardly a nonzero.
inline constexpr std::int64_t kLeastSlotBytes = 640;
/// The least budget of a block without its padding: enough for the longest nonzero (20 bytes) and its row offsets.
inline constexpr std::int64_t kLeastBlockBudget = 64;
/// Blocks begin at multiples of so many rows. The y of a block then begins at a multiple of 16 bytes, which cuSPARSE wants.
inline constexpr std::int64_t kRowAlign = 4;

/// The smallest multiple of `step` that is not below n.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// Where the arrays of a CSR block begin in its slot, in bytes, and how much of the slot they take. Offsets come first.
template <class V>
struct CsrSlot {
  constexpr explicit CsrSlot(const RowBlock& b)
      : indices(round_up((b.rows + 1) * std::int64_t(sizeof(Offset)), kSlotAlign)),
        values(indices + round_up(b.nnz * std::int64_t(sizeof(Index)), kSlotAlign)),
        bytes(values + round_up(b.nnz * value_bytes<V>, kSlotAlign)) {}
  std::int64_t indices, values, bytes;
};

/// How to cut a CSR matrix so that a block takes at most `budget` bytes of a slot, its padding not counted.
template <class V>
constexpr BlockShape csr_block_shape(std::int64_t budget) {
  return {.budget = budget,
          .nnz_cost = std::int64_t(sizeof(Index)) + value_bytes<V>,
          .row_cost = sizeof(Offset),
          .row_align = kRowAlign};
}

}  // namespace penstock
