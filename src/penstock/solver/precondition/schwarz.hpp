#pragma once
#include <memory>
#include <vector>

#include "penstock/dist/product/dist_product.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// The rows that a rank owns and those whose entries of x they need: a subdomain with overlap one.
template <class V>
struct Overlap {
  Csr<V> matrix;                     // rows and columns ascend with their numbers in the whole matrix
  std::vector<Index> owned, ghosts;  // where in it each owned entry of a vector, and each ghost, lies
  std::vector<GlobalIndex> row_ids;  // the number of each of its rows
};

/// Brings the rows of the subdomain to this rank. Throws as require_square and require_whole_rows. Collective.
template <class V>
Overlap<V> overlap_of(DistProduct<V>& a);

/// What is done with solutions where subdomains overlap.
enum class Combine {
  restricted,  // each rank keeps what it owns (Cai & Sarkis 1999): one exchange less, but M is not symmetric
  weighted,    // r and z are scaled by 1 / sqrt(subdomains that have the row), z added up: symmetric
  added,       // z added up as it is (Dryja & Widlund 1987): symmetric
};

/// Additive Schwarz: z is made of all ranks' solutions on their subdomains, `inner` being this rank's solver. Its
/// functions are collective, and so is this one.
template <class T, class V>
LinearOp<T> additive_schwarz(std::shared_ptr<DistProduct<V>> a, const Overlap<V>& overlap, LinearOp<T> inner,
                             Combine combine);

}  // namespace penstock
