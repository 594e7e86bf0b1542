// Graphs that are shared out against one process, for ranks that are threads, and layouts of every kind.
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "penstock/comm/threads.hpp"
#include "penstock/dist/graph/bfs.hpp"
#include "penstock/dist/graph/components.hpp"
#include "penstock/dist/graph/pagerank.hpp"
#include "penstock/dist/product/dist_product.hpp"
#include "penstock/graph/cc/cc.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/generate/generate_road.hpp"
#include "penstock/kernel/structure/transpose.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 8};

/// f(comm) on every rank; the first exception that was not caused by another is thrown again.
void on_ranks(int ranks, const std::function<void(const std::shared_ptr<Comm>&)>& f) {
  auto comms = threads(ranks, {.timeout = 60});
  std::vector<std::thread> running;
  std::exception_ptr first;
  std::mutex lock;
  for (auto& own : comms)
    running.emplace_back([&, comm = std::shared_ptr<Comm>(std::move(own))] {
      try {
        f(comm);
      } catch (const std::exception& e) {
        comm->fail(e.what());
        const std::lock_guard guard(lock);
        const auto* error = dynamic_cast<const Error*>(&e);
        if (!first || !(error && error->code() == Errc::comm)) first = std::current_exception();
      }
    });
  for (auto& t : running) t.join();
  if (first) std::rethrow_exception(first);
}

/// Ranges of rows, the second of them empty; rows anywhere; entries anywhere, so that ranks hold parts of others' rows.
enum class Layout { ranges, any_rows, any_entries };
constexpr Layout kLayouts[] = {Layout::ranges, Layout::any_rows, Layout::any_entries};

std::uint64_t scatter(std::uint64_t i, std::uint64_t j) { return (i * 2654435761U + j * 40503U) >> 3; }

DistCsr<One> shared(const std::shared_ptr<Comm>& comm, const Csr<One>& a, Layout layout) {
  const auto n = a.rows;
  const auto p = static_cast<std::uint64_t>(comm->size());
  std::shared_ptr<const Ownership> owners;
  if (layout == Layout::ranges) {
    std::vector<GlobalIndex> starts;
    for (std::uint64_t r = 0; r <= p; ++r)
      starts.push_back(n * static_cast<std::int64_t>(r == 2 ? 1 : r) / static_cast<std::int64_t>(p));
    if (p == 2) starts = {0, n, n};
    owners = std::make_shared<Ownership>(Ownership::ranges(starts));
  } else {
    std::vector<Index> who;
    for (std::int64_t v = 0; v < n; ++v)
      who.push_back(static_cast<Index>(scatter(static_cast<std::uint64_t>(v), 7) % p));
    owners = std::make_shared<Ownership>(Ownership::of(test::array_of(who), comm->size()));
  }
  std::vector<GlobalIndex> ids;
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (std::int64_t r = 0; r < n; ++r) {
    const auto before = indices.size();
    for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k) {
      const auto v = a.indices.data[k];
      const auto who =
          layout == Layout::any_entries
              ? static_cast<int>(scatter(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(v)) % p)
              : owners->owner(r);
      if (who == comm->rank()) indices.push_back(v);
    }
    if (indices.size() == before) continue;
    ids.push_back(r), indptr.push_back(std::ssize(indices));
  }
  const Share<One> share{
      .row_ids = test::array_of(ids),
      .entries = {std::ssize(ids), n, test::array_of(indptr), test::array_of(indices), {}}};
  return distribute(comm, owners, owners, share);
}

/// Parts put together by their owners' numbers.
template <class T>
class Whole {
 public:
  explicit Whole(std::int64_t n) : values(static_cast<std::size_t>(n)) {}
  void put(const DistCsr<One>& d, const Array<T>& part) {
    ASSERT_EQ(part.size, d.rows());
    for (std::int64_t k = 0; k < part.size; ++k)
      values[static_cast<std::size_t>(d.row_owners->global(d.comm->rank(), k))] = part.data[k];
  }
  std::vector<T> values;  // ranks write different entries
};

