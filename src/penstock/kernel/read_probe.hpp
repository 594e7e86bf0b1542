#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"

// Reads that measure a memory and do nothing else. Each adds what it read to `*sum`, modulo 2^32, so that no compiler can
// leave a read out, and a test can check that none was left out.
namespace penstock {

/// How a GPU walks lists of 4-byte entries that lie one after the other in host memory: the copy of a large array in Min et
/// al., "EMOGI: Efficient Memory-access for Out-of-memory Graph-traversal in GPUs" (VLDB 2020), section 3.3.
enum class ReadPattern {
  strided,     // one thread walks one list, an entry at a time: 32-byte requests
  merged,      // a warp walks one list, from its first entry, wherever that lies
  misaligned,  // a warp walks one list that begins 32 bytes past a line of 128
  aligned      // the lists of `merged`, each from the line in which it begins: requests of 128 bytes
};
inline constexpr ReadPattern kReadPatterns[] = {ReadPattern::strided, ReadPattern::merged,
                                                ReadPattern::misaligned, ReadPattern::aligned};

/// List i holds the entries [skew + i * entries, skew + (i + 1) * entries) of the array.
struct ListShape {
  std::int64_t entries = 0, skew = 0;
  // The walk begins at a multiple of 32 entries, and skips the entries before the list.
  bool from_line = false;
  constexpr std::int64_t count(std::int64_t words) const {
    return words > skew ? (words - skew) / entries : 0;
  }
  constexpr std::int64_t first(std::int64_t list) const { return skew + list * entries; }
};

/// Lists of 256 bytes for threads, like those of a graph of average degree 64, and of 16 KB for warps. 4109 is
/// 13 modulo 32, so `merged` and `aligned` meet lists at every distance from a line equally often.
constexpr ListShape list_shape(ReadPattern pattern) {
  switch (pattern) {
    case ReadPattern::strided: return {64, 0, false};
    case ReadPattern::merged: return {4109, 0, false};
    case ReadPattern::misaligned: return {4096, 8, false};
    case ReadPattern::aligned: return {4109, 0, true};
  }
  return {};
}

/// The bytes of all whole lists in an array of `words` entries, which are what read_lists reads.
constexpr std::int64_t list_bytes(std::int64_t words, ReadPattern pattern) {
  return list_shape(pattern).count(words) * list_shape(pattern).entries * 4;
}

/// Reads every whole list of the array, which begins at a multiple of 128 bytes. The stream's device must be able to read
/// `data` and `sum`.
void read_lists(const std::uint32_t* data, std::int64_t words, ReadPattern pattern, std::uint32_t* sum,
                Stream stream);

/// Reads the array from begin to end, 16 bytes a thread, as fast as its memory allows, which is the GPU's own or another
/// GPU's. `data` is aligned to 16 bytes.
void read_stream(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum, Stream stream);

/// Copies the array in the same way. Both arrays are aligned to 16 bytes, and they do not overlap.
void copy_stream(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, Stream stream);

/// Launches a kernel that does nothing, to measure what a launch alone costs.
void launch_nothing(Stream stream);

namespace gpu {
void read_lists(const std::uint32_t* data, std::int64_t words, ReadPattern pattern, std::uint32_t* sum,
                Stream stream);
void read_stream(const std::uint32_t* data, std::int64_t words, std::uint32_t* sum, Stream stream);
void copy_stream(std::uint32_t* to, const std::uint32_t* from, std::int64_t words, Stream stream);
void launch_nothing(Stream stream);
}  // namespace gpu

}  // namespace penstock
