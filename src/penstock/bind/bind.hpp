#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>

#include "penstock/bind/gil.hpp"
#include "penstock/bind/guard.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"

namespace penstock::bind {

// Each function binds one subject, in a file of its own.
void core(nb::module_&);
void choices(nb::module_&);
void csr(nb::module_&);
void coo(nb::module_&);
void encode(nb::module_&);
void entries(nb::module_&);
void files(nb::module_&);
void generate(nb::module_&);
void generate_gpu(nb::module_&);
void text(nb::module_&);
void multiply(nb::module_&);
void spgemm(nb::module_&);
void spgemm_gpu(nb::module_&);
void multiply_columns(nb::module_&);
void sddmm_products(nb::module_&);
void sddmm_gpu(nb::module_&);
void values_product(nb::module_&);
void stream_columns_gpu(nb::module_&);
void place(nb::module_&);
void graph_communities(nb::module_&);
void graph_counts(nb::module_&);
void graph_gpu(nb::module_&);
void graph_gpu_parts(nb::module_&);
void graph_gpu_paths(nb::module_&);
void graph_gpu_components(nb::module_&);
void graph_gpu_triangles(nb::module_&);
void graph_packed(nb::module_&);
void graph_dynamic(nb::module_&);
void graph_paths(nb::module_&);
void graph_negative(nb::module_&);
void graph_sample(nb::module_&);
void graph_neighbours(nb::module_&);
void graph_neighbours_gpu(nb::module_&);
void graph_walks(nb::module_&);
void gather_rows(nb::module_&);
void graph_spanning(nb::module_&);
void graph_ranks(nb::module_&);
void graph_similarity(nb::module_&);
void gpu(nb::module_&);
void gpu_allocators(nb::module_&);
void gpu_room(nb::module_&);
void gpu_columns(nb::module_&);
void cusparse_products(nb::module_&);
void ell_g(nb::module_&);
void structure(nb::module_&);
void values_gpu(nb::module_&);
void reorder(nb::module_&);
void graph_traverse(nb::module_&);
void solver(nb::module_&);
void stream(nb::module_&);
void precondition(nb::module_&);
void basis_rows(nb::module_&);
void multigrid(nb::module_&);
void device_op(nb::module_&);
void device_basis(nb::module_&);
void device_product(nb::module_&);
void dist_entries(nb::module_&);
void dist_graph(nb::module_&);
void probe(nb::module_&);
void partition_rows(nb::module_&);
void comm(nb::module_&);
void comm_mpi(nb::module_&);
void comm_measure(nb::module_&);
void transport(nb::module_&);
void dist_matrix(nb::module_&);
void dist(nb::module_&);
void dist_gpu(nb::module_&);
void dist_solver(nb::module_&);
void dist_multigrid(nb::module_&);
void dist_tiles(nb::module_&);
void webgraph(nb::module_&);

/// A matrix as Python holds it, with the plans that its products have built.
class Matrix : public Guarded<AnyCsr> {
 public:
  using AnyPlans = std::variant<SpmvPlans<One>, SpmvPlans<float>, SpmvPlans<double>, SpmvPlans<Complex64>,
                                SpmvPlans<Complex128>>;
  Matrix(AnyCsr a);
  /// A matrix of arrays from elsewhere, of which only the ends have been checked; all entries are checked before the first use.
  /// Errors name `source`.
  static Matrix unchecked(AnyCsr a, const std::string& source);
  /// A matrix whose entries a device is still writing: whoever reads them first calls `wait`.
  static Matrix pending(AnyCsr a, std::function<void()> wait);

  /// Rows [first, last); they are checked, unless the whole matrix has been. Shares the entries.
  Matrix row_range(std::int64_t first, std::int64_t last) const;
  /// Checks part i of n, about equally long, where not all is checked: for ranks that share the work, after which
  /// `guard().settle()` says that all parts were found good.
  void check_part(std::int64_t i, std::int64_t n) const;

  std::shared_ptr<AnyPlans> plans;

 private:
  std::string source_;
};

/// Throws Error{not_accessible} unless the CPU can read all of these places. `reader` is what wants to, and what errors name.
void require_host(std::initializer_list<Place> places, const std::string& reader);
template <class V>
void require_host(const Csr<V>& a, const std::string& reader) {
  require_host({a.indptr.place, a.indices.place, a.values.place}, reader);
}

/// The NumPy type of a matrix's values.
template <class V>
constexpr const char* dtype_name() {
  if constexpr (is_pattern<V>) return "bool";
  else if constexpr (std::same_as<V, float>) return "float32";
  else if constexpr (std::same_as<V, double>) return "float64";
  else if constexpr (std::same_as<V, Complex64>) return "complex64";
  else return "complex128";
}

/// A kind of memory by its name, "host", "pinned", "managed" or "device"; of GPU `gpu` where it is a GPU's.
Place place_named(const std::string& memory, int gpu);

template <class T>
using ReadArray = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using WriteArray = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Shares the bytes of a NumPy array and keeps it alive; safe to drop on any thread.
template <class T>
Array<const T> share(const ReadArray<T>& a, Place place = {}) {
  auto* handle = new ReadArray<T>(a);
  std::shared_ptr<void> owner(handle, [](void* p) {
    const nb::gil_scoped_acquire gil;
    delete static_cast<ReadArray<T>*>(p);
  });
  return {a.data(), static_cast<std::int64_t>(a.shape(0)), place, owner};
}

/// The bytes of an Array as a read-only NumPy array that keeps their owner alive.
template <class T>
nb::object as_numpy(const Array<const T>& a) {
  auto* owner = new std::shared_ptr<void>(a.owner);
  const nb::capsule keep(owner, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(a.data, {static_cast<std::size_t>(a.size)}, keep));
}

}  // namespace penstock::bind
