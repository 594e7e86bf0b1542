#pragma once
#include "penstock/partition/partition.hpp"

namespace penstock {

/// Values that one product sends from a part to another: entries of x (halo) and partial sums of rows.
struct PairTraffic {
  Index from = 0, to = 0;
  std::int64_t halo = 0, partial = 0;
};

struct PartitionMetrics {
  std::vector<std::int64_t> nnz, rows, halo,
      bytes;  // of each part: entries, rows owned, values of x received, memory
  // Of each part, what its products walk: rows of its local matrix, those with entries in columns that others own, the
  // most such entries of a row, and how many rows differ in length from the row before: in their own columns, and, of
  // those that have entries in others', in these.
  std::vector<std::int64_t> held, ghost_rows, ghosts_most, uneven;
  std::vector<PairTraffic> exchanges;  // by receiver, then sender; none without values
  double mad = 0;                      // (1/P) sum |nnz_p - nnz/P|, over nnz (Page and Kogge 2018, V-C)
  double imbalance = 1;                // the most entries of a part over the mean
  std::int64_t halo_volume = 0;        // distinct columns that a part needs and another owns, over all parts
  std::int64_t partial_volume = 0;     // sums of rows that a part has and another owns, over all parts
  std::int64_t messages = 0;           // ordered pairs of parts: one that sends x, plus one that sends sums
};

/// What a product y = A x costs in this partition. Exact, by reading every entry once. Memory is that of a local CSR
/// (8-byte offsets, 4-byte columns, `value_bytes` an entry) and of the part's x, halo, y and partial sums
/// (`vector_bytes` each). Needs a bit a column for each thread. Throws where p was made of another matrix.
PartitionMetrics metrics(const Csr<One>& a, const Partition& p, std::int64_t value_bytes,
                         std::int64_t vector_bytes);

}  // namespace penstock
