#pragma once
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// Plans how a matrix is made by sorting where memory is scarce. Entries are 64-bit keys, row << column_bits | column, and the
// keys are cut into ranges so that the keys of one range fit the free memory. Each pass over the generator keeps the keys of
// one range; they are sorted, and appended to the matrix without duplicates. A cut may pass through a row.
namespace penstock {

struct KeyRange {
  std::uint64_t first = 0, last = 0;  // [first, last)
  constexpr std::uint64_t size() const { return last - first; }
  /// How many bits the keys of the range differ in, when they are counted from `first`.
  constexpr int bits() const { return size() < 2 ? 0 : static_cast<int>(std::bit_width(size() - 1)); }
};

struct KeyShape {
  std::int64_t rows = 0, cols = 0;
  constexpr int column_bits() const {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(cols > 0 ? cols - 1 : 0)));
  }
  constexpr KeyRange all() const { return {0, static_cast<std::uint64_t>(rows) << column_bits()}; }
};

/// The rows [first, second) whose offsets a pass knows: those whose first possible key is in the range. The last range also
/// knows the offset behind the last row.
constexpr std::pair<std::int64_t, std::int64_t> rows_starting_in(KeyShape shape, KeyRange range) {
  const auto up = (std::uint64_t{1} << shape.column_bits()) - 1;
  const auto first = static_cast<std::int64_t>((range.first + up) >> shape.column_bits());
  const auto last = static_cast<std::int64_t>((range.last + up) >> shape.column_bits());
  return {first, last + (range.last == shape.all().last ? 1 : 0)};
}

inline constexpr int kGranuleBits = 10;  // a range is counted in at most 2^10 granules
constexpr int granule_shift(KeyRange range) {
  return range.bits() > kGranuleBits ? range.bits() - kGranuleBits : 0;
}
constexpr std::int64_t granules(KeyRange range) {
  return range.size() == 0 ? 0 : static_cast<std::int64_t>(((range.size() - 1) >> granule_shift(range)) + 1);
}

struct PassNeeds {
  std::string what, where;  // for the message: "this R-MAT", "GPU 0"
  KeyShape shape;
  std::int64_t most_keys = 0;    // an upper bound of the keys that the generator makes
  std::int64_t entry_bytes = 4;  // of the result: the column, and the value
  std::int64_t free_bytes = 0;
};

struct PassPlan {
  std::int64_t capacity = 0;     // entries that the result has room for
  std::int64_t buffer = 0;       // keys of one pass, at most; beyond it are only copies of one key
  std::int64_t bytes = 0;        // the most that is held at any time
  std::vector<KeyRange> passes;  // in order, one after the other, all keys together
};

/// Plans one pass if everything fits, otherwise as few as the free memory allows. `sort_bytes(keys)` is what sorting takes
/// beside two buffers of keys. `count(range)` counts the keys of each granule of a range; it is not called if one pass is
/// enough. Throws Error{out_of_memory} with the numbers if even kMostPasses passes are too few.
PassPlan plan_passes(const PassNeeds& needs, const std::function<std::int64_t(std::int64_t)>& sort_bytes,
                     const std::function<std::vector<std::int64_t>(KeyRange)>& count);

inline constexpr std::int64_t kMostPasses = 64;         // on average; each makes all edges again
inline constexpr std::int64_t kSmallBytes = 64 * 1024;  // tables and counters

}  // namespace penstock
