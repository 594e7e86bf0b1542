// Entries with numbers of 64 bits, which a rank collects before they become a distributed matrix.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/share/coordinates.hpp"
#include "penstock/io/generate/generate_rmat_wide.hpp"

namespace penstock::bind {
namespace {

using Numbers = ReadArray<GlobalIndex>;

struct DistEntries {
  std::variant<std::vector<Coordinate<One>>, std::vector<Coordinate<float>>, std::vector<Coordinate<double>>>
      any;
};

DistEntries entries_of_type(const std::string& dtype) {
  if (dtype == "float32") return {std::vector<Coordinate<float>>{}};
  if (dtype == "float64") return {std::vector<Coordinate<double>>{}};
  require(dtype == "bool", "entries are of bool, float32 or float64, not of " + dtype);
  return {std::vector<Coordinate<One>>{}};
}

void require_inside(const char* what, GlobalIndex number, GlobalIndex size) {
  require(0 <= number && number < size, [&] {
    return std::string(what) + " " + std::to_string(number) + " is outside a matrix of " +
           std::to_string(size) + " " + what + "s";
  });
}

void require_equally_many(const char* what, std::size_t count, std::size_t rows) {
  require(count == rows, [&] {
    return "entries: " + std::to_string(rows) + " rows and " + std::to_string(count) + " " + what +
           ": give one of each for every entry";
  });
}

/// Numbers count from `base`. `mirror`: 0, or the sign of the entries (j, i) that are added for each (i, j) off the diagonal.
template <class V>
void append(std::vector<Coordinate<V>>& to, const Numbers& row, const Numbers& column,
            [[maybe_unused]] const V* values, GlobalIndex base, GlobalIndex rows, GlobalIndex cols,
            int mirror) {
  for (std::size_t k = 0; k < row.shape(0); ++k) {
    Coordinate<V> e{row.data()[k] - base, column.data()[k] - base, {}};
    require_inside("row", e.row, rows), require_inside("column", e.column, cols);
    if constexpr (!is_pattern<V>) e.value = values[k];
    to.push_back(e);
    if (mirror == 0 || e.row == e.column) continue;
    std::swap(e.row, e.column);
    if constexpr (!is_pattern<V>) e.value *= static_cast<V>(mirror);
    to.push_back(e);
  }
}

template <class V>
std::vector<Coordinate<V>>& list_of_type(DistEntries& entries, const Numbers& row, const Numbers& column) {
  auto* list = std::get_if<std::vector<Coordinate<V>>>(&entries.any);
  require(list != nullptr, [] {
    return std::string("entries: the list was made for another type than ") + dtype_name<V>() +
           ": give values of its type, or none for bool";
  });
  require_equally_many("columns", column.shape(0), row.shape(0));
  return *list;
}

template <class V>
void add_entries(DistEntries& to, const Numbers& row, const Numbers& column, const ReadArray<V>& values,
                 GlobalIndex base, GlobalIndex rows, GlobalIndex cols, int mirror) {
  auto& list = list_of_type<V>(to, row, column);
  require_equally_many("values", values.shape(0), row.shape(0));
  const nb::gil_scoped_release release;
  append<V>(list, row, column, values.data(), base, rows, cols, mirror);
}

void add_pattern(DistEntries& to, const Numbers& row, const Numbers& column, GlobalIndex base,
                 GlobalIndex rows, GlobalIndex cols, int mirror) {
  auto& list = list_of_type<One>(to, row, column);
  const nb::gil_scoped_release release;
  append<One>(list, row, column, nullptr, base, rows, cols, mirror);
}

void add_rmat(DistEntries& to, int ranks, int rank, int scale, double edge_factor, double a, double b,
              double c, bool undirected, bool self_loops, bool scramble, std::uint64_t seed) {
  const RmatOptions options{scale,      edge_factor, a,        b,    c,
                            undirected, self_loops,  scramble, seed, kMostWideScale};
  const nb::gil_scoped_release release;
  std::visit([&](auto& list) { append_rmat(list, options, ranks, rank); }, to.any);
}

void reserve(DistEntries& entries, std::int64_t count) {
  std::visit([&](auto& list) { list.reserve(at(count)); }, entries.any);
}

DistMatrix matrix_of_entries(DistEntries& given, const std::shared_ptr<Comm>& comm, GlobalIndex rows,
                             GlobalIndex cols, bool balanced, bool listed, bool sum, const std::string& halo,
                             const std::string& sums, const std::string& algorithm,
                             std::optional<AnySchedule> schedule) {
  const auto options = ProductSettings{halo, sums, algorithm, std::move(schedule)}.options();
  const nb::gil_scoped_release release;
  return std::visit(
      [&]<class V>(std::vector<Coordinate<V>>& list) -> DistMatrix {
        auto d = from_coordinates<V>(
            comm, rows, cols, std::exchange(list, {}), balanced ? RowCuts::balanced : RowCuts::contiguous,
            listed ? Numbering::listed : Numbering::all, sum ? Duplicates::sum : Duplicates::one);
        return {std::make_shared<DistProduct<V>>(std::move(d), options),
                std::string(name(balanced ? PartitionKind::balanced : PartitionKind::contiguous))};
      },
      given.any);
}

/// What is listed, as a matrix of its own: of one rank, which has all of it.
Matrix listed_alone(const DistMatrix& a) {
  return visit(a, [](const auto& p) {
    const auto& d = p.matrix();
    require(d.comm->size() == 1, "dist_listed: one rank has all that is listed, of " +
                                     std::to_string(d.comm->size()) + " none has");
    return Matrix(d.local);
  });
}

}  // namespace

void dist_entries(nb::module_& m) {
  using nb::arg;
  nb::class_<DistEntries> c(m, "DistEntries", "Entries with numbers of 64 bits; a matrix uses them up.");
  c.def("__init__",
        [](DistEntries* self, const std::string& dtype) { new (self) DistEntries(entries_of_type(dtype)); });
  c.def("__len__", [](const DistEntries& e) {
    return std::visit([](const auto& list) { return std::ssize(list); }, e.any);
  });
  c.def("reserve", reserve, arg("count"));
  const auto add = [&](auto f) {
    c.def("add", f, arg("row"), arg("col"), arg("values"), arg("base"), arg("rows"), arg("cols"),
          arg("mirror"));
  };
  add(add_entries<float>), add(add_entries<double>);
  c.def("add_pattern", add_pattern, arg("row"), arg("col"), arg("base"), arg("rows"), arg("cols"),
        arg("mirror"));
  c.def("add_rmat", add_rmat, arg("ranks"), arg("rank"), arg("scale"), arg("edge_factor"), arg("a"), arg("b"),
        arg("c"), arg("undirected"), arg("self_loops"), arg("scramble"), arg("seed"));
  m.def("dist_listed", listed_alone, arg("a"));
  c.def("matrix", matrix_of_entries, arg("comm"), arg("rows"), arg("cols"), arg("balanced"), arg("listed"),
        arg("sum"), arg("halo"), arg("sums"), arg("algorithm"), arg("schedule").none(), "Collective.");
}

}  // namespace penstock::bind
