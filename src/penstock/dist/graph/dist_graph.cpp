// A graph as the searches want it: rows and columns have the same owners, so that a vertex has one owner; the edges turned
// around; and the question whether the graph is symmetric. Each of these moves every edge at most once.
#include "penstock/dist/graph/dist_graph.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/dist/graph/mail.hpp"
#include "penstock/dist/share/coordinates.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsOfATask = 4 << 10;

/// f(row, column) for every edge here, with the numbers of the whole graph.
template <class F>
void for_each_edge(const DistCsr<One>& a, const Array<GlobalIndex>& columns, const Array<GlobalIndex>& rows,
                   F&& f) {
  for (std::int64_t r = 0; r < rows.size; ++r) {
    const auto u = rows.data[r];
    for (auto k = a.local.indptr.data[r]; k < a.local.indptr.data[r + 1]; ++k)
      f(u, columns.data[a.local.indices.data[k]]);
    for (auto k = a.halo.indptr.data[r]; k < a.halo.indptr.data[r + 1]; ++k)
      f(u, columns.data[a.cols() + a.halo.indices.data[k]]);
  }
}

/// The numbers of the columns (or rows) that are owned here, then those of the ghosts.
Array<GlobalIndex> numbers_here(Comm& comm, const Ownership& owners, const CommPlan& plan) {
  const auto owned = owners.numbers(comm.rank());
  const auto out = allocate<GlobalIndex>(owned.size + plan.ghosts());
  std::copy_n(owned.data, owned.size, out.data);
  values_to_ghosts(comm, plan, owned.data, out.data + owned.size);
  return out;
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

constexpr std::uint64_t hash(GlobalIndex i, GlobalIndex j, std::uint64_t seed) {
  return mix(mix(static_cast<std::uint64_t>(i) + seed) + 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(j));
}

}  // namespace

Array<GlobalIndex> ghost_numbers(Comm& comm, const Ownership& of, const CommPlan& plan) {
  const auto owned = of.numbers(comm.rank());
  const auto out = allocate<GlobalIndex>(plan.ghosts());
  values_to_ghosts(comm, plan, owned.data, out.data);
  return out;
}

template <class V>
DistCsr<V> aligned(const DistCsr<V>& a, std::string_view algorithm) {
  require(a.all_rows() == a.all_cols(),
          std::string(algorithm) + " needs a square adjacency matrix, this one is " +
              std::to_string(a.all_rows()) + " x " + std::to_string(a.all_cols()));
  std::array<std::int64_t, 1> differ{a.row_owners->same_on(a.comm->rank(), *a.col_owners) ? 0 : 1};
  a.comm->all_reduce(std::span<std::int64_t>(differ), Reduce::max);
  if (differ[0] == 0) return a;
  require(a.all_cols() <= std::numeric_limits<Index>::max(),
          std::string(algorithm) +
              ": rows and columns of a matrix with more than 2^31 - 1 of them have the "
              "same owners");
  const auto columns = numbers_here(*a.comm, *a.col_owners, *a.plan);
  const auto ids = numbers_here(*a.comm, *a.row_owners, *a.sums);
  const auto rows = a.local.rows;
  const auto indptr = allocate<Offset>(rows + 1);
  const auto indices = allocate<Index>(a.nnz());
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(a.nnz());
  Offset at = 0;
  const auto copy_row = [&](const Csr<V>& part, std::int64_t r, std::int64_t first_column) {
    for (auto k = part.indptr.data[r]; k < part.indptr.data[r + 1]; ++k, ++at) {
      indices.data[at] = static_cast<Index>(columns.data[first_column + part.indices.data[k]]);
      if constexpr (!is_pattern<V>) values.data[at] = part.values.data[k];
    }
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    indptr.data[r] = at;
    copy_row(a.local, r, 0);
    copy_row(a.halo, r, a.cols());
  }
  indptr.data[rows] = at;
  return distribute(a.comm, a.row_owners, a.row_owners,
                    Share<V>{.row_ids = ids, .entries = {rows, a.all_cols(), indptr, indices, values}});
}

namespace {

/// Of any numbers, over the same owners, who list all of them.
DistCsr<One> transpose_of_coordinates(const DistCsr<One>& a) {
  std::vector<Coordinate<One>> turned;
  turned.reserve(static_cast<std::size_t>(a.nnz()));
  for_each_edge(a, numbers_here(*a.comm, *a.col_owners, *a.plan),
                numbers_here(*a.comm, *a.row_owners, *a.sums), [&](GlobalIndex u, GlobalIndex v) {
                  turned.push_back({v, u, {}});
                });
  return from_coordinates(a.comm, a.row_owners, a.row_owners, std::move(turned));
}

}  // namespace

