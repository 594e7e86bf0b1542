#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/format/packed_view.hpp"

namespace penstock {

/// Where one block of a packed matrix is, and what it holds: whole rows, or a piece of one row that is too long.
struct PackedBlock {
  std::int64_t at = 0, bytes = 0;  // multiples of 128; each block begins where the one before ends
  std::int64_t first_row = 0, rows = 0;
  Offset first_nnz = 0, nnz = 0;
  bool piece = false;
  std::int64_t ranks = 0;  // rows that have entries

  std::int64_t tiles() const { return (nnz + kTileNnz - 1) / kTileNnz; }
};

/// A matrix in fewer bytes, without loss: columns as gaps of few bits, values as the shortest type that holds them
/// exactly. One byte array and a small directory; kernels multiply straight from it. Copies share the bytes.
template <class V>
struct Packed {
  std::int64_t rows = 0, cols = 0, nnz = 0;
  ValueKind kind = ValueKind::none;
  std::shared_ptr<const std::vector<PackedBlock>> blocks;
  Array<const std::byte> bytes;

  /// What travels: all of the blocks, with everything that decoding needs.
  std::int64_t nbytes() const { return bytes.size; }
};

using AnyPacked =
    std::variant<Packed<One>, Packed<float>, Packed<double>, Packed<Complex64>, Packed<Complex128>>;

struct PackOptions {
  int threads = 0;  // at most so many; 0: all. The bytes are the same for any number
  std::int64_t block_nnz =
      1 << 19;  // of a block, 1024 to 2^20. About 1.2 MB of a pattern: several make a slot of a ring
};

/// Reads the matrix twice, on the CPU. Throws Error{not_accessible} where the CPU cannot read it.
template <class V>
Packed<V> pack(const Csr<V>& a, const PackOptions& options = {});

/// The very arrays that were packed, with the order and the duplicates of every row and each bit of the values.
template <class V>
Csr<V> unpack(const Packed<V>& a);

/// Throws Error{invalid_argument} naming the first block that does not fit its bytes, its neighbours or the shape. Always
/// reads every block's header; with `every_entry` it decodes everything, and what passes can be multiplied without
/// a read out of bounds.
template <class V>
void validate(const Packed<V>& a, bool every_entry);

/// The directory as numbers, kDirectoryFields to a row: the matrix first, then each block.
inline constexpr std::int64_t kDirectoryFields = 8;
template <class V>
std::vector<std::int64_t> directory_of(const Packed<V>& a);
/// Back from the directory, the sizes checked; `validate` checks the bytes.
AnyPacked packed_from(std::span<const std::int64_t> directory, Array<const std::byte> bytes);

std::string_view name(ValueKind kind);

/// Bits of a stored value of one nonzero.
constexpr int value_bits(ValueKind kind, std::int64_t value_size) {
  switch (kind) {
    case ValueKind::none:
    case ValueKind::constant: return 0;
    case ValueKind::dictionary4: return 4;
    case ValueKind::dictionary8:
    case ValueKind::int8: return 8;
    case ValueKind::int16: return 16;
    case ValueKind::float32: return 32;
    case ValueKind::raw: break;
  }
  return static_cast<int>(8 * value_size);
}
constexpr std::int64_t value_section_bytes(ValueKind kind, std::int64_t value_size, std::int64_t nnz) {
  return (nnz * value_bits(kind, value_size) + 7) / 8;
}
/// Entries that a dictionary has room for; unused ones are zero bits.
constexpr std::int64_t dictionary_size(ValueKind kind) {
  if (kind == ValueKind::constant) return 1;
  if (kind == ValueKind::dictionary4) return 16;
  return kind == ValueKind::dictionary8 ? 256 : 0;
}

}  // namespace penstock
