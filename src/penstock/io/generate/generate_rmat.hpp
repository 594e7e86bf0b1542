#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/io/kept_rows.hpp"

namespace penstock {

/// 2^scale vertices and edge_factor * 2^scale edges before duplicates are merged. The defaults are those of
/// Buono et al. 2017, section 4.1; the fourth probability is what is left of 1.
struct RmatOptions {
  int scale = 20;
  double edge_factor = 16;
  double a = 0.57, b = 0.19, c = 0.19;
  bool undirected = true;   // each edge is there in both directions
  bool self_loops = false;  // whether they are kept
  bool scramble = true;     // vertex numbers are shuffled; otherwise low numbers have the high degrees
  std::uint64_t seed = 0;
  int most_scale = 30;  // 30: columns have 32 bits
};

/// The same graph for any number of threads; rows sorted. Throws Error{invalid_argument} before it allocates.
Csr<One> generate_rmat(const RmatOptions& options);
/// Some rows of the graph. Every edge is drawn, and only those that are kept take memory.
Csr<One> generate_rmat(const RmatOptions& options, const KeptRows& keep);

}  // namespace penstock
