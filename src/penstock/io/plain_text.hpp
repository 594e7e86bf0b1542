#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock {

/// The number of lines of `text`, or -1 unless every line holds just the given columns, with one blank between two, and ends
/// with a newline. A column is 'i' or 'j' (an index: digits), 'n' (an integer: digits, perhaps a minus) or 'v', 'w' (a
/// number: a minus, digits with a point, an exponent with e or E). It reads no number: it is the check that lenient readers
/// of numbers lack.
/// Throws Error{invalid_argument} for other column letters.
std::int64_t plain_lines(std::span<const unsigned char> text, std::string_view columns);

}  // namespace penstock
