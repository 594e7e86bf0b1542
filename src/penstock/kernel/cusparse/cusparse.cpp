// Loads cuSPARSE with dlopen, finds its functions by name, and multiplies by them. For each way of calling (algorithm, number
// of columns, steps between rows) descriptors and a workspace are made once and kept.
#include "penstock/kernel/cusparse/cusparse.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "penstock/core/config.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/cusparse/cusparse_library.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"

namespace penstock::cusparse {
namespace {

std::mutex loading;
Library library_memory;
std::atomic<const Library*> loaded = nullptr;

constexpr std::string_view kRemedy =
    "install it (pip install nvidia-cusparse, or a CUDA toolkit with its lib64 in LD_LIBRARY_PATH), or leave "
    "the kernel at "
    "auto";

template <class F>
void find(const Library& from, F*& to, const char* name, bool needed = true) {
  to = reinterpret_cast<F*>(dlsym(from.opened, name));
  if (!to && needed)
    throw Error(Errc::not_accessible, "this libcusparse has no " + std::string(name) +
                                          ": it is older than cuSPARSE 12; " + std::string(kRemedy));
}

Library open(const std::string& path) {
  Library l;
  std::string why;
  const std::vector<std::string> names =
      path.empty() ? std::vector<std::string>{"libcusparse.so.12", "libcusparse.so"} : std::vector{path};
  for (const auto& name : names) {
    l.opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (l.opened) break;
    if (const char* error = dlerror(); why.empty() && error) why = error;
  }
  if (!l.opened)
    throw Error(Errc::not_accessible, "cuSPARSE cannot be opened (" + why + "): " + std::string(kRemedy));
  find(l, l.create, "cusparseCreate");
  find(l, l.destroy, "cusparseDestroy");
  find(l, l.get_version, "cusparseGetVersion");
  find(l, l.set_stream, "cusparseSetStream");
  find(l, l.error_string, "cusparseGetErrorString");
  find(l, l.create_csr, "cusparseCreateCsr");
  find(l, l.destroy_matrix, "cusparseDestroySpMat");
  find(l, l.create_vector, "cusparseCreateDnVec");
  find(l, l.destroy_vector, "cusparseDestroyDnVec");
  find(l, l.set_vector, "cusparseDnVecSetValues");
  find(l, l.create_columns, "cusparseCreateDnMat");
  find(l, l.destroy_columns, "cusparseDestroyDnMat");
  find(l, l.set_columns, "cusparseDnMatSetValues");
  find(l, l.spmv, "cusparseSpMV");
  find(l, l.spmv_size, "cusparseSpMV_bufferSize");
  find(l, l.spmv_prepare, "cusparseSpMV_preprocess", false);  // from CUDA 12.4 on
  find(l, l.spmm, "cusparseSpMM");
  find(l, l.spmm_size, "cusparseSpMM_bufferSize");
  find(l, l.spmm_prepare, "cusparseSpMM_preprocess", false);
  find(l, l.create_spgemm, "cusparseSpGEMM_createDescr");
  find(l, l.destroy_spgemm, "cusparseSpGEMM_destroyDescr");
  find(l, l.estimate_work, "cusparseSpGEMM_workEstimation");
  find(l, l.estimate_memory, "cusparseSpGEMM_estimateMemory", false);  // from CUDA 12.0 on
  find(l, l.compute_spgemm, "cusparseSpGEMM_compute");
  find(l, l.copy_spgemm, "cusparseSpGEMM_copy");
  find(l, l.matrix_size, "cusparseSpMatGetSize");
  find(l, l.set_csr, "cusparseCsrSetPointers");
  return l;
}

}  // namespace

const Library& library() {
  if (const auto* l = loaded.load()) return *l;
  load();
  return *loaded.load();
}

void check(Status status, const char* what) {
  if (status == 0) return;
  const auto text = std::string("cuSPARSE: ") + what + " gives " + library().error_string(status);
  // 2: no memory. 10: this combination of types and algorithm does not exist. 11: too little memory of some kind.
  throw Error(status == 2 || status == 11 ? Errc::out_of_memory
              : status == 10              ? Errc::invalid_argument
                                          : Errc::cuda,
              text + (status == 10 ? ": choose another algorithm, or leave the kernel at auto" : ""));
}

void load(const std::string& path) {
  if constexpr (!have_cuda)
    throw Error(Errc::not_compiled, no_cuda_for("cuSPARSE") + ", or leave the kernel at auto");
  const std::lock_guard guard(loading);
  if (loaded.load()) return;
  library_memory = open(path);
  loaded = &library_memory;
}

bool is_loaded() { return loaded.load() != nullptr; }

int version() {
  const auto& l = library();
  Handle handle = nullptr;
  check(l.create(&handle), "cusparseCreate");
  int number = 0;
  const auto status = l.get_version(handle, &number);
  l.destroy(handle);
  check(status, "cusparseGetVersion");
  return number;
}

int algorithm(std::string_view name, bool columns) {
  if (name == "default") return 0;
  if (name == "csr_alg1") return columns ? 4 : 2;
  if (name == "csr_alg2") return columns ? 6 : 3;
  if (name == "csr_alg3" && columns) return 12;
  throw Error(Errc::invalid_argument, "cuSPARSE: \"" + std::string(name) +
                                          "\" is not one of default, csr_alg1, csr_alg2" +
                                          (columns ? ", csr_alg3" : " for one vector"));
}

/// The descriptors of one kind of call, and its workspace.
template <class T>
struct Product<T>::Kept {
  bool columns;
  int algorithm;
  std::int64_t width, x_step, y_step;
  bool ready = false;
  Matrix matrix = nullptr;  // of this kind of call alone: it remembers what the preparation found
  Dense x = nullptr, y = nullptr;
  Array<std::byte> buffer;

