#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::graph {

/// Copies the rows `ids` of a matrix of `rows` rows of `row_bytes` bytes, each `stride` bytes behind the last, one behind the
/// other to `out`. With `in_order` rows are visited in the order of their addresses, so that each page of a file is read once.
/// Throws Error{invalid_argument} for an id outside, before anything is copied.
void gather_rows(const std::byte* features, std::int64_t rows, std::int64_t row_bytes, std::int64_t stride,
                 std::span<const std::int64_t> ids, std::byte* out, bool in_order);

}  // namespace penstock::graph
