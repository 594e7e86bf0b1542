// Products and solves on the ranks' devices with vectors that are copied there and back; the CPU is the device.
#include "penstock/dist/product/staged_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "penstock/dist/share/share.hpp"
#include "penstock/io/generate/generate_stencil.hpp"
#include "penstock/partition/partition.hpp"
#include "penstock/schedule/multiply.hpp"
#include "penstock/solver/krylov/staged_solve.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

using Plus = PlusTimes<double>;

/// A matrix that is not symmetric, so that a product with the transpose is another one.
Csr<double> matrix() {
  auto a = generate_laplacian<double>({9, 7});
  const auto values = allocate<double>(a.nnz());
  for (Offset e = 0; e < a.nnz(); ++e) values.data[e] = static_cast<double>(1 + e % 5);
  a.values = values;
  return a;
}

DistCsr<double> part_of(const Csr<double>& a, const std::shared_ptr<Comm>& comm) {
  const auto p = partition::balanced({a.rows, a.cols, a.indptr, a.indices, {}}, comm->size());
  const auto owners = owners_of(p, comm->size(), false);
  return distribute<double>(comm, owners.rows, owners.cols, share_of(RowRange<double>{a}, p, comm->rank()));
}

/// Entry (row, column) of the vectors that are multiplied, and of those that are overwritten.
double x_at(std::int64_t row, std::int64_t column) {
  return static_cast<double>((row * 7 + column * 3) % 11);
}
double y_at(std::int64_t row, std::int64_t column) { return static_cast<double>((row + column) % 3 + 1); }

/// The rows that `owners` give to a rank, of so many columns.
std::vector<double> rows_of(const Ownership& owners, int rank, std::int64_t columns,
                            double (*at)(std::int64_t, std::int64_t)) {
  std::vector<double> out;
  for (std::int64_t k = 0; k < owners.count(rank); ++k)
    for (std::int64_t c = 0; c < columns; ++c) out.push_back(at(owners.global(rank, k), c));
  return out;
}

/// alpha A x + beta y by the definition, of all rows.
std::vector<double> expected(const Csr<double>& a, std::int64_t columns, Scale<Plus> scale, bool transposed) {
  std::vector<double> out;
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) out.push_back(scale.beta * y_at(r, c));
  for (std::int64_t r = 0; r < a.rows; ++r)
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e) {
      const std::int64_t to = transposed ? a.indices.data[e] : r, from = transposed ? r : a.indices.data[e];
      for (std::int64_t c = 0; c < columns; ++c)
        out[static_cast<std::size_t>(to * columns + c)] += scale.alpha * a.values.data[e] * x_at(from, c);
    }
  return out;
}

TEST(StagedProduct, CopiesOnlyWhatTheDeviceCannotUse) {
  std::vector<double> x{1, 2, 3};
  auto* const there = reinterpret_cast<std::byte*>(x.data());
  DeviceStage in_place(Where{}), copies(Where{}, Staging::always);
  EXPECT_EQ(in_place.place_for_x(x.data(), 24), there);
  EXPECT_EQ(in_place.place_for_y(x.data(), 24), there);
  auto* const copy = copies.place_for_x(x.data(), 24);
  EXPECT_NE(copy, there);
  EXPECT_NE(copies.place_for_y(x.data(), 24), copy);
  EXPECT_EQ(copies.place_for_x(x.data(), 16), copy) << "memory is taken once";
}

TEST(StagedProduct, MultipliesVectorsThatAreCopied) {
  const auto a = matrix();
  for (const int ranks : {1, 2, 3})
    for (const auto staging : {Staging::where_needed, Staging::always})
      for (const bool transposed : {false, true})
        for (const std::int64_t columns : {1, 3})
          for (const auto scale : {Scale<Plus>{}, Scale<Plus>{3, 2}}) {
            const auto whole = expected(a, columns, scale, transposed);
            on_ranks(ranks, [&](const std::shared_ptr<Comm>& comm) {
              const auto d = part_of(a, comm);
              const auto &from = transposed ? *d.row_owners : *d.col_owners,
                         &to = transposed ? *d.col_owners : *d.row_owners;
              StagedProduct<double> product(d, {.halo = "peer"}, staging);
              const auto x = rows_of(from, comm->rank(), columns, x_at);
              auto y = rows_of(to, comm->rank(), columns, y_at);
              const auto kept = x;
              product.multiply_columns<Plus>(x.data(), y.data(), columns, scale, transposed);
              EXPECT_EQ(x, kept);
              for (std::int64_t k = 0; k < to.count(comm->rank()); ++k)
                for (std::int64_t c = 0; c < columns; ++c)
                  ASSERT_DOUBLE_EQ(y[static_cast<std::size_t>(k * columns + c)],
                                   whole[static_cast<std::size_t>(to.global(comm->rank(), k) * columns + c)])
                      << "row " << to.global(comm->rank(), k) << ", rank " << comm->rank() << " of " << ranks;
            });
          }
}

TEST(StagedProduct, SeveralInARow) {
  const auto a = matrix();
  const Scale<Plus> once{1, 1}, thrice{3, 1};
  const auto whole = expected(a, 1, thrice, false);
  on_ranks(2, [&](const std::shared_ptr<Comm>& comm) {
    const auto d = part_of(a, comm);
    StagedProduct<double> product(d, {.halo = "peer"}, Staging::always);
    const auto x = rows_of(*d.col_owners, comm->rank(), 1, x_at);
    auto y = rows_of(*d.row_owners, comm->rank(), 1, y_at);
    product.multiply_columns<Plus>(x.data(), y.data(), 1, once, false, 3);
    for (std::size_t k = 0; k < y.size(); ++k)
      ASSERT_DOUBLE_EQ(
          y[k],
          whole[static_cast<std::size_t>(d.row_owners->global(comm->rank(), static_cast<std::int64_t>(k)))]);
  });
}

