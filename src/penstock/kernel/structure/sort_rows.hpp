#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// The order of the columns in every row. sorted: they never fall. canonical: they always rise, so that there are no
/// duplicates.
struct RowOrder {
  bool sorted = true, canonical = true;
};
RowOrder row_order(const Csr<One>& a);

/// The matrix with rows sorted by column. Equal entries stay side by side in their order; with `merge` they become their sum,
/// which is added in the order of their bits, as in coo_to_csr(). If row offsets do not change, they are shared.
template <class V>
Csr<V> sort_rows(const Csr<V>& a, bool merge);

}  // namespace penstock
