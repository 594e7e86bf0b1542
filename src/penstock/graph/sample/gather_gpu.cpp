// Rows of a feature matrix, copied by a device in the largest words to which everything is aligned; many rows of host memory in
// the order of their addresses.
#include "penstock/graph/sample/gather_gpu.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/graph/sample/atomics.hpp"
#include "penstock/graph/sample/gather_steps.hpp"

namespace penstock::graph {
namespace {

// A million random rows out of 4 GiB of pinned memory came over the link of an H100 at 0.36 of its rate, in the order of their
// addresses at 0.92, the sort included: the GPU translates few addresses of host memory at once. Thousands of rows are under way
// together, so that within a stretch of some megabytes the order does not matter, and few bits are sorted.
constexpr int kLogStretch = 21;
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
RowOrder order_of(const FeatureRows& features, const Id* ids, std::int64_t n, const std::int32_t* slot_of,
                  Stream stream) {
  const auto bytes = features.rows * features.stride;
  const bool far = place_of(features.first).memory != Memory::device;
  const auto stretches = (bytes >> kLogStretch) + 1;
  constexpr auto kMost = std::int64_t{1} << 32;
  if (!far || n < kOrderedRows || bytes < kOrderedBytes || n >= kMost || stretches >= kMost) return {};
  constexpr int kArrays = 4, kKey = sizeof(std::uint32_t);
  RowOrder out{allocate_scratch(kArrays * n * kKey, stream)};
  auto* const keys = static_cast<std::uint32_t*>(out.memory.get());
  auto* const rows = keys + 2 * n;
  each(n,
       NumberRows<Id>{
           ids, features.stride, kLogStretch, {slot_of}, static_cast<std::uint32_t>(stretches), keys, rows},
       stream);
  const int bits = bits_below(stretches + 1);
  out.rows = sort_numbers(keys, keys + n, rows, rows + n, n, bits, stream) ? rows + n : rows;
  return out;
}

template <class Id>
void copy_rows(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out, Stream stream,
               const HotRows* hot) {
  const auto* const slot_of = hot ? hot->slot_of() : nullptr;
  const auto together =
      reinterpret_cast<std::uintptr_t>(features.first) | reinterpret_cast<std::uintptr_t>(out) |
      static_cast<std::uintptr_t>(features.row_bytes) | static_cast<std::uintptr_t>(features.stride);
  const auto order = order_of(features, ids, n, slot_of, stream);
  const auto copy = [&]<class Word>(Word) {
    constexpr auto kWord = static_cast<std::int64_t>(sizeof(Word));
    const auto words = features.row_bytes / kWord;
    const int log = log_threads_of(words);
    each(n << log,
         CopyRowWords<Word, Id>{reinterpret_cast<const Word*>(features.first),
                                features.stride / kWord,
                                words,
                                log,
                                ids,
                                order.rows,
                                {slot_of, slot_of ? reinterpret_cast<const Word*>(hot->first()) : nullptr},
                                reinterpret_cast<Word*>(out)},
         stream);
  };
  if (together % sizeof(Word16) == 0) copy(Word16{});
  else if (together % sizeof(std::uint64_t) == 0) copy(std::uint64_t{});
  else if (together % sizeof(std::uint32_t) == 0) copy(std::uint32_t{});
  else if (together % sizeof(std::uint16_t) == 0) copy(std::uint16_t{});
  else copy(std::uint8_t{});
}

constexpr std::int64_t kIdsOfACount = 64;

}  // namespace

HotRows::HotRows(const FeatureRows& features, std::span<const std::int64_t> rows, Where where)
    : where_(where),
      count_(std::ssize(rows)),
      slot_of_(allocate<std::int32_t>(features.rows, device_place(where))),
      copies_(allocate<std::byte>(count_ * features.row_bytes, device_place(where))),
      found_(allocate<std::int64_t>(1, device_place(where))) {
  const OwnedStream stream(where);
  const auto there = scratch<std::int64_t>(count_, stream);
  copy_async(there.data, rows.data(), there.bytes(), stream);
  fill_async(slot_of_.data, 0xff, slot_of_.bytes(), stream);
  fill_async(found_.data, 0, found_.bytes(), stream);
  gather_rows_on(features, there.data, count_, copies_.data, stream);
  each(count_, PlaceSlots{there.data, slot_of_.data}, stream);
  synchronize(stream);
}

HotRows::~HotRows() {
  try {
    for (auto& [handle, event] : read_) synchronize(event);
  } catch (const Error&) {  // of a GPU that has failed, which whoever waits for results is told
  }
}

template <class Id>
void HotRows::count(const Id* ids, std::int64_t n, Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto calls = (n + kIdsOfACount - 1) / kIdsOfACount;
  each_atomic<CountHotRows<Id>::template Step>(calls, stream, ids, n, calls, slot_of_.data, found_.data);
  record(read_.try_emplace(stream.handle, where_).first->second, stream);
  gathered_ += n;
}

HotRows::Counts HotRows::counts() {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, event] : read_) synchronize(event);
  const OwnedStream stream(where_);
  return {gathered_, fetch(found_.data, stream)};
}

template <class Id>
void gather_rows_on(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out, Stream stream,
                    HotRows* hot) {
  require(!is_capturing(stream),
          "gather looks at its ids before it copies rows, which a stream that is being captured cannot: "
          "gather before the capture");
  const auto bad = find_first(n, IsOutside<Id>{ids, features.rows}, stream);
  if (bad != kNone)
    throw Error(Errc::invalid_argument, "ids[" + std::to_string(bad) +
                                            "]=" + std::to_string(fetch(ids + bad, stream)) + " is outside " +
                                            std::to_string(features.rows) + " rows of features");
  if (features.row_bytes > 0) copy_rows(features, ids, n, out, stream, hot);
  if (hot) hot->count(ids, n, stream);
}

template void gather_rows_on(const FeatureRows&, const std::int32_t*, std::int64_t, std::byte*, Stream,
                             HotRows*);
template void gather_rows_on(const FeatureRows&, const std::int64_t*, std::int64_t, std::byte*, Stream,
                             HotRows*);

}  // namespace penstock::graph
