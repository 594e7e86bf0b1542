#pragma once
#include "penstock/format/packed.hpp"

// The blocks of a pattern, one at a time, for matrices that are never in memory as a whole. Their bytes are those of `pack`.
namespace penstock {

/// How `pack` cuts a matrix: by its row offsets alone. The bytes are not known yet.
std::vector<PackedBlock> cut_blocks(std::span<const Offset> indptr, std::int64_t block_nnz);

/// Packs one block, of whose entries `columns` are the columns, and says in it how many bytes and ranks it has.
Array<std::byte> pack_block(const Offset* indptr, const Index* columns, std::int64_t cols,
                            PackedBlock& block);

}  // namespace penstock
