#pragma once
#include "penstock/format/csr.hpp"
#include "penstock/solver/linear_op.hpp"
#include "penstock/solver/multigrid/rank_rows.hpp"

// What multigrid asks of the matrix that it is given. Each throws Error{invalid_argument}, on all ranks.
namespace penstock {

/// That the entries of the diagonal are positive; `inverse` holds theirs.
template <class T>
void require_positive_diagonal(const Array<const T>& inverse, const RankRows& rows);

/// That A is symmetric: x . A y = y . A x for two vectors that look random, so that an A that is not symmetric is found with
/// certainty in practice.
template <class T>
void require_symmetric(const LinearOp<T>& product, const RankRows& rows);

// What they throw, also where the matrix is in a device's memory.

[[noreturn]] void throw_not_positive(std::int64_t row);

/// `sums`: x . A y, y . A x, x . x and A y . A y of all rows.
template <class T>
void require_symmetric_sums(const double* sums, std::int64_t all_rows, bool over_ranks);

}  // namespace penstock