Csr<One> path(Index n) {
  std::vector<Offset> indptr{0};
  std::vector<Index> indices;
  for (Index v = 0; v < n; ++v) {
    if (v + 1 < n) indices.push_back(v + 1);
    indptr.push_back(std::ssize(indices));
  }
  return {n, n, test::array_of(indptr), test::array_of(indices), {}};
}

std::vector<Csr<One>> graphs() {
  return {generate_rmat({.scale = 8, .edge_factor = 4}),
          generate_rmat({.scale = 8, .edge_factor = 2, .undirected = false, .seed = 3}),
          generate_road<One>({.nx = 20, .ny = 15, .removed = 0.45}),
          test::matrix_of<One>(300, test::indptr_of(test::Rows::one_long, 300, 5)),
          path(200),
          test::matrix_of<One>(5, std::vector<Offset>(6, 0))};
}

/// Collective calls with every number of ranks, layout and graph.
void everywhere(const std::function<void(const DistCsr<One>&, const Csr<One>&)>& f) {
  for (const auto& a : graphs())
    for (const int ranks : kRanks)
      for (const auto layout : kLayouts) {
        SCOPED_TRACE(std::to_string(a.rows) + " vertices, " + std::to_string(a.nnz()) + " edges, " +
                     std::to_string(ranks) + " ranks, layout " + std::to_string(static_cast<int>(layout)));
        on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) { f(shared(comm, a, layout), a); });
      }
}

Csr<One> whole_of(const DistCsr<One>& d) {  // pairs of every rank, in the order of rows and columns
  const auto rows = ghost_numbers(*d.comm, *d.row_owners, *d.sums),
             ghosts = ghost_numbers(*d.comm, *d.col_owners, *d.plan);
  std::vector<std::pair<GlobalIndex, GlobalIndex>> pairs;
  for (std::int64_t r = 0; r < d.local.rows; ++r) {
    const auto u = r < d.rows() ? d.row_owners->global(d.comm->rank(), r) : rows.data[r - d.rows()];
    for (auto k = d.local.indptr.data[r]; k < d.local.indptr.data[r + 1]; ++k)
      pairs.emplace_back(u, d.col_owners->global(d.comm->rank(), d.local.indices.data[k]));
    for (auto k = d.halo.indptr.data[r]; k < d.halo.indptr.data[r + 1]; ++k)
      pairs.emplace_back(u, ghosts.data[d.halo.indices.data[k]]);
  }
  const auto bytes = static_cast<std::int64_t>(pairs.size() * sizeof(pairs[0]));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(d.comm->size())), offsets{0};
  d.comm->all_gather(&bytes, sizeof bytes, sizes.data());
  for (const auto size : sizes) offsets.push_back(offsets.back() + size);
  std::vector<std::pair<GlobalIndex, GlobalIndex>> all(static_cast<std::size_t>(offsets.back()) /
                                                       sizeof(pairs[0]));
  d.comm->all_gather_v(pairs.data(), all.data(), offsets);
  std::sort(all.begin(), all.end());
  std::vector<Offset> indptr(static_cast<std::size_t>(d.all_rows()) + 1);
  std::vector<Index> indices;
  for (const auto& [u, v] : all)
    ++indptr[static_cast<std::size_t>(u) + 1], indices.push_back(static_cast<Index>(v));
  for (std::size_t i = 1; i < indptr.size(); ++i) indptr[i] += indptr[i - 1];
  return {d.all_rows(), d.all_cols(), test::array_of(indptr), test::array_of(indices), {}};
}

void expect_same(const Csr<One>& a, const Csr<One>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.nnz(), b.nnz());
  EXPECT_TRUE(std::equal(a.indptr.data, a.indptr.data + a.rows + 1, b.indptr.data));
  EXPECT_TRUE(std::equal(a.indices.data, a.indices.data + a.nnz(), b.indices.data));
}

