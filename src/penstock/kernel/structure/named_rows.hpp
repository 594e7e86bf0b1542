#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "penstock/kernel/structure/steps.hpp"

// Rows and columns that are named one by one: those with entries, found on the device that has the entries, and what is copied of
// another matrix for them. The CPU is a device, too.
namespace penstock {

/// Bits of a word of marks, and how many words n marks have.
inline constexpr int kMarks = 32;
constexpr std::int64_t mark_words(std::int64_t n) { return (n + kMarks - 1) / kMarks; }

/// Marks the columns of `count` entries; earlier marks stay.
void mark_columns(const Index* indices, Offset count, std::uint32_t* marks, Stream stream);
/// Marks the rows with entries.
void mark_rows(const Offset* indptr, std::int64_t rows, std::uint32_t* marks, Stream stream);
/// Marks these rows.
void mark_named(const Index* names, std::int64_t count, std::uint32_t* marks, Stream stream);

/// The numbers below n that are marked, ascending, in the device's memory. It waits for the stream.
Array<const Index> named_by(const std::uint32_t* marks, std::int64_t n, Stream stream);
/// The columns that `count` entries have, and the rows with entries, in the same way.
Array<const Index> named_columns(const Index* indices, Offset count, std::int64_t columns, Stream stream);
Array<const Index> named_rows(const Offset* indptr, std::int64_t rows, Stream stream);

/// Copies the named rows of `row_bytes` each to the same places behind `to`, where others are not touched. The device reads `from`,
/// which may be another GPU's memory.
void copy_rows(std::byte* to, const std::byte* from, std::int64_t row_bytes, const Index* names,
               std::int64_t count, Stream stream);

/// ends[0 .. rows] becomes the offsets of a matrix that has the entries of the named rows only. `from`: the offsets of all rows; those
/// of rows that are not named, and of the rows after them, are not read.
void ends_of_named(const Index* names, std::int64_t count, const Offset* from, std::int64_t rows,
                   Offset* ends, Stream stream);
/// How many entries the named rows have. It waits for the stream.
Offset entries_of_named(const Index* names, std::int64_t count, const Offset* from, Stream stream);
/// Copies what `each` bytes (1, 4 or 8) an entry say of the named rows' entries: from where `from_ends` says to where `to_ends` says.
void copy_entries(const Index* names, std::int64_t count, const Offset* from_ends, const std::byte* from,
                  const Offset* to_ends, std::byte* to, int each, Stream stream);

namespace steps {

constexpr int ones(std::uint32_t word) {
  int n = 0;
  for (; word != 0; word &= word - 1) ++n;
  return n;
}

/// ends[w] = marks in word w
struct CountMarks {
  const std::uint32_t* marks;
  Offset* ends;
  constexpr void operator()(std::int64_t w) const { ends[w] = ones(marks[w]); }
};
/// Lists the marks of word w from list[ends[w]] on.
struct ListMarks {
  const std::uint32_t* marks;
  const Offset* ends;
  Index* list;
  constexpr void operator()(std::int64_t w) const {
    auto* to = list + ends[w];
    for (int bit = 0; bit < kMarks; ++bit)
      if (marks[w] >> bit & 1) *to++ = Index(w * kMarks + bit);
  }
};
/// The number of entries of the row named i-th, at its own place or at i.
struct NamedLengths {
  const Index* names;
  const Offset* from;
  Offset* ends;
  bool at_row;
  constexpr void operator()(std::int64_t i) const {
    const auto row = names[i];
    ends[at_row ? std::int64_t(row) : i] = from[row + 1] - from[row];
  }
};

}  // namespace steps

namespace gpu {
void mark_columns(const Index* indices, Offset count, std::uint32_t* marks, Stream stream);
void mark_rows(const Offset* indptr, std::int64_t rows, std::uint32_t* marks, Stream stream);
void copy_rows(std::byte* to, const std::byte* from, std::int64_t row_bytes, const Index* names,
               std::int64_t count, Stream stream);
void copy_entries(const Index* names, std::int64_t count, const Offset* from_ends, const std::byte* from,
                  const Offset* to_ends, std::byte* to, int each, Stream stream);
}  // namespace gpu

}  // namespace penstock

#define PENSTOCK_FOR_EACH_NAMED_STEP(X) \
  X(steps::CountMarks)                  \
  X(steps::ListMarks)                   \
  X(steps::NamedLengths)
