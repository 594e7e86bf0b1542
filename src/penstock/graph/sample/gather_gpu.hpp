#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"

// Rows of a feature matrix for a device: from its own memory, or from pinned memory, where its threads read them in place.
namespace penstock::graph {

struct FeatureRows {
  const std::byte* first = nullptr;
  std::int64_t rows = 0, row_bytes = 0;
  std::int64_t stride = 0;  // bytes from one row to the next
};

/// Copies in a device's memory of the rows that are wanted most often.
class HotRows {
 public:
  /// Copies these rows, at most 2^31 - 1, which are in host memory, each once. Waits for the copies.
  HotRows(const FeatureRows& features, std::span<const std::int64_t> rows, Where where);
  ~HotRows();  // when all that reads them is done
  HotRows(const HotRows&) = delete;
  HotRows& operator=(const HotRows&) = delete;

  Where where() const { return where_; }
  const std::int32_t* slot_of() const { return slot_of_.data; }
  const std::byte* first() const { return copies_.data; }
  /// Queues the counting of those of n rows that have copies, behind the call that reads these.
  template <class Id>
  void count(const Id* ids, std::int64_t n, Stream stream);
  /// Rows that were gathered, and those of them that have copies. Waits until all that is queued has been counted.
  struct Counts {
    std::int64_t gathered = 0, found = 0;
  };
  Counts counts();

 private:
  Where where_;
  std::int64_t count_;
  Array<std::int32_t> slot_of_;
  Array<std::byte> copies_;
  Array<std::int64_t> found_;
  std::mutex mutex_;
  std::int64_t gathered_ = 0;
  std::map<void*, OwnedEvent> read_;  // the last call of each stream, which may be gone by now
};

/// Queues copies of the rows `ids` (std::int32_t or std::int64_t, on the stream's device), one behind the other to `out` there.
/// Rows that `hot` has are read there. It waits for the ids, and not for the copies: what it reads must stay until the stream has
/// come to their end. Throws Error{invalid_argument} for the first id outside, before anything is copied.
template <class Id>
void gather_rows_on(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out, Stream stream,
                    HotRows* hot = nullptr);

}  // namespace penstock::graph
