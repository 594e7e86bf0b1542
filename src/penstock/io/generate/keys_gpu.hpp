#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/io/generate/key_passes.hpp"
#include "penstock/io/random.hpp"
#include "penstock/kernel/structure/sort_keys.hpp"

// The kernels behind generate_gpu.cpp: all pointers are to the memory of the stream's GPU, which must be current.
namespace penstock::gpu {

inline constexpr int kKeyThreads = 256;  // of a block

/// Which keys a launch makes: those of edges [first, last), as keys of `shape`, if they are in `range`. Keys are counted
/// from range.first.
struct KeyWindow {
  KeyShape shape;
  KeyRange range;
  std::int64_t first = 0, last = 0;
  std::int64_t blocks = 0;  // thread blocks that fill the GPU
  // Counted by the host: libstdc++'s std::bit_width, called in a kernel, counts other bits.
  int column_bits = shape.column_bits();
  int granule_shift = penstock::granule_shift(range);
};

/// Appends keys in any order from keys[*held] on, and adds their number to *held. Keys beyond `limit` are counted but not
/// written. Instances: RmatEdges, UniformEdges.
template <class Edges>
void make_keys(const Edges& edges, const KeyWindow& window, std::uint64_t* keys, std::int64_t limit,
               std::int64_t* held, Stream stream);

/// Adds the keys in each granule of the range to counts[granule].
template <class Edges>
void count_keys(const Edges& edges, const KeyWindow& window, std::int64_t* counts, Stream stream);

/// Writes entries begin, begin + 1, ... of the matrix from sorted keys, and the offsets of the rows that start in `range`;
/// if the range ends the matrix, also the offset behind the last row.
template <class V>
void write_entries(const std::uint64_t* keys, std::int64_t count, KeyShape shape, KeyRange range,
                   Offset begin, EntryValues value, Offset* indptr, Index* indices, V* values, Stream stream);

}  // namespace penstock::gpu
