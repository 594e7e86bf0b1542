#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/kernel/spmm/spmm.hpp"

// NVIDIA's cuSPARSE, for products with `kernel="cusparse"` and as the rival of the benchmarks. The library is opened when it
// is first asked for, and nothing else needs it. Builds do not see its headers; the few prototypes are in
// cusparse_library.hpp.
namespace penstock::cusparse {

/// Opens the library at `path`; if that is empty, libcusparse.so.12 or libcusparse.so from where the system looks. Does
/// nothing if one is open. Throws Error{not_compiled} in a build without CUDA, or Error{not_accessible} with the remedy.
void load(const std::string& path = {});
bool is_loaded();
int version();  // the number that cusparseGetVersion gives, such as 12603

/// The number of an algorithm ("default", "csr_alg1", "csr_alg2"; for several columns also "csr_alg3"). Throws
/// Error{invalid_argument} listing them.
int algorithm(std::string_view name, bool columns);

/// Types that cuSPARSE multiplies: the matrix, x and y alike.
template <class T>
inline constexpr bool has_type = std::same_as<T, float> || std::same_as<T, double> ||
                                 std::same_as<T, Complex64> || std::same_as<T, Complex128>;

/// One matrix on one GPU for cuSPARSE: its offsets in 32 bits, the descriptors, what cuSPARSE found out about the matrix, and
/// workspaces, which grow and are kept. Several threads may use it and take turns; one stream at a time.
template <class T>
class Product {
 public:
  /// Converts the offsets, and waits until that is done. Throws Error{invalid_argument} if there are 2^31 nonzeros or more,
  /// and Error{not_accessible} unless that GPU can read the matrix.
  Product(const Csr<T>& a, Where where);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// y = alpha A x + beta y. Both on the GPU; y begins at a multiple of 16 bytes.
  void spmv(const T* x, T* y, Scale<PlusTimes<T>> scale, int algorithm, Stream stream);
  /// Y = alpha A X + beta Y, both row-major.
  void spmm(DenseView<const T> x, DenseView<T> y, Scale<PlusTimes<T>> scale, int algorithm, Stream stream);

  /// Device memory for x and y, or X and Y, of one call at a time. It is kept for the next call.
  Array<T> workspace(int which, std::int64_t count);
  std::mutex& turn() { return turn_; }
  std::int64_t bytes() const;  // how much device memory it holds

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
