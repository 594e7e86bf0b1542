#pragma once
#include "penstock/partition/partition.hpp"

namespace penstock {

/// Values that one product sends from a part to another: entries of x (halo) and partial sums of rows.
struct PairTraffic {
  Index from = 0, to = 0;
  std::int64_t halo = 0, partial = 0;
};

struct PartitionMetrics {
  // For each part: its entries, the rows that it owns, the values of x that it receives, and its memory.
  std::vector<std::int64_t> nnz, rows, halo, bytes;
  // What the products of each part walk. held: rows of its local matrix. ghost_rows: rows with entries in columns that other
  // parts own. ghosts_most: the most such entries of a row. uneven: how many rows differ in length from the row before,
  // counted for the part's own columns, and, of the rows with entries in other parts' columns, for those.
  std::vector<std::int64_t> held, ghost_rows, ghosts_most, uneven;
  // Sorted by receiver, then sender; pairs that exchange nothing are left out.
  std::vector<PairTraffic> exchanges;
  double mad = 0;                   // (1/P) sum |nnz_p - nnz/P|, over nnz (Page and Kogge 2018, V-C)
  double imbalance = 1;             // the most entries of a part over the mean
  std::int64_t halo_volume = 0;     // distinct columns that a part needs and another owns, over all parts
  std::int64_t partial_volume = 0;  // sums of rows that a part has and another owns, over all parts
  std::int64_t messages = 0;        // ordered pairs of parts: one that sends x, plus one that sends sums
};

/// What a product y = A x costs in this partition. It is exact, because every entry is read once. `bytes` are those of a
/// local CSR matrix (8-byte offsets, 4-byte columns, `value_bytes` an entry) and of the part's x, halo, y and partial sums
/// (`vector_bytes` each). Needs a bit for each column and thread. Throws if p was made for another matrix.
PartitionMetrics metrics(const Csr<One>& a, const Partition& p, std::int64_t value_bytes,
                         std::int64_t vector_bytes);

}  // namespace penstock
