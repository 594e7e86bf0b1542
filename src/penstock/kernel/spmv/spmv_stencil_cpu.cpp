// Finds the runs of a matrix (spmv_stencil.hpp), lays their values out for vectors, and multiplies by them. A chunk of rows is
// the unit of work: its runs go to the kernel of the instruction set, and its other rows to the row kernel.
#include <algorithm>
#include <atomic>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/spmv/spmv_blocked.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/kernel/spmv/spmv_stencil_loops.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kChunkCost = 64 << 10;
constexpr std::int64_t kStencilRows = 512;
// A row with more entries is not of a stencil. It stays in CSR, where it may be split.
constexpr std::int64_t kLongestRow = 4096;

struct BaselineIsa {};

/// Whether the columns of row r + 1 are those of row r moved by one.
template <class V>
bool moved_by_one(const CsrView<V>& a, std::int64_t r) {
  const Index* above = a.indices + (a.indptr[r] - a.first_nnz);
  const Offset length = a.indptr[r + 1] - a.indptr[r];
  if (a.indptr[r + 2] - a.indptr[r + 1] != length || length == 0 || length > kLongestRow) return false;
  std::uint32_t differs = 0;
  for (Offset j = 0; j < length; ++j)
    differs |= static_cast<std::uint32_t>((above[length + j] - above[j]) ^ 1);
  return differs == 0;
}

template <class V>
bool equal_values(const CsrView<V>& a, std::int64_t first, std::int64_t rows, Offset length) {
  if constexpr (is_pattern<V>) return true;
  else {
    const V* v = a.values + (a.indptr[first] - a.first_nnz);
    for (Offset k = length; k < rows * length; ++k)
      if (!(v[k] == v[k - length])) return false;
    return true;
  }
}

/// The runs of a chunk, in the order of rows. Rows of a run that is shorter than a vector stay in CSR.
template <class V>
std::vector<typename StencilPlan<V>::Run> find_runs(const CsrView<V>& a, const RowBlock& b,
                                                    std::int64_t& run_nnz) {
  using Plan = StencilPlan<V>;
  std::vector<typename Plan::Run> runs;
  const auto end = b.first_row + b.rows;
  for (auto r = b.first_row; r < end;) {
    auto last = r + 1;
    while (last < end && moved_by_one(a, last - 1)) ++last;
    const Offset length = a.indptr[r + 1] - a.indptr[r];
    if (last - r >= Plan::kLanes && length > 0) {
      const bool shared = equal_values(a, r, last - r, length);
      runs.push_back({r, last - r, 0, shared ? Plan::Kind::shared : Plan::Kind::own});
      run_nnz += length * (last - r);
    } else if (!runs.empty() && runs.back().kind == Plan::Kind::rows) {
      runs.back().rows += last - r;
    } else {
      runs.push_back({r, last - r, 0, Plan::Kind::rows});
    }
    r = last;
  }
  return runs;
}

template <class V>
std::vector<RowBlock> cut(const CsrView<V>& a) {
  return row_blocks({a.indptr, static_cast<std::size_t>(a.rows + 1)}, {.budget = kChunkCost});
}

/// Writes the values of a run that is not shared: group by group, entry by entry, row by row.
template <class V>
void lay_out(const CsrView<V>& a, const typename StencilPlan<V>::Run& run, V* to) {
  constexpr auto w = StencilPlan<V>::kLanes;
  const V* v = a.values + (a.indptr[run.first_row] - a.first_nnz);
  const Offset length = a.indptr[run.first_row + 1] - a.indptr[run.first_row];
  for (std::int64_t r = 0; r < run.rows; r += w) {
    const auto count = std::min(w, run.rows - r);
    for (Offset j = 0; j < length; ++j)
      for (std::int64_t l = 0; l < count; ++l) *to++ = v[(r + l) * length + j];
  }
}

template <class T, class V>
StencilKernel<T, V> stencil_kernel() {
  if constexpr (kSimdFamily == SimdFamily::x86) {
    if (simd_level() == Simd::avx512) return avx512::stencil<T, V>;
    if (simd_level() == Simd::avx2) return avx2::stencil<T, V>;
  }
  return stencil_loops::stencil<BaselineIsa, T, V>;
}

}  // namespace

template <class V>
std::int64_t StencilPlan<V>::bytes() const {
  std::int64_t sum = values.size * value_bytes<V>;
  for (const auto& chunk : chunks) sum += static_cast<std::int64_t>(chunk.capacity() * sizeof(Run));
  return sum;
}

