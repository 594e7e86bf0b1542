#pragma once
#include <cstddef>
#include <cstdint>

#include "penstock/core/device.hpp"

// Rows of a feature matrix for a device: from its own memory, or from pinned memory, where its threads read them in place.
namespace penstock::graph {

struct FeatureRows {
  const std::byte* first = nullptr;
  std::int64_t rows = 0, row_bytes = 0;
  std::int64_t stride = 0;  // bytes from one row to the next
};

/// Queues copies of the rows `ids` (std::int32_t or std::int64_t, on the stream's device), one behind the other to `out` there.
/// It waits for the ids, and not for the copies: what it reads must stay until the stream has come to their end. Throws
/// Error{invalid_argument} for the first id outside, before anything is copied.
template <class Id>
void gather_rows_on(const FeatureRows& features, const Id* ids, std::int64_t n, std::byte* out,
                    Stream stream);

}  // namespace penstock::graph
