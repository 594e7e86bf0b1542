#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

/// w . y and y . y over the rows that this process owns.
struct LocalDots {
  double wy = 0, yy = 0;
};

/// z = M r for vectors on a device, ordered on the stream; r and z do not overlap.
template <class T>
using DeviceApply = std::function<void(const T* r, T* z, Stream stream)>;

/// The exchanges of a vector on this rank's device with other ranks, by the plan of a product. Both are collective.
template <class T>
struct DeviceGhosts {
  /// The entries that this rank needs from other ranks, by owner; null where no rank needs any. They are on the device until
  /// the next call.
  std::function<const T*(const T* owned, Stream stream)> bring = {};
  /// Adds what other ranks have for each owned entry to owned[i]; `ghosts` have the order of those that `bring` returns.
  std::function<void(const T* ghosts, T* owned, Stream stream)> add = {};
};

/// The form of a preconditioner for vectors on a device. Empty functions: it has none.
template <class T>
struct DeviceForm {
  /// Makes it ready for one solver, which applies it on this stream. What M consists of is copied to the device when it is first asked
  /// for, and stays there with M. Throws Error{out_of_memory} where it has no room for M and `spare` bytes more.
  std::function<DeviceApply<T>(Stream stream, std::int64_t spare, const DeviceGhosts<T>& ghosts)> make = {};
  /// The numbers of levels of the lower and of the upper triangle: rows of a level wait for those of earlier levels.
  std::function<std::pair<std::int64_t, std::int64_t>()> levels = {};
  /// M lives on this device: for vectors there nothing is copied.
  std::optional<Where> home = {};
};

/// All that a Krylov method asks of a matrix or of a preconditioner: y = A x. One process may own a part of the rows
/// only: then `apply` exchanges what it needs, and `Space` adds up inner products.
template <class T>
struct LinearOp {
  std::int64_t rows = 0;  // owned here
  std::function<void(std::span<const T> x, std::span<T> y)> apply;
  /// `apply` that also takes inner products of y while it is in the cache; may be empty.
  std::function<LocalDots(std::span<const T> x, std::span<T> y, const T* w)> apply_dots = {};
  /// Several vectors at once, one after the other in x and in y; may be empty.
  std::function<void(std::span<const T> x, std::span<T> y, std::int64_t columns)> apply_many = {};
  /// Not empty: the operator is this diagonal matrix, and methods fold it into their own passes.
  Array<const T> diagonal = {};
  /// Least bytes that one application reads besides x, from now on; may be empty.
  std::function<std::int64_t()> matrix_bytes = {};
  /// The same for vectors on a device; may be empty.
  DeviceForm<T> on_device = {};
};

/// The space that the vectors are in: inner products are sums over all processes that own rows. Several sums travel in one
/// reduction. A method may start it, do other work, and then finish it. Empty functions: this process owns every row.
struct Space {
  std::function<void(std::span<double> sums)> start_sum = {};
  std::function<void()> finish_sum = {};
  /// Both at once, where that is quicker; may be empty.
  std::function<void(std::span<double> sums)> sum_now = {};
  /// The rows of all processes together; negative: this process has all of them.
  std::int64_t all_rows = -1;

  void start(std::span<double> sums) const {
    if (start_sum) start_sum(sums);
  }
  void finish() const {
    if (finish_sum) finish_sum();
  }
  void sum(std::span<double> sums) const {
    if (sum_now) return sum_now(sums);
    start(sums);
    finish();
  }
};

}  // namespace penstock
