// Algebraic multigrid: a hierarchy made of a matrix, and its cycle as a preconditioner.
#include "penstock/solver/multigrid/hierarchy.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "penstock/bind/on_gpu.hpp"
#include "penstock/bind/solve/amg_options.hpp"
#include "penstock/bind/solve/device_op.hpp"
#include "penstock/bind/solve/linear_op.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/solver/complex_form.hpp"
#include "penstock/solver/multigrid/gpu/cycle_gpu.hpp"
#include "penstock/solver/multigrid/gpu/hierarchy_gpu.hpp"
#include "penstock/solver/multigrid/gpu/smoothing_gpu.hpp"

namespace penstock::bind {
namespace {

struct AnyHierarchy {
  std::variant<std::shared_ptr<const Hierarchy<float>>, std::shared_ptr<const Hierarchy<double>>> levels;
  AnyOp op;

  /// The same options and vectors for a matrix with the same pattern.
  std::string precision;
  std::vector<double> near_nullspace;
  std::int64_t vectors = 1;
  AmgOptions options;
  std::optional<Where> device;  // where the levels are made and applied; nothing: by the CPU
  bool complex = false;         // the levels are of the parts of complex vectors
};

/// A finest matrix that the device reads where it is.
struct AnyFinest {
  AnyDeviceOp product;
  std::string dtype;  // of M
  double scale = 1;   // by which A has been multiplied
  std::int64_t memory = 0;
  Offset block_nnz = 0;
};

/// A in float32, times narrowing_scale() of its diagonal.
Csr<float> narrowed(const Csr<double>& a, double& scale) {
  double most = 0;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k)
      if (a.indices.data[k] == i) most = std::max(most, a.values.data[k]);
  scale = narrowing_scale(most);
  const auto values = allocate<float>(std::max<Offset>(a.nnz(), 1));
  constexpr std::int64_t kEntries = 1 << 16;
  parallel_ranges(a.nnz(), kEntries, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k) values.data[k] = static_cast<float>(scale * a.values.data[k]);
  });
  return {a.rows, a.cols, a.indptr, a.indices, values.slice(0, a.nnz())};
}

template <class T>
const Hierarchy<T>* hierarchy_of(const AnyHierarchy* any) {
  using Levels = std::shared_ptr<const Hierarchy<T>>;
  return any ? std::get<Levels>(any->levels).get() : nullptr;
}

/// The levels in the memory of a device, and M.
template <class U, class T>
void build_there(const Csr<T>& a, double scale, AnyHierarchy& made, const AnyHierarchy* before,
                 const StreamedFinest<T>* streamed = nullptr) {
  auto h = build_hierarchy_on<T>(a, made.near_nullspace, made.vectors, made.options, *made.device,
                                 hierarchy_of<T>(before), streamed);
  made.op.op = multigrid_on<U, T>(h, scale);
  made.levels = std::move(h);
}
void build_narrow_there(const Csr<double>& a, AnyHierarchy& made, const AnyHierarchy* before) {
  const OwnedStream stream(*made.device);
  double scale = 1;
  const auto low = narrowed_on(a, scale, stream);
  build_there<double, float>(low, scale, made, before);
}

template <class T>
void build_streamed_as(const Csr<T>& a, const AnyFinest& finest, AnyHierarchy& made,
                       const AnyHierarchy* before, const StreamedFinest<T>& streamed) {
  if (finest.dtype == dtype_of<T>()) {
    build_there<T, T>(a, finest.scale, made, before, &streamed);
  } else if constexpr (std::same_as<T, float>) {
    build_there<double, float>(a, finest.scale, made, before, &streamed);
  } else {
    throw Error(Errc::not_compiled, "AMG: levels in float64 are for vectors in float64");
  }
}
template <class T>
void build_streamed(const Csr<T>& a, const AnyFinest& finest, AnyHierarchy& made,
                    const AnyHierarchy* before) {
  const auto* product = std::get_if<DeviceOp<T>>(&finest.product.op);
  require(product, "AMG: the plan's vectors are of another type than the levels");
  const StreamedFinest<T> streamed{*product, finest.memory, finest.block_nnz};
  try {
    build_streamed_as(a, finest, made, before, streamed);
  } catch (const Error& e) {
    const std::string what = e.what();
    if (e.code() != Errc::out_of_memory || what.find(kRoomRemedy) != std::string::npos) throw;
    throw Error(Errc::out_of_memory,
                "AMG: beside the matrix, which is streamed, the levels do not fit the GPU (" + what +
                    "): " + std::string(kRoomRemedy));
  }
}

