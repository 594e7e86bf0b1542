#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock {

/// A step of pushed changes for rows [first, last) of the edges by their ends: the innermost loop of many PageRanks at once, with a
/// version for each instruction set. Columns come in groups of 16, and a row of them is `16 groups` numbers long. Of `pushed` and
/// `next`, which are rounded to 16 bits, word i of a group has column i in its lower half and column i + 8 in its upper one. It has
/// raw pointers only, for the reason that RowsArgs gives.
struct PushArgs {
  const Offset* indptr;
  const Index* indices;
  const std::uint32_t* pushed;  // of each vertex what it sends along each of its edges
  std::int64_t first, last;
  int groups;                   // 1 to 4
  Offset known;                 // indices below this position may be read ahead of their row
  float* cell = nullptr;        // where given, gets what comes in, and that is all: the row is a piece of one
  const float* sum = nullptr;   // where given, what came in by the pieces of a row
  const double* out = nullptr;  // the weight out of a vertex
  float alpha = 1;
  float* left = nullptr;          // of each vertex what it has not pushed yet,
  float* ranks = nullptr;         // and what it has
  std::uint32_t* next = nullptr;  // what it sends in the next step
  float* sums =
      nullptr;  // 3 rows: |left|, left, and what vertices without edges push next; these are added to
};

using PushKernel = void (*)(const PushArgs&);
/// The best version for this CPU.
PushKernel push_kernel();

namespace avx2 {
void push_rows(const PushArgs&);
}
namespace avx512 {
void push_rows(const PushArgs&);
}

}  // namespace penstock
