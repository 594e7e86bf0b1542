#include "penstock/io/kept_rows.hpp"

namespace penstock {

KeptRows kept_rows(const Partition& p, Index part) {
  KeptRows keep;
  keep.among = RankedBits(p.rows);
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.row_owners.data[r] == part) keep.among.insert(r);
  for (const auto& piece : p.pieces)
    if (piece.part == part) keep.among.insert(piece.row);
  keep.among.seal();
  keep.count = keep.among.count();
  const auto numbers = allocate_apart<GlobalIndex>(keep.count);
  keep.among.each([to = numbers.data](GlobalIndex r) mutable { *to++ = r; });
  keep.numbers = numbers;
  return keep;
}

}  // namespace penstock
