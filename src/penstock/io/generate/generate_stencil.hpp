#pragma once
#include <cstdint>
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/io/kept_rows.hpp"

namespace penstock {

/// -a laplace(u) + b . grad(u) + c u on the unit cube, zero on its faces; the same a and b along each axis.
/// The defaults are those of PSBLAS's pdegen test, whose matrices Cardellini et al. 2014 call pdeN.
struct AdvectionDiffusionOptions {
  double a = 1.0 / 80;
  double b = 0.57735026918962576;  // 1 / sqrt(3)
  double c = 0;
};

/// A matrix of n^3 x n^3 from central differences with step 1 / (n + 1); x varies fastest. A row has at most 7 entries;
/// those towards the boundary are dropped.
template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& options = {});
template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& options,
                                    const KeptRows& keep);

/// The Laplacian on a grid with one, two or three extents, of which the first varies fastest: twice the number of axes on
/// the diagonal, -1 for each neighbour. Symmetric positive definite.
template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents);
template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents, const KeptRows& keep);

}  // namespace penstock
