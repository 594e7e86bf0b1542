#pragma once
#include "penstock/format/csr.hpp"

// Two matrices of one shape, entry by entry. Both must have canonical rows (sort_rows makes them); so has the result.
// What is stored follows from what A and B store, not from values: sums that cancel stay as explicit zeros. Throws
// Error{invalid_argument} where the shapes differ.
namespace penstock {

/// The operation where both store an entry; where one does, the other counts as the operation's neutral element.
enum class Join { plus, minus, min, max };

/// The entries of A and those of B. Patterns: their union, whatever the operation. min and max need an order: no
/// complex values.
template <class V>
Csr<V> join(const Csr<V>& a, const Csr<V>& b, Join op);

/// The products of the entries that both store. Patterns: their intersection.
template <class V>
Csr<V> multiply(const Csr<V>& a, const Csr<V>& b);

/// A's entries where m stores one, or with `complement` where it does not.
template <class V>
Csr<V> mask(const Csr<V>& a, const Csr<One>& m, bool complement);

}  // namespace penstock
