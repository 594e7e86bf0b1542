#include <algorithm>
#include <map>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/spmv/pieces.hpp"
// Builds the plan of sparse blocks (spmv_blocked.hpp) and multiplies by it. Rows are cut into stripes of about equal cost;
// each stripe's entries are counted per block, then copied to their places, all stripes in parallel. In the product a thread
// takes a stripe, one block after the other. Pieces of a split row leave their sums in cells, which are added in order at the
// end.
#include "penstock/kernel/spmv/spmv_blocked.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kBlockSide = std::int64_t{1} << BlockedPlan<One>::kBlockShift;
// Stripes at least, for balance; there are fewer if a stripe would cost less than kStripeCost.
constexpr std::int64_t kStripes = 32;
constexpr std::int64_t kStripeCost = 64 << 10;  // nonzeros plus rows
// The least entries of a segment. A segment costs a sum over the lanes, a single entry costs a load and a store of y. Of 4, 6,
// 9, 12 and 16 on AVX-512, 6 was best or within a tenth of the best on R-MAT 18 and 20, FEM, circuit and web matrices; 12 was
// a fifth slower on FEM.
constexpr std::int64_t kSegment = 6;

/// Calls f(row, column block, first, last) for each run of entries of a row that lie in one block, row by row. Rows that are
/// not sorted have more runs.
template <class V, class F>
void for_each_run(const CsrView<V>& a, const RowBlock& b, F&& f) {
  Offset piece_ptr[2];
  const auto view = block_view(a, b, piece_ptr);
  Offset look = kStripeCost;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    const Offset end = view.indptr[r + 1] - view.first_nnz;
    for (Offset k = view.indptr[r] - view.first_nnz; k < end;) {
      const auto column = view.indices[k] >> BlockedPlan<V>::kBlockShift;
      const auto first = k;
      while (k < end && view.indices[k] >> BlockedPlan<V>::kBlockShift == column && k - first < 0xffff) ++k;
      f(static_cast<std::uint32_t>(r), column, first, k);
      if (k >= look) poll_interrupt(), look = k + kStripeCost;
    }
  }
}

template <class V>
typename BlockedPlan<V>::Stripe make_stripe(const CsrView<V>& a, const RowBlock& b) {
  using Plan = BlockedPlan<V>;
  typename Plan::Stripe s{.first_row = b.first_row, .rows = b.rows, .piece = b.piece};
  // For each block: first counts, then where its parts begin, then where they end.
  std::map<Index, typename Plan::Block> found;
  for_each_run(a, b, [&](std::uint32_t, Index column, Offset first, Offset last) {
    auto& block = found[column];
    if (last - first >= kSegment) ++block.segments, block.vector_entries += last - first;
    else block.single_entries += last - first;
  });
  typename Plan::Block at{};
  for (auto& [column, block] : found) {
    const auto count = block;
    at.first_col = std::int64_t{column} << Plan::kBlockShift;
    s.blocks.push_back(block = at);
    at.segments += count.segments, at.vector_entries += count.vector_entries,
        at.single_entries += count.single_entries;
  }
  s.blocks.push_back(at);
  s.segments.resize(static_cast<std::size_t>(at.segments));
  s.cols.resize(static_cast<std::size_t>(at.vector_entries));
  s.singles.resize(static_cast<std::size_t>(at.single_entries));
  if constexpr (!is_pattern<V>) {
    s.values.resize(static_cast<std::size_t>(at.vector_entries));
    s.single_values.resize(static_cast<std::size_t>(at.single_entries));
  }
  for_each_run(a, b, [&](std::uint32_t row, Index column, Offset first, Offset last) {
    auto& block = found[column];
    const bool vector = last - first >= kSegment;
    auto& to = vector ? block.vector_entries : block.single_entries;
    if (vector)
      s.segments[static_cast<std::size_t>(block.segments++)] = {static_cast<std::uint16_t>(row),
                                                                static_cast<std::uint16_t>(last - first)};
    for (auto k = first; k < last; ++k, ++to) {
      const auto local = static_cast<std::uint16_t>(a.indices[k] & (kBlockSide - 1));
      if (vector) s.cols[static_cast<std::size_t>(to)] = local;
      else s.singles[static_cast<std::size_t>(to)] = row << 16 | local;
      if constexpr (!is_pattern<V>)
        (vector ? s.values : s.single_values)[static_cast<std::size_t>(to)] = a.values[k];
    }
  });
  return s;
}

