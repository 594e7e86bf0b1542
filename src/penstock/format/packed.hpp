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
  std::int64_t at = 0, bytes = 0;  // multiples of 128; each block begins where the one before it ends
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

  /// The bytes of all blocks. They have everything that decoding needs, and nothing else travels.
  std::int64_t nbytes() const { return bytes.size; }
};

using AnyPacked =
    std::variant<Packed<One>, Packed<float>, Packed<double>, Packed<Complex64>, Packed<Complex128>>;

struct PackOptions {
  int threads = 0;  // at most so many threads; 0: all. The bytes are the same for any number
  // Nonzeros of a block, from 1024 to 2^20. By default a block of a pattern has about 1.2 MB, and several blocks make a slot
  // of a ring.
  std::int64_t block_nnz = 1 << 19;
};

/// Reads the matrix twice, on the CPU. Throws Error{not_accessible} where the CPU cannot read it.
template <class V>
Packed<V> pack(const Csr<V>& a, const PackOptions& options = {});

/// The same arrays that were packed, with the order and the duplicates of every row, and every bit of the values.
template <class V>
Csr<V> unpack(const Packed<V>& a);

/// Throws Error{invalid_argument} naming the first block that does not fit its bytes, its neighbours or the shape. Always
/// reads every block's header; with `every_entry` it decodes everything, and what passes can be multiplied without
/// a read out of bounds.
template <class V>
void validate(const Packed<V>& a, bool every_entry);

/// The directory as rows of kDirectoryFields numbers: the first row is about the matrix, each further one about a block.
inline constexpr std::int64_t kDirectoryFields = 8;
template <class V>
std::vector<std::int64_t> directory_of(const Packed<V>& a);
/// The packed matrix of a directory and its bytes. Checks the sizes; `validate` checks the bytes.
AnyPacked packed_from(std::span<const std::int64_t> directory, Array<const std::byte> bytes);

std::string_view name(ValueKind kind);

/// How many bits the stored value of one nonzero has.
constexpr int value_bits(ValueKind kind, std::int64_t value_size) {
  switch (kind) {
    case ValueKind::none:
    case ValueKind::constant: return 0;
    case ValueKind::dictionary4: return 4;
    case ValueKind::dictionary8:
    case ValueKind::int8: return 8;
    case ValueKind::int16:
    case ValueKind::bfloat16:
    case ValueKind::float16: return 16;
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