DistCsr<One> transpose(const DistCsr<One>& a) {
  if (a.row_owners->is_listed() || a.all_rows() > std::numeric_limits<Index>::max())
    return transpose_of_coordinates(a);
  struct Edge {
    Index row, column;  // a share's numbers take 31 bits
  };
  std::vector<Edge> turned;
  turned.reserve(static_cast<std::size_t>(a.nnz()));
  for_each_edge(a, numbers_here(*a.comm, *a.col_owners, *a.plan),
                numbers_here(*a.comm, *a.row_owners, *a.sums), [&](GlobalIndex u, GlobalIndex v) {
                  turned.push_back({static_cast<Index>(v), static_cast<Index>(u)});
                });
  auto mail =
      sort_by_rank<Edge>(turned, a.comm->size(), [&](const Edge& e) { return a.row_owners->owner(e.row); });
  turned = {};
  auto came = deliver(*a.comm, mail).items;
  mail = {};
  // By rows, in the order of the ranks and of their rows: columns ascend where owners are ranges.
  const auto rows = a.rows();
  const auto indptr = allocate<Offset>(rows + 1);
  std::fill_n(indptr.data, rows + 1, Offset(0));
  for (auto& e : came) {
    e.row = static_cast<Index>(a.row_owners->local(e.row));
    ++indptr.data[e.row + 1];
  }
  for (std::int64_t r = 0; r < rows; ++r) indptr.data[r + 1] += indptr.data[r];
  const auto indices = allocate<Index>(std::ssize(came));
  std::vector<Offset> next(indptr.data, indptr.data + rows);
  for (const auto& e : came) indices.data[next[static_cast<std::size_t>(e.row)]++] = e.column;
  const auto ids = a.row_owners->numbers(a.comm->rank());
  const Share<One> share{.row_ids = ids, .entries = {rows, a.all_cols(), indptr, indices, {}}};
  return distribute(a.comm, a.row_owners, a.row_owners, share);
}

bool has_symmetric_pattern(const DistCsr<One>& a) {
  const auto columns = numbers_here(*a.comm, *a.col_owners, *a.plan);
  const auto rows = numbers_here(*a.comm, *a.row_owners, *a.sums);
  constexpr std::uint64_t kSeeds[] = {0x243f6a8885a308d3, 0x13198a2e03707344};
  std::array<std::uint64_t, 2> sums = {};
  for_each_edge(a, columns, rows, [&](GlobalIndex u, GlobalIndex v) {
    for (std::size_t s = 0; s < 2; ++s) sums[s] += hash(u, v, kSeeds[s]) - hash(v, u, kSeeds[s]);
  });
  // Sums of halves of 32 bits: those of 2^31 ranks can be added without overflow.
  constexpr std::uint64_t kLow = 0xffffffff;
  std::array<std::int64_t, 4> halves;
  for (std::size_t s = 0; s < 2; ++s) {
    halves[2 * s] = static_cast<std::int64_t>(sums[s] & kLow);
    halves[2 * s + 1] = static_cast<std::int64_t>(sums[s] >> 32);
  }
  a.comm->all_reduce(std::span<std::int64_t>(halves), Reduce::sum);
  for (std::size_t s = 0; s < 2; ++s)
    if (static_cast<std::uint64_t>(halves[2 * s]) + (static_cast<std::uint64_t>(halves[2 * s + 1]) << 32) !=
        0)
      return false;
  return true;
}

DistGraph::DistGraph(DistCsr<One> edges) : a_(std::move(edges)), degrees_(allocate<Offset>(a_.rows())) {
  std::array<std::int64_t, 2> told{foreign(), a_.nnz()};
  comm().all_reduce(std::span<std::int64_t>(told), Reduce::sum);
  any_foreign_ = told[0] > 0, all_edges_ = told[1];
  const auto edges_in_row = [&](std::int64_t r) {
    return a_.local.indptr.data[r + 1] - a_.local.indptr.data[r] + a_.halo.indptr.data[r + 1] -
           a_.halo.indptr.data[r];
  };
  parallel_ranges(vertices(), kRowsOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) degrees_.data[v] = edges_in_row(v);
  });
  has_edges_.resize(static_cast<std::size_t>(graph::words_of(vertices())));
  for (std::int64_t v = 0; v < vertices(); ++v)
    if (degrees_.data[v] > 0) graph::claim_bit<false>(has_edges_.data(), static_cast<Index>(v));
  columns_ = numbers_here(comm(), owners(), *a_.plan);
  column_marks_ = std::make_unique<Marks>(comm(), a_.plan);
  if (!any_foreign_) return;
  row_marks_ = std::make_unique<Marks>(comm(), a_.sums);
  std::vector<Offset> parts(static_cast<std::size_t>(foreign()));
  for (std::size_t f = 0; f < parts.size(); ++f)
    parts[f] = edges_in_row(vertices() + static_cast<std::int64_t>(f));
  values_to_owners(comm(), *a_.sums, parts.data(), [&](Index v, Offset more) { degrees_.data[v] += more; });
}

MarkTraffic DistGraph::traffic() const {
  auto sum = column_marks_->traffic();
  if (row_marks_) {
    const auto& more = row_marks_->traffic();
    sum.messages += more.messages, sum.bytes += more.bytes;
    sum.lists += more.lists, sum.bitmaps += more.bitmaps;
  }
  return sum;
}

#define X(V) template DistCsr<V> aligned(const DistCsr<V>&, std::string_view);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
