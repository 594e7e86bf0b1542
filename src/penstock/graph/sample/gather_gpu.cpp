// Rows of a feature matrix, copied by a device in the largest words to which everything is aligned; many rows of host memory in
// the order of their addresses.
#include "penstock/graph/sample/gather_gpu.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/gather_steps.hpp"

namespace penstock::graph {
namespace {

// Random rows of 4 GiB of pinned memory came over the link of an H100 at 0.36 of its rate, in the order of their addresses at
// 0.97: the GPU translates few addresses of host memory at once. Within a stretch the order does not matter.
constexpr int kLogStretch = 16;
constexpr std::int64_t kOrderedRows = 1 << 15,
                       kOrderedBytes = 1 << 28;  // from which on sorting is worth its time

/// The numbers of the rows in the order of the memory that they lie in.
struct RowOrder {
  std::shared_ptr<void> memory;
  const std::uint32_t* rows = nullptr;  // null: not worth it
};

/// Sorts by the low bits of the keys. Returns whether the result is in the other arrays.
bool sort_numbers(std::uint32_t* keys, std::uint32_t* other_keys, std::uint32_t* rows,
                  std::uint32_t* other_rows, std::int64_t n, int bits, Stream stream) {
  constexpr int kBytes = sizeof(std::uint32_t);
  if (!stream.where.is_gpu())
    return cpu::sort_pairs(keys, other_keys, kBytes, rows, other_rows, kBytes, n, bits);
  if constexpr (have_cuda)
    return gpu::sort_pairs(keys, other_keys, kBytes, rows, other_rows, kBytes, n, bits, stream);
  return false;
}

template <class Id>
RowOrder order_of(const FeatureRows& features, const Id* ids, std::int64_t n, Stream stream) {
  const auto bytes = features.rows * features.stride;
  const bool far = place_of(features.first).memory != Memory::device;
  const auto stretches = (bytes >> kLogStretch) + 1;
  constexpr auto kMost = std::int64_t{1} << 32;
  if (!far || n < kOrderedRows || bytes < kOrderedBytes || n >= kMost || stretches >= kMost) return {};
  constexpr int kArrays = 4, kKey = sizeof(std::uint32_t);
  RowOrder out{allocate_scratch(kArrays * n * kKey, stream)};
  auto* const keys = static_cast<std::uint32_t*>(out.memory.get());
  auto* const rows = keys + 2 * n;
  each(n, NumberRows<Id>{ids, features.stride, kLogStretch, keys, rows}, stream);
  out.rows = sort_numbers(keys, keys + n, rows, rows + n, n, bits_below(stretches), stream) ? rows + n : rows;
  return out;
}

}  // namespace

template <class Id>
void gather_rows_on(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out,
                    Stream stream) {
  require(!is_capturing(stream),
          "gather looks at its ids before it copies rows, which a stream that is being captured cannot: "
          "gather before the capture");
  const auto bad = find_first(n, IsOutside<Id>{ids, features.rows}, stream);
  if (bad != kNone)
    throw Error(Errc::invalid_argument, "ids[" + std::to_string(bad) +
                                            "]=" + std::to_string(fetch(ids + bad, stream)) + " is outside " +
                                            std::to_string(features.rows) + " rows of features");
  if (features.row_bytes == 0) return;
  const auto together =
      reinterpret_cast<std::uintptr_t>(features.first) | reinterpret_cast<std::uintptr_t>(out) |
      static_cast<std::uintptr_t>(features.row_bytes) | static_cast<std::uintptr_t>(features.stride);
  const auto order = order_of(features, ids, n, stream);
  const auto copy = [&]<class Word>(Word) {
    constexpr auto kWord = static_cast<std::int64_t>(sizeof(Word));
    const auto words = features.row_bytes / kWord;
    const int log = log_threads_of(words);
    each(n << log,
         CopyRowWords<Word, Id>{reinterpret_cast<const Word*>(features.first), features.stride / kWord, words,
                                log, ids, order.rows, reinterpret_cast<Word*>(out)},
         stream);
  };
  if (together % sizeof(Word16) == 0) copy(Word16{});
  else if (together % sizeof(std::uint64_t) == 0) copy(std::uint64_t{});
  else if (together % sizeof(std::uint32_t) == 0) copy(std::uint32_t{});
  else if (together % sizeof(std::uint16_t) == 0) copy(std::uint16_t{});
  else copy(std::uint8_t{});
}

template void gather_rows_on(const FeatureRows&, const std::int32_t*, std::int64_t, std::byte*, Stream);
template void gather_rows_on(const FeatureRows&, const std::int64_t*, std::int64_t, std::byte*, Stream);

}  // namespace penstock::graph
