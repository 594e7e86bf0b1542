#pragma once
#include "penstock/format/csr.hpp"

// The parts of validate() and of the checks of coo_to_csr() that read no entry: for matrices in memory that the CPU cannot
// read, whose entries a GPU looks at. All throw Error{invalid_argument}.
namespace penstock {

/// What validate() asks of the shape, of the lengths of the arrays, and of the first and last row offset, which are given.
template <class V>
void validate_sizes(const Csr<V>& a, Offset first, Offset last);

/// The errors for offsets that fall from `first` to `last` at a row, and for the column of entry k.
[[noreturn]] void refuse_offsets(std::int64_t row, Offset first, Offset last);
[[noreturn]] void refuse_column(Offset k, std::int64_t column, std::int64_t cols);

/// The error for the row or column number of a triple that is outside of [0, extent). `what` is "row" or "column".
[[noreturn]] void refuse_entry(const char* what, std::int64_t entry, std::int64_t index, std::int64_t extent);

}  // namespace penstock
