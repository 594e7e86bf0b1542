// Rows are read twice, in parallel: once to count each panel's entries in each row, once to copy the entries to their place.
#include "penstock/format/column_panels.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGrain = 4096;  // rows that a thread takes at once

}  // namespace

template <class V>
std::vector<Csr<V>> column_panels(const Csr<V>& a, std::int64_t width) {
  require(width >= 1, "column_panels: width = " + std::to_string(width) + "; give at least 1");
  const auto count = std::max<std::int64_t>((a.cols + width - 1) / width, 1);
  std::vector<Array<Offset>> offsets;
  for (std::int64_t p = 0; p < count; ++p) {
    offsets.push_back(allocate<Offset>(a.rows + 1));
    offsets.back().data[0] = 0;
  }
  parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    poll_interrupt();
    for (auto& o : offsets) std::fill(o.data + first + 1, o.data + last + 1, Offset(0));
    for (auto r = first; r < last; ++r)
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
        ++offsets[std::size_t(a.indices.data[k] / width)].data[r + 1];
  });
  std::vector<Csr<V>> panels;
  std::vector<Array<Index>> indices;
  std::vector<Array<V>> values;
  parallel_for(count, [&](std::int64_t p) {
    auto* o = offsets[std::size_t(p)].data;
    for (std::int64_t r = 0; r < a.rows; ++r) o[r + 1] += o[r];
  });
  for (const auto& o : offsets) {
    indices.push_back(allocate<Index>(o.data[a.rows]));
    values.push_back(is_pattern<V> ? Array<V>{} : allocate<V>(o.data[a.rows]));
  }
  parallel_ranges(a.rows, kGrain, [&](std::int64_t first, std::int64_t last) {
    poll_interrupt();
    std::vector<Offset> at;
    for (const auto& o : offsets) at.push_back(o.data[first]);
    for (auto k = a.indptr.data[first]; k < a.indptr.data[last]; ++k) {
      const auto p = std::size_t(a.indices.data[k] / width);
      indices[p].data[at[p]] = static_cast<Index>(a.indices.data[k] - std::int64_t(p) * width);
      if constexpr (!is_pattern<V>) values[p].data[at[p]] = a.values.data[k];
      ++at[p];
    }
  });
  for (std::int64_t p = 0; p < count; ++p)
    panels.push_back({a.rows, std::min(width, a.cols - p * width), offsets[std::size_t(p)],
                      indices[std::size_t(p)], values[std::size_t(p)]});
  return panels;
}

#define X(V) template std::vector<Csr<V>> column_panels(const Csr<V>&, std::int64_t);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
