// SpGEMM by the steps of cuSPARSE: estimate the work, reserve the workspaces, compute, and copy C. Each step is called twice,
// first to learn how large its workspace must be.
#include "penstock/kernel/cusparse/cusparse_spgemm.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/kernel/cusparse/cusparse.hpp"
#include "penstock/kernel/cusparse/cusparse_library.hpp"

namespace penstock::cusparse {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

template <class To, class From>
Array<To> converted(const Array<From>& from, Place place, Stream stream) {
  const auto wide = allocate<std::remove_const_t<From>>(from.size);
  copy_async(wide.data, from.data, wide.bytes(), stream);
  synchronize(stream);
  const auto narrow = allocate<To>(from.size), out = allocate<To>(from.size, place);
  for (std::int64_t i = 0; i < from.size; ++i) narrow.data[i] = static_cast<To>(wide.data[i]);
  copy_async(out.data, narrow.data, narrow.bytes(), stream);
  synchronize(stream);
  return out;
}

template <class T>
Matrix matrix_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz, void* offsets, const void* indices,
                 const void* values) {
  Matrix m = nullptr;
  check(library().create_csr(&m, rows, cols, nnz, offsets, const_cast<void*>(indices),
                             const_cast<void*>(values), kIndex32, kIndex32, kBaseZero, kType<T>),
        "cusparseCreateCsr");
  return m;
}

/// The objects of cuSPARSE that live as long as one product.
struct Work {
  void* steps = nullptr;
  Matrix c = nullptr;
  ~Work() {
    if (c) library().destroy_matrix(c);
    if (steps) library().destroy_spgemm(steps);
  }
};

}  // namespace

int spgemm_algorithm(std::string_view name) {
  constexpr std::string_view kNames[] = {"default", "alg1", "alg2", "alg3"};
  constexpr int kNumbers[] = {0, 3, 4, 5};  // the values of cusparseSpGEMMAlg_t
  for (std::size_t i = 0; i < 4; ++i)
    if (name == kNames[i]) return kNumbers[i];
  throw Error(Errc::invalid_argument,
              "cuSPARSE: \"" + std::string(name) + "\" is not one of default, alg1, alg2, alg3");
}

template <class T>
Csr<T> Spgemm<T>::Product::csr(Stream stream) const {
  const Place here{Memory::device, static_cast<std::int16_t>(stream.where.gpu)};
  const auto own_indices = allocate<Index>(indices.size, here);
  const auto own_values = allocate<T>(values.size, here);
  copy_async(own_indices.data, indices.data, indices.bytes(), stream);
  copy_async(own_values.data, values.data, values.bytes(), stream);
  return {rows, cols, converted<Offset>(indptr, here, stream), own_indices, own_values};
}

template <class T>
Spgemm<T>::Spgemm(const Csr<T>& a, const Csr<T>& b, Where where) : a_(a), b_(b) {
  require(where.is_gpu(), "cuSPARSE computes on a GPU");
  require(a.cols == b.rows, "spgemm: A's columns and B's rows must be equal");
  for (const auto* m : {&a, &b}) {
    require(m->nnz() <= kMost && m->rows <= kMost, "cuSPARSE: " + std::to_string(m->nnz()) + " nonzeros in " +
                                                       std::to_string(m->rows) +
                                                       " rows do not fit its 32-bit offsets");
    for (const auto place : {m->indptr.place, m->indices.place, m->values.place})
      if (!can_read(where, place))
        throw Error(Errc::not_accessible, "cuSPARSE: a matrix is in " + std::string(name(place.memory)) +
                                              " memory, which GPU " + std::to_string(where.gpu) +
                                              " cannot read: move it to that GPU");
  }
  const UseDevice use(where);
  const OwnedStream stream(where);
  const Place here{Memory::device, static_cast<std::int16_t>(where.gpu)};
  a_offsets_ = converted<std::int32_t>(a.indptr, here, stream);
  b_offsets_ = converted<std::int32_t>(b.indptr, here, stream);
  check(library().create(&handle_), "cusparseCreate");
  a_matrix_ = matrix_of<T>(a.rows, a.cols, a.nnz(), a_offsets_.data, a.indices.data, a.values.data);
  b_matrix_ = matrix_of<T>(b.rows, b.cols, b.nnz(), b_offsets_.data, b.indices.data, b.values.data);
}

