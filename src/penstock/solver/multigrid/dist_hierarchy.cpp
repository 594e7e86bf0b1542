// The set-up of smoothed aggregation over ranks: the steps of one process (hierarchy.cpp), with the values of ghosts brought where a
// step looks at neighbours, and with sums of coarse rows at their owners.
#include "penstock/solver/multigrid/dist_hierarchy.hpp"

#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/solver/dist_op.hpp"
#include "penstock/solver/multigrid/dist_coarsest.hpp"
#include "penstock/solver/multigrid/dist_transfer.hpp"
#include "penstock/solver/multigrid/level_checks.hpp"
#include "penstock/solver/multigrid/nonsymmetric.hpp"

namespace penstock {
namespace {

using Owners = std::shared_ptr<const Ownership>;

/// Who owns the vertices of `block` rows each. Throws, on all ranks, where the rows of a vertex have several owners.
Owners vertex_owners(const Owners& rows, std::int64_t block) {
  if (block == 1) return rows;
  const auto whole = [&](bool ok, GlobalIndex vertex) {
    require(ok, [&] {
      return "AMG: the rows of node " + std::to_string(vertex) + " (block_size=" + std::to_string(block) +
             ") have several owners: give a partition that keeps nodes whole, such as "
             "np.repeat(np.arange(nodes) * comm.size // nodes, block_size)";
    });
  };
  if (rows->is_ranges()) {
    auto starts = rows->starts();
    for (auto& s : starts) whole(s % block == 0, s / block), s /= block;
    return std::make_shared<const Ownership>(Ownership::ranges(std::move(starts)));
  }
  const auto owners = allocate<Index>(rows->size() / block);
  for (GlobalIndex v = 0; v < owners.size; ++v) {
    owners.data[v] = static_cast<Index>(rows->owner(v * block));
    for (std::int64_t k = 1; k < block; ++k) whole(rows->owner(v * block + k) == owners.data[v], v);
  }
  return std::make_shared<const Ownership>(Ownership::of(owners, rows->ranks()));
}

/// Ranges of aggregates: where their centres are, unless there are too few for all ranks. Then ranks far apart have equal ranges,
/// and rank 0 has what will be factored.
std::vector<GlobalIndex> coarse_starts(std::vector<GlobalIndex> starts, std::int64_t vectors,
                                       const AmgOptions& o) {
  const auto ranks = std::ssize(starts) - 1, count = starts.back(), rows = count * vectors;
  const bool last = rows <= o.max_coarse;
  if (!last && rows >= o.rows_of_rank * ranks) return starts;
  const auto sharing = last ? 1 : std::max<std::int64_t>(1, rows / o.rows_of_rank);
  for (std::int64_t r = 0; r <= ranks; ++r)
    starts[at(r)] = count * ((r * sharing + ranks - 1) / ranks) / sharing;
  return starts;
}

Owners rows_of_vertices(std::vector<GlobalIndex> starts, std::int64_t block) {
  for (auto& s : starts) s *= block;
  return std::make_shared<const Ownership>(Ownership::ranges(std::move(starts)));
}

/// Of rows and columns (Fowler, Noll and Vo's hash, of whole numbers).
template <class T>
std::uint64_t pattern_of(const Csr<T>& a) {
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&](std::int64_t x) { h = (h ^ static_cast<std::uint64_t>(x)) * 0x100000001b3; };
  for (std::int64_t r = 0; r <= a.rows; ++r) add(a.indptr.data[r]);
  for (const auto j : a.indices.span()) add(j);
  return h;
}

template <class T>
LinearOp<T> product_of(std::shared_ptr<DistProduct<T>> a) {
  LinearOp<T> op;
  op.rows = a->matrix().rows();
  op.apply = [a](std::span<const T> x, std::span<T> y) { a->template multiply<PlusTimes<T>>(x, y); };
  return op;
}

/// A level as it is made.
template <class T>
struct Making {
  std::shared_ptr<Comm> comm;
  Owners owners;
  Csr<T> entries;  // the rows here, with the columns of the whole level
  std::vector<double> near_nullspace;
  std::int64_t vectors = 1, block = 1;
};

template <class T>
Aggregates aggregates_of(const Making<T>& m, const std::shared_ptr<DistProduct<T>>& rows, const Csr<T>& wide,
                         const Csr<T>* transposed, const AmgOptions& o, int number, const Aggregates* before,
                         Strength<T>& strong, bool with_strength) {
  if (before && !with_strength) return *before;
  auto vertices = wide;
  auto shared = rows;
  if (m.block > 1 || transposed) {
    const auto owners = vertex_owners(m.owners, m.block);
    const auto judged = transposed ? mean_magnitude(m.entries, *transposed) : m.entries;
    shared = share_out<T>(m.comm, owners, owners, owners->numbers(m.comm->rank()),
                          m.block > 1 ? condensed(judged, m.block) : judged);
    vertices = wide_rows(*shared);
  }
  const auto columns = columns_of(shared);
  strong = strength_of<T>(vertices, columns.widened(inverse_diagonal(vertices)), o.strength);
  strong.largest = columns.widened(strong.largest.slice(0, vertices.rows));
  if (before) return *before;
  return aggregate(strong_graph(vertices, strong), o.seed + static_cast<std::uint64_t>(number), columns);
}

/// Makes P and R of `level`, and the next level of `m`. False where it would not be worth its work.
template <class T>
bool coarsen(DistAmgLevel<T>& level, Making<T>& m, const Csr<T>& wide, const Array<const T>& inverse,
             const AmgOptions& o, int number, const Aggregates* before) {
  const bool scalar = m.block == 1 && m.vectors == 1 && o.symmetric;
  Strength<T> strong;
  const auto transposed = o.symmetric ? Csr<T>{} : dist_transposed(*level.a, wide);
  level.aggregates =
      aggregates_of(m, level.a, wide, o.symmetric ? nullptr : &transposed, o, number, before, strong, scalar);
  const auto rows = m.owners->size(), coarse_rows = level.aggregates.count * m.vectors;
  if (coarse_rows == 0 || static_cast<double>(coarse_rows) > kLeastCoarsening * static_cast<double>(rows))
    return false;
  const auto starts = coarse_starts(level.aggregates.starts, m.vectors, o);
  const auto owners = rows_of_vertices(starts, m.vectors);
  auto made = dist_tentative<T>(*m.comm, level.aggregates, Ownership::ranges(starts), m.block,
                                m.near_nullspace, m.vectors);
  const auto numbers = m.owners->numbers(m.comm->rank());
  const auto shared = [&](const Csr<T>& rows) {
    return share_out<T>(m.comm, m.owners, owners, numbers, rows);
  };
  Csr<T> p;
  if (o.symmetric) {
    const auto t = stacked(made.t, ghost_rows(*m.comm, *level.a->matrix().plan, made.t));
    // The filter keeps the row sums of A, which is right for constants, but not for several vectors.
    p = smoothed(wide, t, inverse, kOmega / level.largest, scalar ? &strong : nullptr);
    level.p = shared(p);
    level.r = restriction(*level.p);
    m.entries = dist_galerkin(*level.a, wide, *level.p, p);
  } else {
    const auto turned = share_out<T>(m.comm, m.owners, m.owners, numbers, transposed);
    p = locally_smoothed(wide, made.t, inverse, rows_elsewhere(level.a, owners));
    level.p = shared(p);
    const auto q =
        shared(locally_smoothed(wide_rows(*turned), made.t, inverse, rows_elsewhere(turned, owners)));
    level.r = restriction(*q);
    m.entries = dist_galerkin(*level.a, wide, *q, p);
  }
  m.owners = owners;
  m.near_nullspace = std::move(made.coarse);
  m.block = m.vectors;
  return true;
}

template <class T>
std::shared_ptr<const DistHierarchy<T>> build(Making<T> m, std::shared_ptr<DistProduct<T>> finest,
                                              const AmgOptions& o, const DistHierarchy<T>* before) {
  auto h = std::make_shared<DistHierarchy<T>>();
  h->cycle = o.cycle, h->pattern = pattern_of(m.entries);
  if (before)
    RankRows{.comm = m.comm}.together([&] {
      require(before->pattern == h->pattern, "A has another pattern than the AMG's matrix: make a new AMG");
    });
  for (int number = 0;; ++number) {
    require(!before || at(number) < before->levels.size(), "AMG: the hierarchy is of another matrix");
    auto& level = h->levels.emplace_back();
    const auto rank = m.comm->rank();
    const auto shared = share_out<T>(m.comm, m.owners, m.owners, m.owners->numbers(rank), m.entries);
    level.a = number == 0 && finest ? finest : shared;
    if (number == 0 && !finest && shared->local().nnz() >= kWorthAPlan)
      shared->prepare(SpmvAlgorithm::automatic);
    const auto columns = columns_of(shared);
    const auto wide = wide_rows(*shared);
    const auto counts = columns.starts(m.entries.nnz()), rows = columns.starts(wide.rows);
    level.nnz = counts.back();
    for (std::size_t r = 1; r < rows.size(); ++r) level.ranks += rows[r] > rows[r - 1];
    const auto inverse = inverse_diagonal(wide);
    if (number == 0) require_positive_diagonal(inverse, columns);
    const auto op = product_of(level.a);
    level.largest = o.symmetric ? largest_eigenvalue(op, wide, inverse, columns)
                                : largest_row_sum(wide, inverse, columns);
    if (number == 0 && o.symmetric) require_symmetric(op, columns);
    level.smoothing = o.l1_jacobi ? l1_jacobi_smoothing(wide, o.degree)
                                  : chebyshev_smoothing(inverse, level.largest, o.degree);
    if (m.owners->size() > o.max_coarse && number + 1 < o.max_levels) {
      const auto* kept = before ? &before->levels[at(number)].aggregates : nullptr;
      if (coarsen(level, m, wide, inverse, o, number, kept)) continue;
    }
    if (m.owners->size() <= std::max(o.max_coarse, kMostDense)) {
      h->factored = true;
      h->coarsest = factored_on_first(*m.comm, *m.owners, m.entries, columns, o.symmetric);
    } else {
      level.smoothing = o.l1_jacobi ? l1_jacobi_smoothing(wide, kLastSteps)
                                    : chebyshev_smoothing(inverse, level.largest, kLastSteps);
    }
    return h;
  }
}

}  // namespace

