// Partitions of a matrix among ranks, and what a product costs in them.
#include <nanobind/stl/string.h>

#include "penstock/partition/partition.hpp"

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/partition/metrics.hpp"

namespace penstock::bind {
namespace {

/// f(pattern, bytes of a value) of the matrix, without the interpreter's lock.
template <class F>
auto of_pattern(const Matrix& a, F&& f) {
  return std::visit(
      [&]<class V>(const Csr<V>& c) {
        require_host({c.indptr.place, c.indices.place}, "a partition");
        const nb::gil_scoped_release release;
        return f(Csr<One>{c.rows, c.cols, c.indptr, c.indices, {}}, value_bytes<V>);
      },
      a.any());
}

/// f(i) of n items as a NumPy array.
template <class T, class F>
nb::object list_of(std::size_t n, F&& f) {
  auto out = allocate<T>(static_cast<std::int64_t>(n));
  for (std::size_t i = 0; i < n; ++i) out.data[i] = static_cast<T>(f(i));
  return as_numpy<T>(out);
}

nb::object list_of(const std::vector<std::int64_t>& v) {
  return list_of<std::int64_t>(v.size(), [&](std::size_t i) { return v[i]; });
}

Partition make(const Matrix& a, const std::string& kind, std::int64_t parts) {
  const auto& f = partition::partitioner(kind);
  return of_pattern(a, [&](const Csr<One>& c, std::int64_t) { return f.make(c, parts); });
}

nb::object pieces(const Partition& p) {
  const auto& v = p.pieces;
  return nb::make_tuple(list_of<std::int64_t>(v.size(), [&](std::size_t i) { return v[i].row; }),
                        list_of<std::int64_t>(v.size(), [&](std::size_t i) { return v[i].first; }),
                        list_of<std::int64_t>(v.size(), [&](std::size_t i) { return v[i].last; }),
                        list_of<Index>(v.size(), [&](std::size_t i) { return v[i].part; }));
}

nb::dict measure(const Matrix& a, const Partition& p) {
  const auto m = of_pattern(a, [&](const Csr<One>& c, std::int64_t bytes) {
    return metrics(c, p, bytes, bytes ? bytes : 8);  // products of a pattern are taken to be in float64
  });
  const auto& e = m.exchanges;
  nb::dict d;
  d["mad"] = m.mad;
  d["imbalance"] = m.imbalance;
  d["halo_volume"] = m.halo_volume;
  d["partial_volume"] = m.partial_volume;
  d["messages"] = m.messages;
  d["nnz"] = list_of(m.nnz);
  d["rows"] = list_of(m.rows);
  d["halo"] = list_of(m.halo);
  d["bytes"] = list_of(m.bytes);
  d["held"] = list_of(m.held), d["ghost_rows"] = list_of(m.ghost_rows),
  d["ghosts_most"] = list_of(m.ghosts_most);
  d["uneven"] = list_of(m.uneven);
  d["from"] = list_of<Index>(e.size(), [&](std::size_t i) { return e[i].from; });
  d["to"] = list_of<Index>(e.size(), [&](std::size_t i) { return e[i].to; });
  d["values"] = list_of<std::int64_t>(e.size(), [&](std::size_t i) { return e[i].halo + e[i].partial; });
  d["sums"] = list_of<std::int64_t>(e.size(), [&](std::size_t i) { return e[i].partial; });
  return d;
}

}  // namespace

void partition_rows(nb::module_& m) {
  nb::class_<Partition>(m, "Partition")
      .def_prop_ro("kind", [](const Partition& p) { return std::string(name(p.kind)); })
      .def_ro("parts", &Partition::parts)
      .def_prop_ro("shape", [](const Partition& p) { return nb::make_tuple(p.rows, p.cols); })
      .def_ro("nnz", &Partition::nnz)
      .def_prop_ro("grid", [](const Partition& p) { return nb::make_tuple(p.grid_rows, p.grid_cols); })
      .def_prop_ro("owners", [](const Partition& p) { return as_numpy<Index>(p.row_owners); })
      .def_prop_ro("col_owners", [](const Partition& p) { return as_numpy<Index>(p.col_owners); })
      .def_prop_ro("row_cuts", [](const Partition& p) { return list_of(p.row_cuts); })
      .def_prop_ro("col_cuts", [](const Partition& p) { return list_of(p.col_cuts); })
      .def_prop_ro("pieces", &pieces)
      .def(
          "copy", [](const Partition& p) { return p; }, "Shares the arrays.");
  m.def("partition", &make, nb::arg("a"), nb::arg("kind"), nb::arg("parts"));
  m.def(
      "partition_labels",
      [](const Matrix& a, const ReadArray<Index>& owners, std::int64_t parts) {
        const auto shared = share(owners);
        return of_pattern(
            a, [&](const Csr<One>& c, std::int64_t) { return partition::labels(c, shared, parts); });
      },
      nb::arg("a"), nb::arg("owners"), nb::arg("parts"));
  m.def("partition_metrics", &measure, nb::arg("a"), nb::arg("partition"));
  m.def(
      "partition_entries",
      [](const Matrix& a, const Partition& p) {
        return as_numpy<Index>(
            of_pattern(a, [&](const Csr<One>& c, std::int64_t) { return partition::entry_parts(c, p); }));
      },
      nb::arg("a"), nb::arg("partition"));
}

}  // namespace penstock::bind
