#pragma once
#include <cstdint>
#include <string>

#include "penstock/format/csr.hpp"

namespace penstock {

/// How rows of a matrix are spelled as text.
struct RowFormat {
  bool lists = false;       // a line a row: "column [value] column [value] ..."; otherwise a line an entry: "row column [value]"
  std::string prefix;       // starts every line
  char separator = ' ';
  std::int64_t base = 0;    // what the first row and column are called
};

/// Rows [first, last) as text, on all threads. Numbers are the shortest that read back to the same value; a complex value
/// is two numbers; a pattern has no values.
template <class V>
std::string format_rows(const Csr<V>& a, std::int64_t first, std::int64_t last, const RowFormat& format);

}  // namespace penstock
