#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// The dense accumulator of a row over a window of columns. `flags` has a byte for each column, which is 1 if the row has a
/// product there; `groups` has a byte for every 64 columns. Between rows all flags are 0 and all sums are `zero`.
template <class T>
struct ScanArgs {
  std::uint8_t* flags;
  std::uint8_t* groups;
  T* sums;
  std::int64_t count;  // of groups in the window; `groups` is readable, and 0, up to a multiple of 64
  bool all;            // look at every group, because `groups` was not written
  Index first;         // column of flags[0]
  T zero;
  Index* columns;  // out
  T* values;       // out
};

/// Writes the columns that were hit in ascending order, with their sums, clears the window, and returns their number.
template <class T>
using ScanKernel = std::int64_t (*)(const ScanArgs<T>&);

/// The best version for this CPU. T is float, double, complex, or std::uint8_t, which has no sums.
template <class T>
ScanKernel<T> scan_kernel();

namespace avx512 {
template <class T>
std::int64_t scan(const ScanArgs<T>&);
}

}  // namespace penstock
