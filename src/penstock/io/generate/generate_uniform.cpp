#include "penstock/io/generate/generate_uniform.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/io/generate/direct.hpp"
#include "penstock/io/generate/generate_check.hpp"
#include "penstock/io/generate/uniform_edges.hpp"

namespace penstock {
namespace {

struct UniformSource {
  UniformEdges edge;

  std::int64_t units() const { return edge.units(); }
  std::int64_t max_per_unit() const { return 1; }
  template <class Emit>
  void visit(std::int64_t first, std::int64_t last, Emit&& emit) const {
    for (auto e = first; e < last; ++e) {
      const auto [row, column] = edge(e);
      emit(row, column, One{});
    }
  }
};

}  // namespace

UniformEdges::UniformEdges(const UniformOptions& o) : rows_(o.rows), cols_(o.cols), random_(o.seed, 2) {
  require_extent("rows", o.rows);
  require_extent("cols", o.cols);
  require_between("nnz_per_row", o.nnz_per_row, 0, static_cast<double>(o.cols),
                  "a row has at most `cols` entries");
  entries_ = static_cast<std::int64_t>(o.nnz_per_row * static_cast<double>(o.rows));
}

Csr<One> generate_uniform(const UniformOptions& o) {
  const UniformSource source{UniformEdges(o)};
  require_memory("this uniform matrix", o.rows, source.units());
  return assemble<One>(o.rows, o.cols, source);
}

Csr<One> generate_uniform(const UniformOptions& o, const KeptRows& keep) {
  const UniformSource source{UniformEdges(o)};
  return assemble<One>(keep.count, o.cols, KeptSource<UniformSource>{source, keep});
}

Csr<One> generate_banded(std::int64_t n, std::vector<std::int64_t> offsets) {
  return generate_banded(n, std::move(offsets), {.count = n});
}

Csr<One> generate_banded(std::int64_t n, std::vector<std::int64_t> offsets, const KeptRows& keep) {
  require_extent("n", n);
  std::sort(offsets.begin(), offsets.end());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto offset = std::to_string(offsets[i]);
    require(-n < offsets[i] && offsets[i] < n,
            "diagonal " + offset + " is outside a matrix of " + std::to_string(n) + " rows: leave it out");
    require(i == 0 || offsets[i] != offsets[i - 1], "diagonal " + offset + " is given twice: give each once");
  }
  require_memory("this banded matrix", keep.count, keep.count * static_cast<std::int64_t>(offsets.size()));
  // Sorted offsets that fall inside the row and the kept columns are consecutive: [first, last).
  const auto end = std::min(n, keep.last_col);
  const auto first = [&](std::int64_t row) {
    return std::lower_bound(offsets.begin(), offsets.end(), keep.first_col - row);
  };
  const auto last = [&](std::int64_t row) {
    return std::lower_bound(offsets.begin(), offsets.end(), end - row);
  };
  return fill_rows<One>(
      keep.count, n, [&](std::int64_t i) { return last(keep.row(i)) - first(keep.row(i)); },
      [&](std::int64_t i, RowWriter<One>& write) {
        const auto row = keep.row(i);
        std::for_each(first(row), last(row), [&](std::int64_t offset) { write(row + offset); });
      });
}

}  // namespace penstock
