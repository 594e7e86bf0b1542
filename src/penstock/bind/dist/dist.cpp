// Distributed matrices: how they are made.
#include "penstock/bind/dist/dist.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/product/product.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/share/balance.hpp"
#include "penstock/dist/share/share.hpp"
#include "penstock/io/kept_rows.hpp"

namespace penstock::bind {
namespace {

/// The distributed matrix of share(csr), for the type that the matrix has. Uses up the partition.
template <class F>
DistMatrix made(const std::shared_ptr<Comm>& comm, Partition& p, Matrix a, const ProductSettings& settings,
                F&& share) {
  auto any = a.any();
  a = Matrix(Csr<One>{});  // the arrays are freed as soon as they are not needed any more
  return std::visit(
      [&]<class V>(Csr<V>& csr) -> DistMatrix {
        if constexpr (is_pattern<V> || std::same_as<V, float> || std::same_as<V, double>) {
          const auto options = settings.options();
          const nb::gil_scoped_release release;
          for (const Place place : {csr.indptr.place, csr.indices.place, csr.values.place})
            check(InCore{}, place);
          const auto owners = owners_of(p, comm->size(), settings.sums == "gather");
          auto mine = share(csr);
          const auto kind = std::exchange(p, {}).kind;
          csr = {};
          auto d = distribute<V>(comm, owners.rows, owners.cols, std::move(mine));
          return {std::make_shared<DistProduct<V>>(std::move(d), options), std::string(name(kind))};
        } else {
          throw Error(Errc::not_compiled,
                      "distributed matrices have values of bool, float32 or float64: use astype");
        }
      },
      any);
}

DistMatrix of_whole(const std::shared_ptr<Comm>& comm, const Matrix& a, Partition& p, const std::string& halo,
                    const std::string& sums, const std::string& algorithm,
                    std::optional<AnySchedule> schedule) {
  return made(comm, p, a, {halo, sums, algorithm, schedule},
              [&]<class V>(const Csr<V>& csr) { return share_of(RowRange<V>{csr}, p, comm->rank()); });
}

DistMatrix of_rows(const std::shared_ptr<Comm>& comm, const Matrix& a, std::int64_t first, std::int64_t last,
                   Partition& p, const std::string& halo, const std::string& sums,
                   const std::string& algorithm, std::optional<AnySchedule> schedule) {
  return made(comm, p, a, {halo, sums, algorithm, schedule}, [&]<class V>(const Csr<V>& csr) {
    require(0 <= first && first <= last && last <= csr.rows, "rows to read are outside the matrix");
    return spread(*comm, rows_of(csr, first, last), p);
  });
}

DistMatrix of_share(const std::shared_ptr<Comm>& comm, Matrix& a, KeptRows& keep, bool cut, Partition& p,
                    const std::string& halo, const std::string& sums, const std::string& algorithm,
                    std::optional<AnySchedule> schedule) {
  auto rows = std::exchange(keep, {});
  rows.among = {};
  auto mine = std::exchange(a, Matrix(Csr<One>{}));
  return made(comm, p, std::move(mine), {halo, sums, algorithm, schedule}, [&]<class V>(Csr<V>& csr) {
    Share<V> given{std::exchange(rows.numbers, {}), rows.first, std::exchange(csr, {}), true};
    return cut ? cut_share(given, p, comm->rank()) : given;
  });
}

DistMatrix of_root(const std::shared_ptr<Comm>& comm, const Matrix* a, Partition& p, int root, bool masters,
                   const std::string& dtype, const std::string& halo, const std::string& sums,
                   const std::string& algorithm, std::optional<AnySchedule> schedule) {
  std::optional<Matrix> none;  // what the others stand for: a matrix of the root's type
  if (!a) {
    if (dtype == "float32") none.emplace(Csr<float>{});
    else if (dtype == "float64") none.emplace(Csr<double>{});
    else none.emplace(Csr<One>{});
  }
  return made(comm, p, a ? *a : *none, {halo, sums, algorithm, schedule}, [&]<class V>(const Csr<V>& csr) {
    return scatter_from<V>(*comm, a ? &csr : nullptr, a ? &p : nullptr, root,
                           masters ? Scatter::masters : Scatter::direct);
  });
}

/// `offsets`: of rows first_row, first_row + 1, ... of the matrix, from 0.
Partition by_offsets(const std::string& kind, Comm& comm, std::int64_t first_row, Array<const Offset> offsets,
                     std::int64_t rows, std::int64_t cols) {
  require(kind == "bins" || kind == "balanced",
          "partition '" + kind + "' needs the whole matrix on one rank");
  const nb::gil_scoped_release release;
  return kind == "bins" ? bins_by(comm, first_row, std::move(offsets), rows, cols)
                        : balanced_by(comm, first_row, offsets, rows, cols);
}

Partition of_lengths(const std::string& kind, Comm& comm, std::int64_t first_row, Matrix& a,
                     std::int64_t rows, std::int64_t cols) {
  auto mine = std::exchange(a, Matrix(Csr<One>{}));
  auto offsets = std::visit([](const auto& csr) { return csr.indptr; }, mine.any());
  mine = Matrix(Csr<One>{});
  return by_offsets(kind, comm, first_row, std::move(offsets), rows, cols);
}

}  // namespace

void dist(nb::module_& m) {
  using nb::arg;
  // These use up the partition.
  m.def("dist_of_whole", of_whole, arg("comm"), arg("a"), arg("partition"), arg("halo"), arg("sums"),
        arg("algorithm"), arg("schedule").none());
  m.def("dist_of_rows", of_rows, arg("comm"), arg("a"), arg("first"), arg("last"), arg("partition"),
        arg("halo"), arg("sums"), arg("algorithm"), arg("schedule").none());
  m.def("dist_of_share", of_share, arg("comm"), arg("a"), arg("keep"), arg("cut"), arg("partition"),
        arg("halo"), arg("sums"), arg("algorithm"), arg("schedule").none(),
        "From rows that were generated; `a` and `keep` are used up.");
  m.def("dist_of_root", of_root, arg("comm"), arg("a").none(), arg("partition"), arg("root"), arg("masters"),
        arg("dtype"), arg("halo"), arg("sums"), arg("algorithm"), arg("schedule").none());
  m.def(
      "dist_partition",
      [](Comm& comm, const Partition* p, int root) {
        const nb::gil_scoped_release release;
        return broadcast(comm, p, root);
      },
      arg("comm"), arg("partition").none(), arg("root"));
  m.def(
      "forget_mapped",
      [](const Matrix& a) {
        const auto forget = [](const auto& array) {
          if (array.place.memory == Memory::mapped)
            forget_bytes(const_cast<void*>(static_cast<const void*>(array.data)), array.bytes());
        };
        std::visit([&](const auto& csr) { forget(csr.indptr), forget(csr.indices), forget(csr.values); },
                   a.unread());
      },
      arg("a"), "Gives back the memory of arrays that were read from a file, which has them still.");
  m.def("partition_of_lengths", of_lengths, arg("kind"), arg("comm"), arg("first_row"), arg("a"), arg("rows"),
        arg("cols"),
        "From each rank's equal share of the rows, of which only the offsets are looked at; `a` is used up. "
        "Collective.");
  m.def(
      "partition_of_lengths",
      [](const std::string& kind, Comm& comm, std::int64_t first_row, const ReadArray<Offset>& offsets,
         std::int64_t rows,
         std::int64_t cols) { return by_offsets(kind, comm, first_row, share(offsets), rows, cols); },
      arg("kind"), arg("comm"), arg("first_row"), arg("offsets"), arg("rows"), arg("cols"));
  m.def(
      "partition_of_shape",
      [](const std::string& kind, std::int64_t rows, std::int64_t cols, std::int64_t parts) {
        const Csr<One> shape{rows, cols, {}, {}, {}};
        const auto& f = partition::partitioner(kind);
        require(f.reads == partition::Reads::shape, "partition '" + kind + "' needs more than the shape");
        return f.make(shape, parts);
      },
      arg("kind"), arg("rows"), arg("cols"), arg("parts"));
  m.def(
      "partition_of_owners",
      [](const ReadArray<Index>& owners, std::int64_t rows, std::int64_t cols, std::int64_t parts) {
        const Csr<One> shape{rows, cols, {}, {}, {}};
        return partition::labels(shape, share(owners), parts);
      },
      arg("owners"), arg("rows"), arg("cols"), arg("parts"));
}

}  // namespace penstock::bind