  Kept(bool several, int number, std::int64_t k, std::int64_t from, std::int64_t to)
      : columns(several), algorithm(number), width(k), x_step(from), y_step(to) {}
  ~Kept() {
    const auto& l = library();
    for (const auto v : {x, y})
      if (v) columns ? l.destroy_columns(v) : l.destroy_vector(v);
    if (matrix) l.destroy_matrix(matrix);
  }
};

template <class T>
Product<T>::Product(const Csr<T>& a, Where where) : a_(a), where_(where) {
  const auto& l = library();
  require(where.is_gpu(), "cuSPARSE computes on a GPU: give InCore(gpu=0)");
  require(a.nnz() <= std::numeric_limits<std::int32_t>::max() &&
              a.rows <= std::numeric_limits<std::int32_t>::max(),
          "cuSPARSE: " + std::to_string(a.nnz()) + " nonzeros and " + std::to_string(a.rows) +
              " rows do not fit its 32-bit offsets, and offsets of 64 bits ask for columns of 64: leave the "
              "kernel at "
              "auto, which has no such limit");
  for (const auto place : {a.indices.place, a.values.place})
    if (!can_read(where, place))
      throw Error(Errc::not_accessible, "cuSPARSE: the matrix is in " + std::string(name(place.memory)) +
                                            " memory, which GPU " + std::to_string(where.gpu) +
                                            " cannot read: move it to that GPU");
  const UseDevice use(where);
  const OwnedStream stream(where);
  const auto wide = allocate<Offset>(a.indptr.size);
  copy_async(wide.data, a.indptr.data, a.indptr.bytes(), stream);
  synchronize(stream);
  const auto narrow = allocate<std::int32_t>(a.indptr.size);
  parallel_ranges(a.indptr.size, 1 << 18, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) narrow.data[i] = static_cast<std::int32_t>(wide.data[i]);
  });
  const Place here{Memory::device, static_cast<std::int16_t>(where.gpu)};
  if (a.nnz() == 0) {  // Penstock's own kernels multiply then, and they read these arrays
    const auto own = allocate<Offset>(a.indptr.size, here);
    copy_async(own.data, wide.data, wide.bytes(), stream);
    a_.indptr = own;
  }
  offsets_ = allocate<std::int32_t>(a.indptr.size, here);
  copy_async(offsets_.data, narrow.data, narrow.bytes(), stream);
  synchronize(stream);
  check(l.create(&handle_), "cusparseCreate");
}

template <class T>
Product<T>::~Product() {
  kept_.clear();
  if (handle_) library().destroy(handle_);
}

template <class T>
auto Product<T>::kept(bool columns, int algorithm, std::int64_t width, std::int64_t x_step,
                      std::int64_t y_step) -> Kept& {
  for (auto& k : kept_)
    if (k->columns == columns && k->algorithm == algorithm && k->width == width && k->x_step == x_step &&
        k->y_step == y_step)
      return *k;
  constexpr std::size_t kMost = 8;
  if (kept_.size() == kMost) kept_.erase(kept_.begin());
  auto made = std::make_unique<Kept>(columns, algorithm, width, x_step, y_step);
  require(a_.rows > 0 && a_.cols > 0 ? a_.nnz() / a_.rows <= a_.cols : true,
          "cuSPARSE takes no matrix with more entries than places, this one has " + std::to_string(a_.nnz()) +
              " in " + std::to_string(a_.rows) + " x " + std::to_string(a_.cols) +
              ": add up its duplicates, or leave the kernel at auto");
  check(library().create_csr(&made->matrix, a_.rows, a_.cols, a_.nnz(), offsets_.data,
                             const_cast<Index*>(a_.indices.data), const_cast<T*>(a_.values.data), kIndex32,
                             kIndex32, kBaseZero, kType<T>),
        "cusparseCreateCsr");
  kept_.push_back(std::move(made));
  return *kept_.back();
}

