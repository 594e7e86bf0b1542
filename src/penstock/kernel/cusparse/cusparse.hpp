#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

// NVIDIA's cuSPARSE, opened when first asked for and needed by nothing else: products with `kernel="cusparse"`, and the
// rival of the benchmarks. Builds do not see its headers; its few prototypes are declared in cusparse.cpp.
namespace penstock::cusparse {

/// Opens the library: `path`, or where that is empty libcusparse.so.12 or libcusparse.so from where the system looks. Does
/// nothing when one is open. Throws Error{not_compiled} in a build without CUDA, Error{not_accessible} with the remedy.
void load(const std::string& path = {});
bool is_loaded();
int version();  // as cusparseGetVersion gives it: 12603

/// The number of an algorithm ("default", "csr_alg1", "csr_alg2"; for several columns also "csr_alg3"). Throws
/// Error{invalid_argument} listing them.
int algorithm(std::string_view name, bool columns);

/// Types that cuSPARSE multiplies: the matrix, x and y alike.
template <class T>
inline constexpr bool has_type = std::same_as<T, float> || std::same_as<T, double> ||
                                 std::same_as<T, Complex64> || std::same_as<T, Complex128>;

/// One matrix on one GPU as cuSPARSE sees it: its offsets in 32 bits, descriptors, what it found out about the matrix, and
/// its workspaces, which grow and stay. Safe from several threads, which take turns; one stream at a time.
template <class T>
class Product {
 public:
  /// Converts the offsets, waiting for it. Throws Error{invalid_argument} where there are 2^31 nonzeros or more, and
  /// Error{not_accessible} unless the matrix is readable by that GPU.
  Product(const Csr<T>& a, Where where);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// y = alpha A x + beta y. Both on the GPU; y begins at a multiple of 16 bytes.
  void spmv(const T* x, T* y, Scale<PlusTimes<T>> scale, int algorithm, Stream stream);
  /// Y = alpha A X + beta Y, both row-major.
  void spmm(DenseView<const T> x, DenseView<T> y, Scale<PlusTimes<T>> scale, int algorithm, Stream stream);

  /// Device memory for x and y, or X and Y, of one call at a time, kept for the next.
  Array<T> workspace(int which, std::int64_t count);
  std::mutex& turn() { return turn_; }
  std::int64_t bytes() const;  // of device memory held

 private:
  struct Kept;
  Kept& kept(bool columns, int algorithm, std::int64_t width, std::int64_t x_step, std::int64_t y_step);

  Csr<T> a_;
  Where where_;
  Array<std::int32_t> offsets_;
  Array<T> workspaces_[2];
  void* handle_ = nullptr;
  std::vector<std::unique_ptr<Kept>> kept_;
  std::mutex turn_, lock_;
};

}  // namespace penstock::cusparse
