// Products of a matrix on a GPU in the caller's order. Kernels and plans are those of kernel/spmv and kernel/spmm; this file
// makes each plan once, and brings other layouts of X and Y into rows.
#include "penstock/schedule/device/device_product.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/kernel/spmm/relayout.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kPanelColumns =
    128;  // that are copied to rows at a time: what one pass over A multiplies

/// Makes `kept` once; `known` is it, to be read without the lock. A plan is made on a stream of its own, which is waited for.
template <class Plan, class Make>
const Plan& made_once(std::atomic<const Plan*>& known, std::unique_ptr<const Plan>& kept, std::mutex& making,
                      Stream stream, Make make) {
  if (const auto* plan = known.load(std::memory_order_acquire)) return *plan;
  require(!is_capturing(stream),
          "the first product of a matrix on a GPU waits for what it finds out, which a CUDA graph cannot "
          "record: multiply once before the capture begins");
  const std::lock_guard lock(making);
  if (!kept) {
    const OwnedStream own(stream.where);
    kept = std::make_unique<const Plan>(make(Stream(own)));
    known.store(kept.get(), std::memory_order_release);
  }
  return *kept;
}

template <class T>
RawDense raw(const DenseView<T>& v) {
  return {const_cast<std::remove_const_t<T>*>(v.data), v.row_step, v.col_step};
}

/// A row-major copy of some columns in scratch memory of the stream.
template <class T>
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t cols, Stream stream)
      : memory_(stream.where.is_gpu() ? allocate_scratch(rows * cols * std::int64_t(sizeof(T)), stream)
                                      : allocate<T>(rows * cols).owner),
        view_{static_cast<T*>(memory_.get()), rows, cols, cols, 1},
        stream_(stream) {}
  DenseView<T> view() const { return view_; }
  template <class U>
  void take(const DenseView<U>& from) const {
    relayout(raw(view_), raw(from), view_.rows, view_.cols, sizeof(T), stream_);
  }
  void give(const DenseView<T>& to) const {
    relayout(raw(to), raw(view_), view_.rows, view_.cols, sizeof(T), stream_);
  }

 private:
  std::shared_ptr<void> memory_;
  DenseView<T> view_;
  Stream stream_;
};

/// Whether the kernels take it as it is: they pass over the rows of X and Y, which follow each other.
template <class T>
bool has_rows(const DenseView<T>& v) {
  return v.row_major() && v.row_step >= v.cols;
}

}  // namespace

template <class V>
DeviceProduct<V>::DeviceProduct(Csr<V> a, Where where, bool in_place) : a_(std::move(a)), where_(where) {
  for (const Place place :
       {a_.indptr.place, a_.indices.place, is_pattern<V> ? a_.indices.place : a_.values.place})
    if (!can_read(where, place) || (where.is_gpu() && !in_place && place != device_place(where)))
      throw Error(Errc::not_accessible, "the matrix has entries in " + std::string(name(place.memory)) +
                                            " memory: move all of it to one GPU, with A.to(ps.device(0))");
}

template <class V>
DeviceProduct<V>::~DeviceProduct() {
  if (queued_) drain(where_);
}

template <class V>
const SpmvGpuPlan& DeviceProduct<V>::vector_plan(std::int64_t entry_bytes, Stream stream) {
  return made_once(by_size_[at(entry_bytes)], plans_[at(entry_bytes)], making_, stream, [&](Stream own) {
    auto plan = plan_spmv(a_.view(), entry_bytes, own);
    plan.cells = {};  // each product takes its own: other streams may multiply at the same time
    return plan;
  });
}

template <class V>
const SpmmGpuPlan& DeviceProduct<V>::columns_plan(Stream stream) {
  return made_once(known_columns_, columns_, making_, stream,
                   [&](Stream own) { return spmm_plan(a_.view(), SpmmPlanFor::many, own); });
}

template <class V>
template <Semiring S>
void DeviceProduct<V>::multiply(const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                                Stream stream) {
  const auto& plan = vector_plan(sizeof(typename S::value_type), stream);
  queued_.store(true, std::memory_order_relaxed);
  spmv<S, V>(a_.view(), x, y, scale, stream, plan);
}

template <class V>
template <Semiring S>
void DeviceProduct<V>::multiply(DenseView<const typename S::value_type> x,
                                DenseView<typename S::value_type> y, Scale<S> scale, Stream stream) {
  using T = typename S::value_type;
  if (x.cols == 0 || a_.rows == 0) return;
  if (x.cols == 1 && (x.row_step == 1 || x.rows <= 1) && (y.row_step == 1 || y.rows <= 1))
    return multiply<S>(x.data, y.data, scale, stream);
  const auto& plan = columns_plan(stream);
  queued_.store(true, std::memory_order_relaxed);
  const SpmmGpuOptions options{.plan = &plan};
  if (has_rows(x) && has_rows(y)) return spmm_on<S, V>(a_.view(), x, y, scale, stream, options);
  for (std::int64_t j = 0; j < x.cols; j += kPanelColumns) {
    const auto width = std::min(kPanelColumns, x.cols - j);
    auto xs = x.columns(j, width);
    auto ys = y.columns(j, width);
    std::optional<Rows<T>> x_rows, y_rows;
    if (!has_rows(xs)) {
      x_rows.emplace(xs.rows, width, stream);
      x_rows->take(xs);
      xs = {x_rows->view().data, xs.rows, width, width, 1};
    }
    if (!has_rows(ys)) {
      y_rows.emplace(ys.rows, width, stream);
      if (!(scale.beta == S::zero())) y_rows->take(ys);
    }
    spmm_on<S, V>(a_.view(), xs, y_rows ? y_rows->view() : ys, scale, stream, options);
    if (y_rows) y_rows->give(ys);
  }
}

#define X(V) template class DeviceProduct<V>;
PENSTOCK_FOR_EACH_VALUE(X)
#undef X
#define X(S, V)                                                                                         \
  template void DeviceProduct<V>::multiply<S>(const S::value_type*, S::value_type*, Scale<S>, Stream);  \
  template void DeviceProduct<V>::multiply<S>(DenseView<const S::value_type>, DenseView<S::value_type>, \
                                              Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
