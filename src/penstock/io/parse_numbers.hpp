#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/io/scan.hpp"

namespace penstock {

/// All numbers of a block of text, and how many stand on each line; -1 for a comment.
template <class T>
struct Numbers {
  std::vector<T> values;
  std::vector<std::int64_t> per_line;
};

/// For formats whose lines are lists of any length (adjacency lists, hyperedges, dense arrays). T is std::int64_t or
/// double. Throws Error{invalid_argument} that names the file, the line and the token.
template <class T>
Numbers<T> parse_numbers(std::string_view text, const std::string& comments, const scan::Source& source);

}  // namespace penstock
