#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// What the columns of every row do: never fall (sorted), always rise (canonical: sorted and no duplicates).
struct RowOrder {
  bool sorted = true, canonical = true;
};
RowOrder row_order(const Csr<One>& a);

/// The rows sorted by column. Equal entries stay side by side in their order, or with `merge` become their sum, added
/// in the order of their bits like `coo_to_csr` does. Row offsets are shared where they stay.
template <class V>
Csr<V> sort_rows(const Csr<V>& a, bool merge);

}  // namespace penstock