template <class T, class V>
void baseline(const BlockArgs<T, V>& p) {
  const auto* c = p.cols;
  const V* v = p.values;
  const auto product = [&](const V* values, std::int64_t k, std::uint32_t column) {
    if constexpr (is_pattern<V>) return p.x[column];
    else return values[k] * p.x[column];
  };
  for (std::int64_t s = 0; s < p.segment_count; ++s) {
    const int n = p.segments[2 * s + 1];
    T sums[4] = {};
    int k = 0;
    for (; k + 4 <= n; k += 4)
      for (int i = 0; i < 4; ++i) sums[i] += product(v, k + i, c[k + i]);
    for (; k < n; ++k) sums[0] += product(v, k, c[k]);
    p.y[p.segments[2 * s]] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    c += n;
    if constexpr (!is_pattern<V>) v += n;
  }
  for (std::int64_t k = 0; k < p.single_count; ++k)
    p.y[p.singles[k] >> 16] += product(p.single_values, k, p.singles[k] & 0xffff);
}

template <class T, class V>
BlockKernel<T, V> block_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() != Simd::scalar) return avx2::block<T, V>;
  return baseline<T, V>;
}

}  // namespace

template <class V>
std::int64_t BlockedPlan<V>::bytes() const {
  std::int64_t sum = 0;
  const auto of = [](const auto& v) { return static_cast<std::int64_t>(v.capacity() * sizeof(v[0])); };
  for (const auto& s : stripes)
    sum += of(s.blocks) + of(s.segments) + of(s.cols) + of(s.values) + of(s.singles) + of(s.single_values);
  return sum;
}

template <class V>
BlockedPlan<V> make_blocked(const CsrView<V>& a) {
  BlockedPlan<V> plan;
  const auto budget = std::max(kStripeCost, (a.nnz() + a.rows) / kStripes);
  for (const auto& b : row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = budget}))
    for (std::int64_t r = 0; r < b.rows; r += kBlockSide) {
      auto part = b;
      part.first_row += r, part.rows = std::min(kBlockSide, b.rows - r);
      plan.cut.push_back(part);
    }
  plan.stripes.resize(plan.cut.size());
  parallel_for(std::ssize(plan.cut), [&](std::int64_t i) {
    plan.stripes[static_cast<std::size_t>(i)] = make_stripe(a, plan.cut[static_cast<std::size_t>(i)]);
  });
  return plan;
}

template <Semiring S, class V>
void spmv_blocked(const BlockedPlan<V>& plan, const typename S::value_type* x, typename S::value_type* y,
                  Scale<S> scale) {
  using T = typename S::value_type;
  static const auto kernel = block_kernel<T, V>();
  Pieces<S> pieces(plan.cut);
  parallel_for(std::ssize(plan.stripes), [&](std::int64_t i) {
    const auto& s = plan.stripes[static_cast<std::size_t>(i)];
    const bool direct = scale.plain() && !s.piece;
    std::vector<T> scratch(direct ? 0 : static_cast<std::size_t>(s.rows));
    T* out = direct ? y + s.first_row : scratch.data();
    std::fill(out, out + s.rows, T(0));
    for (std::size_t b = 0; b + 1 < s.blocks.size(); ++b) {
      const auto &at = s.blocks[b], &end = s.blocks[b + 1];
      BlockArgs<T, V> args{.segments = nullptr,
                           .segment_count = end.segments - at.segments,
                           .cols = s.cols.data() + at.vector_entries,
                           .values = nullptr,
                           .singles = s.singles.data() + at.single_entries,
                           .single_values = nullptr,
                           .single_count = end.single_entries - at.single_entries,
                           .x = x + at.first_col,
                           .y = out};
      args.segments = reinterpret_cast<const std::uint16_t*>(s.segments.data() + at.segments);
      if constexpr (!is_pattern<V>)
        args.values = s.values.data() + at.vector_entries,
        args.single_values = s.single_values.data() + at.single_entries;
      kernel(args);
    }
    if (s.piece) *pieces.cell(i) = out[0];
    else if (!direct)
      for (std::int64_t r = 0; r < s.rows; ++r) y[s.first_row + r] = scale(out[r], y[s.first_row + r]);
  });
  pieces.finish(y, scale);
}

#define X(T, V) \
  template void spmv_blocked<PlusTimes<T>, V>(const BlockedPlan<V>&, const T*, T*, Scale<PlusTimes<T>>);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X
template BlockedPlan<One> make_blocked(const CsrView<One>&);
template BlockedPlan<float> make_blocked(const CsrView<float>&);
template BlockedPlan<double> make_blocked(const CsrView<double>&);
template struct BlockedPlan<One>;
template struct BlockedPlan<float>;
template struct BlockedPlan<double>;

}  // namespace penstock
