#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// out[k] = the inner product of x and row columns[k] of Y, for k < count: the innermost loop of the sampled product, with one
/// version for each instruction set. It has raw pointers only, for the reason that RowsArgs gives.
template <class T>
struct DotsArgs {
  const T* x;
  const T* y;
  std::int64_t y_step;  // entries from one row of Y to the next
  std::int64_t width;   // entries of a row
  const Index* columns;
  std::int64_t count;
  std::int64_t
      known;  // columns that may be read, those of later rows included: their rows of Y are prefetched
  T* out;
};

template <class T>
using DotsKernel = void (*)(const DotsArgs<T>&);

/// The best version for this CPU, of float and double.
template <class T>
DotsKernel<T> dots_kernel();

namespace avx2 {
template <class T>
void dots(const DotsArgs<T>&);
}
namespace avx512 {
template <class T>
void dots(const DotsArgs<T>&);
}

}  // namespace penstock