TEST(DistGraph, TransposeTurnsEveryEdgeAndSymmetryIsSeen) {
  everywhere([](const DistCsr<One>& d, const Csr<One>& a) {
    const auto turned = transpose(d);
    EXPECT_EQ(turned.sums->ghosts(), 0);  // whole rows
    const auto whole = whole_of(turned);
    const auto expected = transpose(a);  // rows ascend in both
    expect_same(whole, expected);
    const auto back = transpose(expected);
    const bool symmetric =
        a.nnz() == 0 || (std::equal(back.indptr.data, back.indptr.data + a.rows + 1, expected.indptr.data) &&
                         std::equal(back.indices.data, back.indices.data + a.nnz(), expected.indices.data));
    EXPECT_EQ(has_symmetric_pattern(d), symmetric);
  });
}

TEST(DistGraph, SearchesAreThoseOfOneProcess) {
  for (const auto& a : graphs())
    for (const int ranks : kRanks)
      for (const auto layout : kLayouts) {
        SCOPED_TRACE(std::to_string(a.rows) + " vertices, " + std::to_string(ranks) + " ranks, layout " +
                     std::to_string(static_cast<int>(layout)));
        BfsPlan plan;
        const Index source = static_cast<Index>(a.rows / 3);
        const auto view = a.view();
        const auto expected = bfs({view, nullptr}, source, plan, {.predecessors = true});
        for (const auto direction :
             {DistBfsDirection::automatic, DistBfsDirection::top_down, DistBfsDirection::bottom_up}) {
          Whole<Index> levels(a.rows);
          Whole<GlobalIndex> predecessors(a.rows);
          on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
            DistGraph out(shared(comm, a, layout));
            const bool symmetric = has_symmetric_pattern(out.edges());
            DistGraph in(transpose(out.edges()));
            const auto r =
                bfs(out, symmetric ? &out : &in, source, {.predecessors = true, .direction = direction});
            EXPECT_EQ(r.reached, expected.reached);
            EXPECT_EQ(r.missed, 0);
            if (direction != DistBfsDirection::automatic) {
              EXPECT_EQ(r.bottom_up, direction == DistBfsDirection::bottom_up ? r.depth + 1 : 0);
            }
            levels.put(out.edges(), r.levels);
            predecessors.put(out.edges(), r.predecessors);
            const auto alone = bfs(out, nullptr, source);
            EXPECT_EQ(alone.bottom_up, 0);
            EXPECT_TRUE(std::equal(r.levels.data, r.levels.data + r.levels.size, alone.levels.data));
          });
          EXPECT_TRUE(std::equal(levels.values.begin(), levels.values.end(), expected.levels.data));
          EXPECT_TRUE(
              std::equal(predecessors.values.begin(), predecessors.values.end(), expected.predecessors.data));
        }
      }
}

TEST(DistGraph, AutomaticSearchesOfSmallWorldsTurnBottomUp) {
  const auto a = generate_rmat({.scale = 14, .edge_factor = 8});
  on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    DistGraph g(shared(comm, a, Layout::any_rows));
    const auto r = bfs(g, &g, a.indices.data[0]);
    EXPECT_GT(r.bottom_up, 0);
    EXPECT_LT(r.bottom_up, r.depth);
    EXPECT_GT(g.traffic().bitmaps, 0);  // of a large frontier
    EXPECT_GT(bfs(g, nullptr, a.indices.data[0]).missed, 0);
  });
}

TEST(DistGraph, ComponentsAreThoseOfOneProcess) {
  everywhere([](const DistCsr<One>& d, const Csr<One>& a) {
    BfsPlan plan;
    const auto view = a.view();
    const auto expected = connected_components({view, nullptr}, plan);
    const auto c = connected_components(d);
    EXPECT_EQ(c.count, expected.count);
    for (std::int64_t k = 0; k < c.labels.size; ++k)
      ASSERT_EQ(c.labels.data[k], expected.labels.data[d.row_owners->global(d.comm->rank(), k)]);
  });
}

TEST(DistGraph, ComponentsOfAScatteredPathTakeFewRounds) {
  const auto a = path(1 << 14);
  on_ranks(4, [&](const std::shared_ptr<Comm>& comm) {
    const auto c = connected_components(shared(comm, a, Layout::any_rows));
    EXPECT_EQ(c.count, 1);
    EXPECT_LE(c.rounds, 20);
  });
}