/// `made` with its levels, of which those of `before` lend their aggregates.
AnyHierarchy built(const Matrix& m, AnyHierarchy made, const AnyHierarchy* before,
                   const AnyFinest* finest = nullptr) {
  m.guard().look();
  const auto& any = m.any();
  const auto* f = std::get_if<Csr<float>>(&any);
  const auto* w = std::get_if<Csr<double>>(&any);
  require(f || w, "AMG works on real matrices in float32 or float64");
  if (!made.device) {
    if (f) require_host(*f, "AMG");
    else require_host(*w, "AMG");
  }
  {
    const nb::gil_scoped_release release;
    const auto& b = made.near_nullspace;
    if (finest) {
      if (f) build_streamed(*f, *finest, made, before);
      else build_streamed(*w, *finest, made, before);
    } else if (made.device) {
      if (f) build_there<float, float>(*f, 1, made, before);
      else if (made.precision == "float32") build_narrow_there(*w, made, before);
      else build_there<double, double>(*w, 1, made, before);
    } else if (f) {
      auto h = build_hierarchy<float>(*f, b, made.vectors, made.options, hierarchy_of<float>(before));
      made.op.op = multigrid<float, float>(h, 1, made.complex);
      made.levels = std::move(h);
    } else if (made.precision == "float32") {
      double scale = 1;
      auto h = build_hierarchy<float>(narrowed(*w, scale), b, made.vectors, made.options,
                                      hierarchy_of<float>(before));
      made.op.op = multigrid<double, float>(h, scale, made.complex);
      made.levels = std::move(h);
    } else {
      auto h = build_hierarchy<double>(*w, b, made.vectors, made.options, hierarchy_of<double>(before));
      made.op.op = multigrid<double, double>(h, 1, made.complex);
      made.levels = std::move(h);
    }
  }
  made.op.guard = m.guard(), made.op.complex = made.complex;
  return made;
}

AnyHierarchy bound_amg(const Matrix& m, const std::string& precision, const ReadArray<double>& near_nullspace,
                       std::int64_t vectors, const nb::dict& d, std::optional<int> gpu,
                       const AnyFinest* finest, bool complex) {
  const auto o = amg_options(d);
  const auto* f = std::get_if<Csr<float>>(&m.any());
  const auto* w = std::get_if<Csr<double>>(&m.any());
  require(f || w, "AMG works on real matrices in float32 or float64");
  const auto given = static_cast<std::int64_t>(near_nullspace.shape(0));
  require(vectors >= 1 && (given == (f ? f->rows : w->rows) * vectors || (gpu && given == 0)),
          "AMG: near_nullspace needs a row for each row of A");
  return built(m,
               {.levels = {},
                .op = {},
                .precision = precision,
                .near_nullspace = {near_nullspace.data(), near_nullspace.data() + near_nullspace.shape(0)},
                .vectors = vectors,
                .options = o,
                .device = gpu ? std::optional(Where{*gpu}) : std::nullopt,
                .complex = complex},
               nullptr, finest);
}

AnyHierarchy bound_update(const AnyHierarchy& before, const Matrix& m, const AnyFinest* finest) {
  AnyHierarchy made{.levels = {},
                    .op = {},
                    .precision = before.precision,
                    .near_nullspace = before.near_nullspace,
                    .vectors = before.vectors,
                    .options = before.options,
                    .device = before.device,
                    .complex = before.complex};
  return built(m, std::move(made), &before, finest);
}

/// Where both are: on one GPU, or in memory that the CPU reads.
bool same_pattern(const Matrix& a, const Matrix& b) {
  const auto where = gpu_that_holds(a);
  return std::visit(
      [&]<class V>(const Csr<V>& x) {
        const auto* y = std::get_if<Csr<V>>(&b.any());
        if (!y) return false;
        if (where) require_on(*where, *y, "same_pattern");
        else require_host(*y, "same_pattern");
        const nb::gil_scoped_release release;
        const OwnedStream stream(where.value_or(Where{}));
        return same_pattern_on(x, *y, stream);
      },
      a.any());
}

Array<const Index> in_host(const Array<const Index>& from) {
  if (can_read(Where{}, from.place)) return from;
  const auto to = allocate<Index>(from.size);
  const OwnedStream stream(Where{from.place.ordinal});
  copy_async(to.data, from.data, from.bytes(), stream);
  synchronize(stream);
  return to;
}