TEST(StagedProduct, ARankThatGivesUpLeavesTheCallersVectorsAlone) {
  const auto a = matrix();
  const auto errors = [&] {
    int given_up = 0;
    std::mutex lock;
    EXPECT_THROW(on_ranks(3,
                          [&](const std::shared_ptr<Comm>& comm) {
                            const auto d = part_of(a, comm);
                            StagedProduct<double> product(d, {.halo = "peer"}, Staging::always);
                            const auto x = rows_of(*d.col_owners, comm->rank(), 1, x_at);
                            const auto before = rows_of(*d.row_owners, comm->rank(), 1, y_at);
                            auto y = before;
                            product.multiply_columns<Plus>(x.data(), y.data(), 1, {});
                            y = before;
                            comm->barrier();  // so that nobody is still in the first product
                            if (comm->rank() == 1) throw Error(Errc::invalid_argument, "rank 1 gives up");
                            try {
                              product.multiply_columns<Plus>(x.data(), y.data(), 1, {});
                            } catch (const Error&) {
                              EXPECT_EQ(y, before) << "rank " << comm->rank();
                              const std::lock_guard guard(lock);
                              ++given_up;
                              throw;
                            }
                          }),
                 Error);
    return given_up;
  };
  EXPECT_GE(errors(), 1);  // rank 0 and rank 2 both have a boundary with rank 1
}

TEST(StagedSolve, ConvergesAndShowsTheCallbackItsX) {
  const auto a = generate_laplacian<double>({9, 7});
  for (const auto* method : {"cg", "bicgstab"})
    for (const int degree : {-1, 0, 2})
      on_ranks(2, [&](const std::shared_ptr<Comm>& comm) {
        const auto d = part_of(a, comm);
        StagedProduct<double> product(d, {.halo = "peer"});
        const auto b = rows_of(*d.row_owners, comm->rank(), 1, x_at);
        std::vector<double> x(b.size(), -1), seen;
        const std::vector<double> quarter(b.size(), 0.25);
        SolveOptions options{.rtol = 1e-10, .starts_at_zero = true};
        options.callback = [&](std::int64_t, double) { seen = x; };
        StagedM<double> m;
        if (degree >= 0) m.diagonal = quarter.data();
        m.polynomial = {.degree = std::max(degree, 0), .smallest = 0.05, .largest = 2};
        const auto result = staged_solve(product, method, b.data(), x.data(), m, options);
        EXPECT_EQ(result.stop, Stop::converged) << result.reason;
        EXPECT_EQ(seen, x) << "the last iteration's";
        std::vector<double> ax(b.size());
        product.multiply_columns<Plus>(x.data(), ax.data(), 1, {});
        for (std::size_t k = 0; k < b.size(); ++k) ASSERT_NEAR(ax[k], b[k], 1e-7);
      });
}

/// M r = half of r, and what other ranks' ghosts bring for nothing: it shows that a form gets the exchange of the product.
DeviceForm<double> halves(std::int64_t rows, std::vector<double>& ghosts, std::int64_t count) {
  DeviceForm<double> form;
  form.make = [=, &ghosts](Stream, std::int64_t, const DeviceGhosts<double>& of) {
    return [=, &ghosts](const double* r, double* z, Stream s) {
      const auto* brought = of.bring(r, s);
      ghosts.assign(brought, brought + count);
      for (std::int64_t i = 0; i < rows; ++i) z[i] = r[i] / 2;
    };
  };
  return form;
}

TEST(StagedSolve, AppliesAFormWithTheGhostsOfTheProduct) {
  const auto a = matrix();
  on_ranks(3, [&](const std::shared_ptr<Comm>& comm) {
    const auto d = part_of(a, comm);
    StagedProduct<double> product(d, {.halo = "peer"}, Staging::always);
    const auto r = rows_of(*d.row_owners, comm->rank(), 1, x_at);
    std::vector<double> z(r.size()), ghosts;
    staged_apply(product, halves(d.rows(), ghosts, d.plan->ghosts()), r.data(), z.data());
    for (std::size_t k = 0; k < r.size(); ++k) ASSERT_EQ(z[k], r[k] / 2);
    EXPECT_EQ(std::ssize(ghosts), d.plan->ghosts());
    for (const auto g : ghosts) EXPECT_TRUE(g >= 0 && g < 11) << g;
    EXPECT_TRUE(std::ranges::any_of(ghosts, [](double g) { return g > 0; }));
  });
}

TEST(StagedSolve, SaysWhyTheDeviceHasNoRoom) {
  DeviceForm<double> form;
  std::int64_t asked = 0;
  form.make = [&](Stream, std::int64_t spare, const DeviceGhosts<double>&) -> DeviceApply<double> {
    asked = spare;
    return {};
  };
  EXPECT_EQ(keep_on_device(form, {}, 17), "");
  EXPECT_EQ(asked, 17);
  form.make = [](Stream, std::int64_t, const DeviceGhosts<double>&) -> DeviceApply<double> {
    throw Error(Errc::out_of_memory, "too large");
  };
  EXPECT_EQ(keep_on_device(form, {}, 0), "too large");
  form.make = [](Stream, std::int64_t, const DeviceGhosts<double>&) -> DeviceApply<double> {
    throw Error(Errc::comm, "a rank has failed");
  };
  EXPECT_THROW(keep_on_device(form, {}, 0), Error);
}

}  // namespace
}  // namespace penstock