template <class T>
Spgemm<T>::~Spgemm() {
  for (auto* m : {a_matrix_, b_matrix_})
    if (m) library().destroy_matrix(m);
  if (handle_) library().destroy(handle_);
}

template <class T>
auto Spgemm<T>::multiply(int algorithm, Stream stream) -> Product {
  const auto& l = library();
  const UseDevice use(stream.where);
  check(l.set_stream(handle_, stream.handle), "cusparseSetStream");
  const T one = 1, zero = 0;
  std::vector<std::shared_ptr<void>> buffers;  // declared before `work`, which may use them until it ends
  Work work;
  check(l.create_spgemm(&work.steps), "cusparseSpGEMM_createDescr");
  work.c = matrix_of<T>(a_.rows, b_.cols, 0, nullptr, nullptr, nullptr);
  const auto step = [&](const char* what, auto* f, auto... last) {
    check(f(handle_, kOperationNone, kOperationNone, &one, a_matrix_, b_matrix_, &zero, work.c, kType<T>,
            algorithm, work.steps, last...),
          what);
  };
  const auto buffer = [&](std::size_t bytes) {
    buffers.push_back(allocate_scratch(static_cast<std::int64_t>(bytes), stream));
    return buffers.back().get();
  };
  std::size_t bytes = 0, compute_bytes = 0;
  step("cusparseSpGEMM_workEstimation", l.estimate_work, &bytes, static_cast<void*>(nullptr));
  step("cusparseSpGEMM_workEstimation", l.estimate_work, &bytes, buffer(bytes));
  if (algorithm == spgemm_algorithm("alg2") || algorithm == spgemm_algorithm("alg3")) {
    require(l.estimate_memory, "this cuSPARSE has no alg2 and alg3: use default");
    // The share of the products that alg3 computes at a time, as in NVIDIA's example.
    constexpr float kChunk = 0.2f;
    step("cusparseSpGEMM_estimateMemory", l.estimate_memory, kChunk, &bytes, static_cast<void*>(nullptr),
         static_cast<std::size_t*>(nullptr));
    step("cusparseSpGEMM_estimateMemory", l.estimate_memory, kChunk, &bytes, buffer(bytes), &compute_bytes);
    buffers.pop_back();
  } else {
    step("cusparseSpGEMM_compute", l.compute_spgemm, &compute_bytes, static_cast<void*>(nullptr));
  }
  step("cusparseSpGEMM_compute", l.compute_spgemm, &compute_bytes, buffer(compute_bytes));
  std::int64_t rows = 0, cols = 0, nnz = 0;
  check(l.matrix_size(work.c, &rows, &cols, &nnz), "cusparseSpMatGetSize");
  if (nnz < 0 || nnz > kMost)
    throw Error(Errc::out_of_memory,
                "cuSPARSE: C has " + std::to_string(nnz) + " entries, which do not fit its 32-bit offsets");
  Product c{.rows = rows, .cols = cols, .indptr = {}, .indices = {}, .values = {}};
  const auto array = [&]<class V>(Array<V>& to, std::int64_t count) {
    const auto owner = allocate_scratch(count * static_cast<std::int64_t>(sizeof(V)), stream);
    to = {static_cast<V*>(owner.get()),
          count,
          {Memory::device, static_cast<std::int16_t>(stream.where.gpu)},
          owner};
  };
  array(c.indptr, rows + 1), array(c.indices, nnz), array(c.values, nnz);
  check(l.set_csr(work.c, c.indptr.data, c.indices.data, c.values.data), "cusparseCsrSetPointers");
  step("cusparseSpGEMM_copy", l.copy_spgemm);
  synchronize(stream);
  return c;
}

template class Spgemm<float>;
template class Spgemm<double>;

}  // namespace penstock::cusparse
