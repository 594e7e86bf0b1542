#include "penstock/schedule/device_op.hpp"

#include <memory>
#include <mutex>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"
#include "penstock/kernel/spmv/spmv_rows.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {

namespace {

/// The products of a matrix in core, with what is prepared for them at the first. Several streams may use it at once: each
/// product has its own memory for sums of cut rows, where the plan has such rows.
template <class T, class V>
class PreparedProduct {
 public:
  explicit PreparedProduct(const Csr<V>& a) : a_(a) {}

  void operator()(const T* x, T* y, Stream stream) {
    std::call_once(once_, [&] { plan_ = plan_spmv(a_.view(), sizeof(T), stream); });
    const auto cells = plan_.cells.bytes();
    if (cells == 0) return spmv<S, V>(a_.view(), x, y, {}, stream, plan_);
    auto plan = plan_;
    const auto own = allocate_scratch(cells, stream);
    plan.cells = {static_cast<std::byte*>(own.get()), cells, plan_.cells.place, own};
    spmv<S, V>(a_.view(), x, y, {}, stream, plan);
  }

 private:
  using S = PlusTimes<T>;
  Csr<V> a_;
  std::once_flag once_;
  SpmvGpuPlan plan_;
};

}  // namespace

template <class T, class V>
DeviceOp<T> device_op(const Csr<V>& a) {
  const auto held = a.indices.place;
  const Where where{held.memory == Memory::device || held.memory == Memory::managed ? held.ordinal : -1};
  for (const Place place : {a.indptr.place, held, is_pattern<V> ? held : a.values.place})
    if (!can_read(where, place))
      throw Error(Errc::not_accessible,
                  "the entries are in " + std::string(name(held.memory)) + " and in " +
                      std::string(name(place.memory)) +
                      " memory, which no one device reads: move the matrix to one place");
  DeviceOp<T> op{.rows = a.rows, .cols = a.cols, .where = where};
  const auto product = std::make_shared<PreparedProduct<T, V>>(a);
  op.apply = [product](const T* x, T* y, Stream stream) { (*product)(x, y, stream); };
  op.matrix_bytes = [bytes = a.bytes()] { return bytes; };
  return op;
}

namespace {

template <class T>
struct Stage {
  explicit Stage(const DeviceOp<T>& a)
      : stream(a.where), x(a.cols, 1, a.where), y(a.rows, 1, a.where), op(a) {}
  ~Stage() { drain(stream); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  OwnedStream stream;
  DeviceVectors<T> x, y;
  DeviceOp<T> op;
};

}  // namespace

template <class T>
std::function<void(std::span<const T>, std::span<T>)> staged(const DeviceOp<T>& a) {
  if (a.apply_host) return a.apply_host;
  if (!a.where.is_gpu())
    return [a](std::span<const T> x, std::span<T> y) {
      a.apply(x.data(), y.data(), Stream{nullptr, a.where});
    };
  auto stage = std::make_shared<Stage<T>>(a);
  return [stage](std::span<const T> x, std::span<T> y) {
    copy_async(stage->x[0], x.data(), static_cast<std::int64_t>(x.size_bytes()), stage->stream);
    stage->op.apply(stage->x[0], stage->y[0], stage->stream);
    copy_async(y.data(), stage->y[0], static_cast<std::int64_t>(y.size_bytes()), stage->stream);
    synchronize(stage->stream);
  };
}

#define X(T, V) template DeviceOp<T> device_op<T, V>(const Csr<V>&);
PENSTOCK_FOR_EACH_ROWS_KERNEL(X)
#undef X
template std::function<void(std::span<const float>, std::span<float>)> staged(const DeviceOp<float>&);
template std::function<void(std::span<const double>, std::span<double>)> staged(const DeviceOp<double>&);

}  // namespace penstock
