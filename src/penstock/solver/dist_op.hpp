#pragma once
#include <memory>

#include "penstock/dist/product/dist_product.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/matrix_op.hpp"

namespace penstock {

/// The space of vectors that are shared out among the ranks of a Comm. All methods of solve.hpp work on them, each rank with its
/// own rows. All ranks take the same decisions, because a sum has the same bits on all of them. `all_rows` are the rows of
/// the whole vectors.
Space space_of(std::shared_ptr<Comm> comm, GlobalIndex all_rows);

/// Throws Error{invalid_argument}, on every rank, unless the matrix is square and the owner of each row owns that entry of x.
/// Collective.
template <class V>
void require_square(const DistCsr<V>& a);

/// Throws Error{invalid_argument}, on every rank, where rows are split among ranks. `method` needs them whole. Collective.
template <class V>
void require_whole_rows(const DistCsr<V>& a, const std::string& method);

/// The product of a matrix that is shared out as an operator. Its functions are collective. `prepare_after` as for
/// matrix_op, of each rank's local block. Throws as require_square. Collective.
template <class T, class V>
LinearOp<T> dist_op(std::shared_ptr<DistProduct<V>> a, const MatrixOpOptions& options = {});

/// The diagonal entries of the rows that are owned here, whichever ranks hold them. Collective.
template <class V>
std::vector<double> diagonal_of(DistProduct<V>& a);

/// M = this diagonal matrix, which methods fold into their passes.
template <class T>
LinearOp<T> diagonal_op(Array<const T> diagonal);

/// Rows and columns that are owned here: what block preconditioners work on. Shares its arrays. Throws as
/// require_square and require_whole_rows. Collective.
template <class V>
Csr<V> diagonal_block(const DistProduct<V>& a);

}  // namespace penstock