Matrix matrix_of_parts_of(const Matrix& m) {
  const auto& any = m.any();
  const auto make = [&](const auto& a) {
    require_host(a, "AMG");
    const nb::gil_scoped_release release;
    return AnyCsr(matrix_of_parts(a));
  };
  if (const auto* a = std::get_if<Csr<Complex64>>(&any)) return Matrix(make(*a));
  const auto* a = std::get_if<Csr<Complex128>>(&any);
  require(a, "matrix_of_parts: the matrix is not complex");
  return Matrix(make(*a));
}

template <class F>
auto at_level(const AnyHierarchy& a, std::int64_t number, F&& f) {
  return std::visit(
      [&](const auto& h) {
        require(number >= 0 && number < std::ssize(h->levels), "AMG: there is no such level");
        return f(h->levels[at(number)]);
      },
      a.levels);
}

}  // namespace

void multigrid(nb::module_& m) {
  nb::class_<AnyFinest>(m, "FinestLevel", "A finest matrix of multigrid that a GPU reads where it is.")
      .def(
          "__init__",
          [](AnyFinest* self, const AnyDeviceOp& product, const std::string& dtype, double scale,
             std::int64_t memory, Offset block_nnz) {
            new (self) AnyFinest{product, dtype, scale, memory, block_nnz};
          },
          nb::arg("product"), nb::arg("dtype"), nb::arg("scale") = 1.0, nb::arg("memory") = 0,
          nb::arg("block_nnz") = 0);
  nb::class_<AnyHierarchy>(m, "Hierarchy", "The levels of algebraic multigrid.")
      .def_prop_ro("op", [](const AnyHierarchy& a) { return a.op; })
      .def_prop_ro(
          "gpu",
          [](const AnyHierarchy& a) { return a.device ? std::optional<int>(a.device->gpu) : std::nullopt; })
      .def_prop_ro("levels",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return std::ssize(h->levels); }, a.levels);
                   })
      .def_prop_ro("bytes",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return h->bytes(); }, a.levels);
                   })
      .def_prop_ro("device_bytes",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return h->device_bytes(); }, a.levels);
                   })
      .def_prop_ro("finest_steps",
                   [](const AnyHierarchy& a) {
                     return std::visit(
                         [](const auto& h) { return std::ssize(h->levels.front().smoothing.steps); },
                         a.levels);
                   })
      .def("updated", bound_update, nb::arg("a"), nb::arg("finest").none() = nb::none(),
           "For other values, with the aggregates of these levels.")
      .def_prop_ro("factored",
                   [](const AnyHierarchy& a) {
                     return std::visit([](const auto& h) { return h->factored(); }, a.levels);
                   })
      .def(
          "matrix",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return Matrix(AnyCsr(level.a)); });
          },
          nb::arg("level"))
      .def(
          "prolongator",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) {
              require(level.p.indptr.data != nullptr, "AMG: the last level has no prolongator");
              return Matrix(AnyCsr(level.p));
            });
          },
          nb::arg("level"))
      .def(
          "aggregates",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return as_numpy(in_host(level.aggregates.of)); });
          },
          nb::arg("level"))
      .def(
          "largest_eigenvalue",
          [](const AnyHierarchy& a, std::int64_t l) {
            return at_level(a, l, [](const auto& level) { return level.largest; });
          },
          nb::arg("level"));
  m.def("same_pattern", same_pattern, nb::arg("a"), nb::arg("b"),
        "Whether two matrices of one type and in one place have entries at the same places.");
  m.def("amg", bound_amg, nb::arg("a"), nb::arg("precision"), nb::arg("near_nullspace"), nb::arg("vectors"),
        nb::arg("options"), nb::arg("gpu").none() = nb::none(), nb::arg("finest").none() = nb::none(),
        nb::arg("complex") = false,
        "With `gpu`, levels in the memory of that GPU, where A is; -1: the CPU as a device. near_nullspace "
        "may then "
        "be empty: ones of each row of a block. With `finest`, A is read where it is. `complex`: A is of the "
        "parts "
        "of complex vectors, and so are near_nullspace and the options.");
  m.def("matrix_of_parts", matrix_of_parts_of, nb::arg("a"),
        "The real matrix of a complex one: each entry a + b i is [[a, -b], [b, a]].");
}

}  // namespace penstock::bind
