#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

inline constexpr int kMostJoined = 16;  // how many matrices one call joins at most

/// A sparse matrix whose row offsets begin at 0, with values of any type, or none.
struct JoinPart {
  std::int64_t rows = 0, cols = 0;
  Offset nnz = 0;
  const Offset* indptr = nullptr;
  const Index* indices = nullptr;
  const void* values = nullptr;
};
/// Room for the joined matrix: rows + 1 offsets, all columns, all values.
struct Joined {
  Offset* indptr = nullptr;
  Index* indices = nullptr;
  std::byte* values = nullptr;  // null: there are none
};

/// [A1 A2 ...], of matrices with equally many rows. `value_bytes` is 0 (no values), 4 or 8. Everything is in the memory of the
/// stream's device, and done in the order of the stream. There are at most kMostJoined parts, with fewer than 2^31 columns
/// together. Throws Error{not_compiled} for a GPU in a build without CUDA.
void join_beside(std::span<const JoinPart> parts, int value_bytes, const Joined& to, Stream stream);
/// [A1; A2; ...], of matrices with equally many columns.
void join_below(std::span<const JoinPart> parts, int value_bytes, const Joined& to, Stream stream);

namespace gpu {
struct JoinOffsets {
  const Offset* of[kMostJoined] = {};
  int count = 0;
};
/// out[r] = the sum of offset r of all parts, for r in [0, n).
void sum_offsets(const JoinOffsets& parts, std::int64_t n, Offset* out, Stream stream);
/// out[r] = from[r] + by.
void shift_offsets(const Offset* from, std::int64_t n, Offset by, Offset* out, Stream stream);
/// Copies the entries of a part to their places, and adds `first` to their columns.
void place_entries(const JoinOffsets& parts, int which, const JoinPart& part, Index first, int value_bytes,
                   const Joined& to, Stream stream);
}  // namespace gpu

}  // namespace penstock
