#pragma once
#include <cstdint>
#include <string_view>

namespace penstock {

/// Throws Error{invalid_argument} naming the argument, its value, the range and the reason. NaN is outside.
void require_between(std::string_view name, double value, double low, double high, std::string_view why);

/// Throws Error{out_of_memory} if a matrix of `rows` rows and `entries` entries (value_bytes each, and 6 bytes for columns and
/// the sort) cannot fit the memory that is free now: a generator should say so rather than be killed while it works.
void require_memory(std::string_view what, std::int64_t rows, std::int64_t entries,
                    std::int64_t value_bytes = 0);

/// The same for what is known to take so many bytes; `fewer` names what to ask for less of.
void require_bytes(std::string_view what, double bytes, std::string_view fewer);

/// Throws Error{invalid_argument} unless 1 <= n <= 2^31 - 1: the rows or columns of a generated matrix.
void require_extent(std::string_view name, std::int64_t n);

}  // namespace penstock