template <class T>
void Product<T>::spmv(const T* x, T* y, Scale<PlusTimes<T>> scale, int algorithm, Stream stream) {
  if (a_.rows == 0) return;
  if (a_.nnz() == 0) return penstock::spmv<PlusTimes<T>, T>(a_.view(), x, y, scale, stream);
  require(reinterpret_cast<std::uintptr_t>(y) % 16 == 0,
          "cuSPARSE: y must begin at a multiple of 16 bytes: copy it, or leave the kernel at auto");
  const std::lock_guard guard(lock_);
  const auto& l = library();
  const UseDevice use(where_);
  check(l.set_stream(handle_, stream.handle), "cusparseSetStream");
  auto& k = kept(false, algorithm, 1, 1, 1);
  auto* from = const_cast<T*>(x);
  if (!k.x) check(l.create_vector(&k.x, a_.cols, from, kType<T>), "cusparseCreateDnVec");
  if (!k.y) check(l.create_vector(&k.y, a_.rows, y, kType<T>), "cusparseCreateDnVec");
  check(l.set_vector(k.x, from), "cusparseDnVecSetValues");
  check(l.set_vector(k.y, y), "cusparseDnVecSetValues");
  const auto call = [&](VectorCall* f, void* last, const char* what) {
    check(
        f(handle_, kOperationNone, &scale.alpha, k.matrix, k.x, &scale.beta, k.y, kType<T>, algorithm, last),
        what);
  };
  if (!k.ready) {
    std::size_t bytes = 0;
    call(l.spmv_size, &bytes, "cusparseSpMV_bufferSize");
    k.buffer = allocate<std::byte>(std::max<std::int64_t>(std::int64_t(bytes), 1), offsets_.place);
    if (l.spmv_prepare) call(l.spmv_prepare, k.buffer.data, "cusparseSpMV_preprocess");
    k.ready = true;
  }
  call(l.spmv, k.buffer.data, "cusparseSpMV");
}

template <class T>
void Product<T>::spmm(DenseView<const T> x, DenseView<T> y, Scale<PlusTimes<T>> scale, int algorithm,
                      Stream stream) {
  if (a_.rows == 0 || x.cols == 0) return;
  require(x.row_major() && y.row_major() && x.rows == a_.cols && y.rows == a_.rows && x.cols == y.cols,
          "cuSPARSE: X and Y are row-major, with as many rows as the matrix has columns and rows");
  if (a_.nnz() == 0) return spmm_on<PlusTimes<T>, T>(a_.view(), x, y, scale, stream);
  require(reinterpret_cast<std::uintptr_t>(y.data) % 16 == 0,
          "cuSPARSE: Y must begin at a multiple of 16 bytes: copy it, or leave the kernel at auto");
  const std::lock_guard guard(lock_);
  const auto& l = library();
  const UseDevice use(where_);
  check(l.set_stream(handle_, stream.handle), "cusparseSetStream");
  auto& k = kept(true, algorithm, x.cols, x.row_step, y.row_step);
  auto* from = const_cast<T*>(x.data);
  if (!k.x)
    check(l.create_columns(&k.x, x.rows, x.cols, x.row_step, from, kType<T>, kOrderRow),
          "cusparseCreateDnMat");
  if (!k.y)
    check(l.create_columns(&k.y, y.rows, y.cols, y.row_step, y.data, kType<T>, kOrderRow),
          "cusparseCreateDnMat");
  check(l.set_columns(k.x, from), "cusparseDnMatSetValues");
  check(l.set_columns(k.y, y.data), "cusparseDnMatSetValues");
  const auto call = [&](ColumnsCall* f, void* last, const char* what) {
    check(f(handle_, kOperationNone, kOperationNone, &scale.alpha, k.matrix, k.x, &scale.beta, k.y, kType<T>,
            algorithm, last),
          what);
  };
  if (!k.ready) {
    std::size_t bytes = 0;
    call(l.spmm_size, &bytes, "cusparseSpMM_bufferSize");
    k.buffer = allocate<std::byte>(std::max<std::int64_t>(std::int64_t(bytes), 1), offsets_.place);
    if (l.spmm_prepare) call(l.spmm_prepare, k.buffer.data, "cusparseSpMM_preprocess");
    k.ready = true;
  }
  call(l.spmm, k.buffer.data, "cusparseSpMM");
}

template <class T>
Array<T> Product<T>::workspace(int which, std::int64_t count) {
  auto& w = workspaces_[which];
  if (w.size < count) w = {}, w = allocate<T>(count, offsets_.place);
  return w;
}

template <class T>
std::int64_t Product<T>::bytes() const {
  auto sum = offsets_.bytes() + workspaces_[0].bytes() + workspaces_[1].bytes();
  for (const auto& k : kept_) sum += k->buffer.bytes();
  return sum;
}

template class Product<float>;
template class Product<double>;
template class Product<Complex64>;
template class Product<Complex128>;

}  // namespace penstock::cusparse