TEST(DistGraph, PageRankAgreesWithOneProcess) {
  everywhere([](const DistCsr<One>& d, const Csr<One>& a) {
    SpmvPlans<One> plans;
    std::vector<double> personal(static_cast<std::size_t>(a.rows)), part;
    for (std::int64_t v = 0; v < a.rows; ++v)
      personal[static_cast<std::size_t>(v)] = v < a.rows / 2 ? 2.0 / double(a.rows / 2 * 2) : 0;
    for (std::int64_t k = 0; k < d.rows(); ++k)
      part.push_back(personal[static_cast<std::size_t>(d.row_owners->global(d.comm->rank(), k))]);
    DistProduct<One> product(d, {.halo = "isend"});
    const InwardProduct<float> quick = [&](std::span<const float> x, std::span<float> y) {
      product.multiply_transposed<PlusTimes<float>>(x, y);
    };
    const InwardProduct<double> full = [&](std::span<const double> x, std::span<double> y) {
      product.multiply_transposed<PlusTimes<double>>(x, y);
    };
    const auto out = out_weights(d);
    const auto in = transpose(a);
    const auto degrees = out_weights(a);
    for (const bool personalized : {false, true}) {
      const PageRankOptions options{.tol = 1e-9, .max_iter = 1000};
      PageRankVectors vectors;
      DistPageRankVectors parts;
      if (personalized) vectors.personalization = personal, parts.personalization = part;
      const auto expected = pagerank(in, plans, degrees.span(), vectors, options);
      const auto r = pagerank(*d.comm, a.rows, out.span(), parts, quick, full, options);
      EXPECT_TRUE(r.converged);
      for (std::int64_t k = 0; k < r.ranks.size; ++k)
        ASSERT_NEAR(r.ranks.data[k], expected.ranks.data[d.row_owners->global(d.comm->rank(), k)], 1e-9);
      pagerank_verify(*d.comm, a.rows, out.span(), r.ranks.span(), parts, full, {.tol = 2e-9});
      if (r.ranks.size > 0) r.ranks.data[0] += 1e-3;
      EXPECT_THROW(pagerank_verify(*d.comm, a.rows, out.span(), r.ranks.span(), parts, full, {.tol = 2e-9}),
                   Error);
    }
  });
}

TEST(DistGraph, AlignedHasTheOwnersOfRowsForColumns) {
  const auto a = generate_rmat({.scale = 7, .edge_factor = 4, .undirected = false});
  on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    const auto d = shared(comm, a, Layout::any_entries);
    const auto columns = std::make_shared<const Ownership>(Ownership::ranges({0, 100, 110, 128}));
    const auto mine = d.row_owners;
    std::vector<GlobalIndex> ids;
    std::vector<Offset> indptr{0};
    std::vector<Index> indices;
    for (auto r = comm->rank(); r < a.rows; r += 3) {  // whole rows that others own
      ids.push_back(r);
      indices.insert(indices.end(), a.indices.data + a.indptr.data[r], a.indices.data + a.indptr.data[r + 1]);
      indptr.push_back(std::ssize(indices));
    }
    const Share<One> share{
        .row_ids = test::array_of(ids),
        .entries = {std::ssize(ids), a.rows, test::array_of(indptr), test::array_of(indices), {}}};
    const auto other = distribute(comm, mine, columns, share);
    const auto got = aligned(other, "bfs");
    EXPECT_EQ(got.col_owners, mine);
    EXPECT_EQ(aligned(got, "bfs").local.indices.data, got.local.indices.data);  // the same arrays
    expect_same(transpose(whole_of(got)), transpose(a));
  });
}

TEST(DistGraph, RefusesWhatIsNoGraph) {
  on_ranks(2, [](const std::shared_ptr<Comm>& comm) {
    const auto d = shared(comm, path(10), Layout::ranges);
    DistGraph g(d);
    EXPECT_THROW(bfs(g, nullptr, 10), Error);
    EXPECT_THROW(bfs(g, nullptr, -1), Error);
    auto wide = d;
    wide.col_owners = std::make_shared<Ownership>(Ownership::ranges({0, 5, 12}));
    EXPECT_THROW(aligned(wide, "bfs"), Error);
  });
}

}  // namespace
}  // namespace penstock
