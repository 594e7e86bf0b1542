// Solvers over matrices that are shared out. What is collective is called by every rank, each with its own rows.
#include <nanobind/stl/variant.h>

#include "penstock/bind/dist/dist.hpp"
#include "penstock/bind/solve/checkpoints.hpp"
#include "penstock/bind/solve/solve_call.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/solver/dist_op.hpp"
#include "penstock/solver/precondition/schwarz.hpp"

namespace penstock::bind {
namespace {

template <class T, class V>
constexpr bool is_compiled = false;
#define X(T, V) \
  template <>   \
  inline constexpr bool is_compiled<T, V> = true;
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X

/// f.operator()<T, V>() for the T that `dtype` names.
template <class V, class F>
AnyOp with_type(const std::string& dtype, F&& f) {
  const nb::gil_scoped_release release;
  if constexpr (is_compiled<float, V>)
    if (dtype == dtype_of<float>()) return {f.template operator()<float>()};
  if constexpr (is_compiled<double, V>)
    if (dtype == dtype_of<double>()) return {f.template operator()<double>()};
  throw Error(Errc::not_compiled, "solvers work in float32 or float64, and in float64 on a float64 matrix");
}

AnyOp bound_dist_op(const DistMatrix& a, const std::string& dtype, std::int64_t prepare_after) {
  a.require_all_numbers("solvers");
  a.guard.require_whole();
  return std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& product) {
        return with_type<V>(
            dtype, [&]<class T>() { return dist_op<T, V>(product, {.prepare_after = prepare_after}); });
      },
      a.any);
}

nb::object bound_diagonal(const DistMatrix& a) {
  a.require_all_numbers("preconditioners");
  a.guard.require_whole();
  Array<double> out;
  std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& product) {
        const nb::gil_scoped_release release;
        const auto found = diagonal_of(*product);
        out = allocate<double>(std::ssize(found));
        std::copy(found.begin(), found.end(), out.data);
      },
      a.any);
  return as_numpy<double>(out);
}

AnyOp bound_diagonal_op(const std::variant<ReadArray<float>, ReadArray<double>>& diagonal) {
  return std::visit([]<class T>(const ReadArray<T>& d) -> AnyOp { return {diagonal_op<T>(share<T>(d))}; },
                    diagonal);
}

Matrix bound_block(const DistMatrix& a) {
  a.require_all_numbers("preconditioners");
  a.guard.require_whole();
  return std::visit(
      []<class V>(const std::shared_ptr<DistProduct<V>>& product) {
        const nb::gil_scoped_release release;
        return Matrix(diagonal_block(*product));
      },
      a.any);
}

/// A subdomain that waits for its solver.
struct Subdomain {
  DistMatrix a;
  std::variant<Overlap<One>, Overlap<float>, Overlap<double>> overlap;
};

Subdomain bound_overlap(const DistMatrix& a) {
  a.require_all_numbers("preconditioners");
  a.guard.require_whole();
  return std::visit(
      [&]<class V>(const std::shared_ptr<DistProduct<V>>& product) -> Subdomain {
        const nb::gil_scoped_release release;
        return {a, overlap_of(*product)};
      },
      a.any);
}

Matrix matrix_of(const Subdomain& s) {
  return std::visit([](const auto& overlap) { return Matrix(overlap.matrix); }, s.overlap);
}

/// The number of its first row in the whole matrix; -1 where it has no rows.
GlobalIndex first_row_of(const Subdomain& s) {
  return std::visit(
      [](const auto& overlap) { return overlap.row_ids.empty() ? GlobalIndex{-1} : overlap.row_ids[0]; },
      s.overlap);
}

Combine combine_named(const std::string& name) {
  if (name == "restricted") return Combine::restricted;
  if (name == "weighted") return Combine::weighted;
  if (name == "added") return Combine::added;
  throw Error(Errc::invalid_argument,
              "combine='" + name + "' is unknown: choose 'restricted', 'weighted' or 'added'");
}

AnyOp bound_schwarz(const Subdomain& s, const AnyOp& inner, const std::string& name) {
  const auto combine = combine_named(name);
  return std::visit(
      [&]<class V>(const Overlap<V>& overlap) {
        const auto& product = std::get<std::shared_ptr<DistProduct<V>>>(s.a.any);
        return std::visit(
            [&]<class T>(const LinearOp<T>& op) {
              return with_type<V>(dtype_of<T>(), [&]<class U>() -> LinearOp<U> {
                if constexpr (std::same_as<T, U>)
                  return additive_schwarz<T, V>(product, overlap, op, combine);
                else throw Error(Errc::not_compiled, "the subdomain's solver is of another type");
              });
            },
            inner.op);
      },
      s.overlap);
}

/// `count` right-hand sides, one after the other in b and x; several are solved by cg alone.
nb::list dist_solve(const std::string& method, const DistMatrix& matrix, const AnyOp& a, const AnyOp* m,
                    const nb::object& b, const nb::object& x, std::int64_t count, const nb::dict& options) {
  const auto space =
      visit(matrix, [](const auto& p) { return space_of(p.matrix().comm, p.matrix().all_rows()); });
  std::vector<SolveResult> results;
  std::visit(
      [&]<class T>(const LinearOp<T>& op) {
        auto o = options_of(options);
        o.checkpoints = checkpoints_of<T>(options);
        const auto* preconditioner = preconditioner_of<T>(m);
        const auto from = nb::cast<ReadArray<T>>(b);
        const auto to = nb::cast<WriteArray<T>>(x);
        const std::span<const T> bs(from.data(), from.shape(0));
        const std::span<T> xs(to.data(), to.shape(0));
        const nb::gil_scoped_release release;
        if (count == 1) {
          results.push_back(run_method<T>(method, op, preconditioner, bs, xs, o, space));
        } else {
          require(method == "cg", "several right-hand sides: by cg alone");
          results = cg_many<T>(op, preconditioner, bs, xs, count, o, space);
        }
      },
      a.op);
  nb::list out;
  for (const auto& r : results) out.append(as_dict(r));
  return out;
}

}  // namespace

void dist_solver(nb::module_& m) {
  m.def("dist_op", bound_dist_op, nb::arg("a"), nb::arg("dtype"), nb::arg("prepare_after"), "Collective.");
  m.def("dist_diagonal", bound_diagonal, nb::arg("a"), "Of the rows owned here, float64. Collective.");
  m.def("diagonal_op", bound_diagonal_op, nb::arg("diagonal"));
  m.def("dist_block", bound_block, nb::arg("a"), "The owned rows and columns. Collective.");
  nb::class_<Subdomain>(m, "Subdomain", "A rank's rows and those that they touch.")
      .def_prop_ro("matrix", matrix_of)
      .def_prop_ro("first_row", first_row_of)
      .def("schwarz", bound_schwarz, nb::arg("inner"), nb::arg("combine"), "Additive Schwarz. Collective.");
  m.def("dist_overlap", bound_overlap, nb::arg("a"), "Collective.");
  m.def("dist_solve", dist_solve, nb::arg("method"), nb::arg("matrix"), nb::arg("a"), nb::arg("m").none(),
        nb::arg("b"), nb::arg("x"), nb::arg("count"), nb::arg("options"),
        "A result for each right-hand side. Collective.");
}

}  // namespace penstock::bind
