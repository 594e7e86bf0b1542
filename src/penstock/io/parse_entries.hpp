#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/io/scan.hpp"

namespace penstock {

/// How a line of text spells one entry of a matrix.
struct EntryFormat {
  /// One letter a column: i row, j column, v value, w imaginary part, n value that must be an integer, x anything,
  /// a the letter a itself.
  std::string columns;
  char separator = 0;        // 0: blanks; otherwise exactly one between fields, which may stand in double quotes
  std::string comments;      // a line that starts with one of these is skipped, as is a blank line
  std::int64_t base = 0;     // the first row and column are called this
  std::int64_t rows = 0;     // bounds of the numbers
  std::int64_t cols = 0;
  std::string hint;          // the remedy: ends the message about a row or column number
};

enum class ValueKind { none, float32, float64, complex64, complex128 };

/// Arrays with room for so many entries.
struct EntryArrays {
  std::int64_t room;
  void* row;                 // int32, or int64 where wide_row
  bool wide_row = false;
  std::int32_t* col;
  void* values = nullptr;
  ValueKind kind = ValueKind::none;
};

struct Parsed {
  std::int64_t entries;      // -1: the arrays have less room than the text has lines; nothing was parsed
  std::int64_t lines;
};

/// Parses whole lines on all threads. The entries lie at the start of the arrays in the order of the lines. Throws Error{invalid_argument} that names the file, the first bad line, and what is wrong with it.
Parsed parse_entries(std::string_view text, const EntryFormat& format, const EntryArrays& out,
                     const scan::Source& source);

}  // namespace penstock
