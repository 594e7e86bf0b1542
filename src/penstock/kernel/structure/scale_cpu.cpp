#include "penstock/kernel/structure/scale.hpp"

#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {

template <class T, class V>
Array<T> scaled_values(const Csr<V>& a, const T* rows, const T* cols) {
  const bool pinned = a.nnz() > 0 && a.indptr.place.memory == Memory::pinned;
  const auto out = allocate<T>(a.nnz(), pinned ? Place{Memory::pinned} : Place{});
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto factor = rows ? rows[r] : T(1);
      const auto entry = [&](Offset k) {
        if constexpr (is_pattern<V>) return factor;
        else return factor * a.values.data[k];
      };
      if (cols)
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
          out.data[k] = entry(k) * cols[a.indices.data[k]];
      else
        for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) out.data[k] = entry(k);
    }
  });
  return out;
}

#define X(T)                                                            \
  template Array<T> scaled_values(const Csr<One>&, const T*, const T*); \
  template Array<T> scaled_values(const Csr<T>&, const T*, const T*);
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