template <class V>
double stencil_share(const CsrView<V>& a) {
  const auto blocks = cut(a);
  std::atomic<std::int64_t> total = 0;
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    std::int64_t mine = 0;
    if (!blocks[static_cast<std::size_t>(i)].piece) find_runs(a, blocks[static_cast<std::size_t>(i)], mine);
    total += mine;
  });
  return a.nnz() > 0 ? static_cast<double>(total) / static_cast<double>(a.nnz()) : 0;
}

template <class V>
StencilPlan<V> make_stencil(const CsrView<V>& a) {
  using Plan = StencilPlan<V>;
  Plan plan;
  auto blocks = cut(a);
  // The pieces of a split row become one chunk again: it has no run, and the row kernel takes it as a whole.
  std::erase_if(blocks, [&](const RowBlock& b) { return b.piece && b.first_nnz != a.indptr[b.first_row]; });
  plan.chunks.resize(blocks.size());
  std::atomic<std::int64_t> total = 0;
  parallel_for(std::ssize(blocks), [&](std::int64_t i) {
    std::int64_t mine = 0;
    plan.chunks[static_cast<std::size_t>(i)] = find_runs(a, blocks[static_cast<std::size_t>(i)], mine);
    total += mine;
  });
  plan.run_nnz = total;
  if constexpr (!is_pattern<V>) {
    Offset at = 0;
    for (auto& chunk : plan.chunks)
      for (auto& run : chunk)
        if (run.kind == Plan::Kind::own) {
          run.values = at;
          at += a.indptr[run.first_row + run.rows] - a.indptr[run.first_row];
        }
    plan.values = allocate<V>(at);
    parallel_for(std::ssize(plan.chunks), [&](std::int64_t i) {
      for (const auto& run : plan.chunks[static_cast<std::size_t>(i)])
        if (run.kind == Plan::Kind::own) lay_out(a, run, plan.values.data + run.values);
    });
  }
  return plan;
}

template <Semiring S, class V>
void spmv_stencil(const StencilPlan<V>& plan, const CsrView<V>& a, const typename S::value_type* x,
                  typename S::value_type* y, Scale<S> scale, ProductDots<typename S::value_type>* dots) {
  using T = typename S::value_type;
  using Kind = typename StencilPlan<V>::Kind;
  static const auto in_run = stencil_kernel<T, V>();
  static const auto in_rows = rows_kernel<T, V>();
  const auto run_rows = [&](const typename StencilPlan<V>::Run& run, std::int64_t first, std::int64_t last,
                            T* out) {
    if (run.kind == Kind::rows) {
      RowsArgs<T, V> args{
          a.indptr, a.indices - a.first_nnz, nullptr, x, out, run.first_row + first, run.first_row + last};
      if constexpr (!is_pattern<V>) args.values = a.values - a.first_nnz;
      return in_rows(args);
    }
    const Offset k = a.indptr[run.first_row] - a.first_nnz;
    StencilArgs<T, V> args{a.indices + k,
                           a.indptr[run.first_row + 1] - a.indptr[run.first_row],
                           nullptr,
                           run.kind == Kind::shared,
                           run.rows,
                           first,
                           last,
                           x,
                           out};
    if constexpr (!is_pattern<V>) args.values = args.shared ? a.values + k : plan.values.data + run.values;
    in_run(args);
  };
  if (dots) dots->start(std::ssize(plan.chunks));
  parallel_for(std::ssize(plan.chunks), [&](std::int64_t i) {
    const auto& chunk = plan.chunks[static_cast<std::size_t>(i)];
    for (const auto& run : chunk) {
      T* out = y + run.first_row;
      if (scale.plain()) {
        run_rows(run, 0, run.rows, out);
        continue;
      }
      T buffer[kStencilRows];
      for (std::int64_t first = 0; first < run.rows; first += kStencilRows) {
        const auto last = std::min(first + kStencilRows, run.rows);
        run_rows(run, first, last, buffer);
        for (auto r = first; r < last; ++r) out[r] = scale(buffer[r - first], out[r]);
      }
    }
    if (dots) dots->add(i, y, chunk.front().first_row, chunk.back().first_row + chunk.back().rows);
  });
}

#define X(T, V)                                                                                       \
  template void spmv_stencil<PlusTimes<T>, V>(const StencilPlan<V>&, const CsrView<V>&, const T*, T*, \
                                              Scale<PlusTimes<T>>, ProductDots<T>*);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X
template StencilPlan<One> make_stencil(const CsrView<One>&);
template double stencil_share(const CsrView<One>&);
template struct StencilPlan<One>;
template StencilPlan<float> make_stencil(const CsrView<float>&);
template double stencil_share(const CsrView<float>&);
template struct StencilPlan<float>;
template StencilPlan<double> make_stencil(const CsrView<double>&);
template double stencil_share(const CsrView<double>&);
template struct StencilPlan<double>;

}  // namespace penstock
