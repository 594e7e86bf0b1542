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

/// n^3 x n^3, x fastest, central differences with step 1 / (n + 1): at most 7 entries a row, those towards
/// the boundary are dropped.
template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& options = {});
template <class V>
Csr<V> generate_advection_diffusion(std::int64_t n, const AdvectionDiffusionOptions& options,
                                    const KeptRows& keep);

/// The Laplacian on a grid of one, two or three extents, the first fastest: twice the number of axes on the
/// diagonal, -1 for each neighbour. Symmetric positive definite.
template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents);
template <class V>
Csr<V> generate_laplacian(const std::vector<std::int64_t>& extents, const KeptRows& keep);

}  // namespace penstock
