#pragma once
#include "penstock/format/csr.hpp"

// Operations on two matrices of one shape, entry by entry. Both must have canonical rows (sort_rows makes them), and so has
// the result. Which entries the result stores follows from those that A and B store, and not from values: sums that cancel
// stay as explicit zeros. All throw Error{invalid_argument} if the shapes differ.
namespace penstock {

/// The operation if both matrices store an entry. If only one does, the result has its entry.
enum class Join { plus, minus, min, max };

/// The entries of A and of B, joined by `op`. For patterns it is their union, whatever the operation. min and max are not
/// defined for complex values, which have no order.
template <class V>
Csr<V> join(const Csr<V>& a, const Csr<V>& b, Join op);

/// The products of the entries that both store. For patterns it is their intersection.
template <class V>
Csr<V> multiply(const Csr<V>& a, const Csr<V>& b);

/// The entries of A at places where m stores an entry, or with `complement` at places where m stores none.
template <class V>
Csr<V> mask(const Csr<V>& a, const Csr<One>& m, bool complement);

}  // namespace penstock
