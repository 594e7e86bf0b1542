#pragma once
#include <string>

#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// Arrays of others in the memory of a stream's device, made into those of a matrix and checked. All wait for the stream.
namespace penstock {

/// Throws what validate() throws, for a matrix in that memory; all of it is read.
template <class V>
void validate_on(const Csr<V>& a, Stream stream);

/// Row offsets of 32 bits as 64.
Array<const Offset> wide_offsets(const std::int32_t* offsets, std::int64_t n, Stream stream);

/// Columns of 64 bits as 32. Throws Error{invalid_argument} that names the first one that does not fit; `name` is what it
/// calls them.
Array<const Index> narrow_columns(const std::int64_t* columns, std::int64_t n, const std::string& name,
                                  Stream stream);

/// Row offsets as 32 bits, for other libraries. Throws Error{invalid_argument} beyond 2^31 - 1 entries.
Array<const std::int32_t> narrow_offsets(const Array<const Offset>& offsets, Offset entries, Stream stream);

}  // namespace penstock