template <class T, class V>
std::shared_ptr<const DistHierarchy<T>> build_dist_hierarchy(std::shared_ptr<DistProduct<V>> a, double scale,
                                                             std::vector<double> near_nullspace,
                                                             std::int64_t vectors, const AmgOptions& o,
                                                             const DistHierarchy<T>* before) {
  const auto& matrix = a->matrix();
  require_square(matrix);
  require_whole_rows(matrix, "AMG");
  require(o.block >= 1 && matrix.all_rows() % o.block == 0,
          "AMG: block_size=" + std::to_string(o.block) + " does not divide the rows of A");
  vertex_owners(matrix.row_owners, o.block);
  std::shared_ptr<DistProduct<T>> finest;
  if constexpr (std::is_same_v<T, V>) finest = a;
  return build<T>({.comm = matrix.comm,
                   .owners = matrix.row_owners,
                   .entries = whole_columns<T, V>(*a, scale),
                   .near_nullspace = std::move(near_nullspace),
                   .vectors = vectors,
                   .block = o.block},
                  std::move(finest), o, before);
}

#define X(T, V)                                                                                      \
  template std::shared_ptr<const DistHierarchy<T>> build_dist_hierarchy<T, V>(                       \
      std::shared_ptr<DistProduct<V>>, double, std::vector<double>, std::int64_t, const AmgOptions&, \
      const DistHierarchy<T>*);
X(float, One)
X(float, float)
X(float, double)
X(double, One)
X(double, float)
X(double, double)
#undef X

}  // namespace penstock
