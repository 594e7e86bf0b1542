#pragma once
#include <cstdint>
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/io/kept_rows.hpp"

namespace penstock {

struct UniformOptions {
  std::int64_t rows = 0, cols = 0;
  double nnz_per_row = 16;  // on average, before duplicates are merged
  std::uint64_t seed = 0;
};

/// Entries at positions drawn independently: Erdos-Renyi with rows of about Poisson length, sorted.
Csr<One> generate_uniform(const UniformOptions& options);
Csr<One> generate_uniform(const UniformOptions& options, const KeptRows& keep);

/// An n x n matrix with full diagonals at `offsets` (column minus row), which come in any order, each once.
Csr<One> generate_banded(std::int64_t n, std::vector<std::int64_t> offsets);
Csr<One> generate_banded(std::int64_t n, std::vector<std::int64_t> offsets, const KeptRows& keep);

}  // namespace penstock
