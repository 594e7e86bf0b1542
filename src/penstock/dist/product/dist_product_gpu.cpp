// The product of a rank's part on its GPU. All steps are queued on one stream; marks on it tell later what each step took.
// The halo block is without its empty rows, so it is multiplied into memory of its own and added to the rows that it has.
// Where most owned rows follow one another and need no ghosts, as in a stencil's part, the other rows have an urgent stream of
// their own: they are multiplied as soon as the ghosts come, and nothing is left to do when the inner rows are done.
#include "penstock/dist/product/dist_product_gpu.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/schedule/csr_blocks.hpp"

namespace penstock {
namespace {

/// Products that may be queued before the times of the first one are read.
constexpr std::size_t kTimed = 4;

/// The part of a rank's rows that the inner ones must be at least. With fewer, the kernels for the others, which are two more,
/// are no longer hidden behind the inner rows.
constexpr double kInner = 0.5;

/// The entries of the inner rows begin at a multiple of so many, as those of the whole matrix do: a warp then reads whole lines. So
/// many rows more are left to the others at most.
constexpr Offset kAligned = 32;
constexpr std::int64_t kAlignedWithin = 64;

}  // namespace

/// The owned rows of the local block as a plan that copies them to the GPU block by block.
template <class V>
struct DistProductGpu<V>::Streaming {
  Streaming(const Csr<V>& rows, const DistGpuOptions& o) {
    StreamSettings s;
    s.devices = {o.where};
    s.device_memory = o.device_memory;
    s.bounce = o.where.is_gpu() && place_of(rows.indices.data).memory == Memory::host;
    plan = std::make_unique<StreamPlan>(
        [&](std::int64_t slot_bytes, std::span<const std::int64_t> kept) {
          source = std::make_shared<const CsrBlocks<V>>(rows, slot_bytes, kept);
          return list_of(source, "merge_path");
        },
        StreamPlan::Shape{rows.rows, rows.cols, rows.bytes()}, s);
  }
  std::shared_ptr<const CsrBlocks<V>> source;
  std::unique_ptr<StreamPlan> plan;
};

template <class V>
DistProductGpu<V>::DistProductGpu(DistCsr<V> a, DistGpuOptions options)
    : a_(std::move(a)),
      options_(std::move(options)),
      setup_(options_.where),
      side_(options_.where, true),
      edges_done_(options_.where) {
  const auto list = gpu_halos();
  // Of an unknown name this throws, and says which names there are.
  if (options_.halo != "auto" && std::ranges::find(list, options_.halo, &Choice::name) == list.end())
    make_gpu_halo(options_.halo, {a_.comm, a_.plan, 8, options_.where});
  if (options_.halo != "auto") strategy_ = options_.halo;
  std::array<std::int64_t, 2> any{a_.plan->ghosts(), a_.sums->ghosts()};
  a_.comm->all_reduce(any, Reduce::max);
  any_ghosts_ = any[0] > 0, any_foreign_ = any[1] > 0;

  const auto& l = a_.local;
  const auto own_nnz = l.indptr.data[a_.rows()];
  Csr<V> part = l;
  if (options_.streamed && own_nnz > 0) {
    Csr<V> own{a_.rows(), l.cols, l.indptr.slice(0, a_.rows() + 1), l.indices.slice(0, own_nnz), {}};
    if constexpr (!is_pattern<V>) own.values = l.values.slice(0, own_nnz);
    streaming_ = std::make_shared<Streaming>(own, options_);
    part.indices = l.indices.slice(own_nnz, l.nnz() - own_nnz);
    if constexpr (!is_pattern<V>) part.values = l.values.slice(own_nnz, l.nnz() - own_nnz);
  }
  local_ = {part.rows, part.cols, copied(part.indptr), copied(part.indices), {}};
  if constexpr (!is_pattern<V>) local_.values = copied(part.values);
  own_view_ = rows_of(local_, 0, a_.rows(), 0, own_nnz);
  foreign_view_ = rows_of(local_, a_.rows(), l.rows, own_nnz, l.nnz());
  if (streaming_) {  // entries of owned rows are not there, so those of the foreign rows come first
    foreign_view_.indices = local_.indices.data;
    foreign_view_.values = local_.values.data;
  }
  compress_halo();
  if (!streaming_ && !any_foreign_) find_inner();
  synchronize(Stream(setup_));
  for (std::size_t i = 0; i < kTimed; ++i) marks_.push_back(std::make_unique<Marks>(options_.where));
}

template <class V>
void DistProductGpu<V>::find_inner() {
  const auto* offsets = a_.halo.indptr.data;
  std::int64_t first = 0;
  for (std::int64_t r = 0; r <= a_.rows(); ++r) {
    if (r < a_.rows() && offsets[r] == offsets[r + 1]) continue;
    if (r - first > inner_end_ - inner_) inner_ = first, inner_end_ = r;
    first = r + 1;
  }
  const auto* const entries = a_.local.indptr.data;
  for (auto r = inner_; r < std::min(inner_ + kAlignedWithin, inner_end_); ++r)
    if (entries[r] % kAligned == 0) {
      inner_ = r;
      break;
    }
  const auto inner = inner_end_ - inner_;
  if (inner == a_.rows() || static_cast<double>(inner) < kInner * static_cast<double>(a_.rows()))
    inner_ = inner_end_ = 0;
}

template <class V>
typename DistProductGpu<V>::Part DistProductGpu<V>::own_rows(std::int64_t first, std::int64_t end) const {
  const auto* offsets = a_.local.indptr.data;
  return {first, rows_of(local_, first, end, offsets[first], offsets[end])};
}

/// Rows [first, last). Their entries are [first_nnz, last_nnz), which the caller says because the host cannot read offsets in
/// the device's memory.
template <class V>
CsrView<V> DistProductGpu<V>::rows_of(const Csr<V>& a, std::int64_t first, std::int64_t last,
                                      Offset first_nnz, Offset last_nnz) const {
  CsrView<V> v{.rows = last - first,
               .cols = a.cols,
               .first_nnz = first_nnz,
               .indptr = a.indptr.data + first,
               .indices = a.indices.data + first_nnz,
               .values = nullptr,
               .count = last_nnz - first_nnz};
  if constexpr (!is_pattern<V>) v.values = a.values.data + first_nnz;
  return v;
}

/// Copies the halo block without its empty rows, which are most of its rows.
template <class V>
void DistProductGpu<V>::compress_halo() {
  const auto& h = a_.halo;
  const auto* offsets = h.indptr.data;
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < h.rows; ++r) count += offsets[r] < offsets[r + 1];
  const auto rows = allocate<Index>(count);
  const auto starts = allocate<Offset>(count + 1);
  starts.data[0] = 0;
  std::int64_t n = 0;
  for (std::int64_t r = 0; r < h.rows; ++r) {
    if (r == a_.rows()) halo_own_ = n;
    if (offsets[r] == offsets[r + 1]) continue;
    rows.data[n] = static_cast<Index>(r < a_.rows() ? r : r - a_.rows());
    starts.data[++n] = offsets[r + 1];
  }
  if (h.rows == a_.rows()) halo_own_ = n;
  halo_rows_ = copied(Array<const Index>(rows));
  halo_ = {count, h.cols, copied(Array<const Offset>(starts)), copied(h.indices), {}};
  if constexpr (!is_pattern<V>) halo_.values = copied(h.values);
  const auto own_nnz = starts.data[halo_own_];
  halo_own_view_ = rows_of(halo_, 0, halo_own_, 0, own_nnz);
  halo_foreign_view_ = rows_of(halo_, halo_own_, count, own_nnz, h.nnz());
}

template <class V>
typename DistProductGpu<V>::Links& DistProductGpu<V>::links(std::int64_t value_bytes, std::int64_t columns) {
  const auto key = std::tuple(value_bytes, columns, false);
  if (const auto found = links_.find(key); found != links_.end()) return found->second;
  const ScopedTimer timer(&times_.setup);
  Links l;
  l.columns = columns;
  const auto planned = [&](const CsrView<V>& a) { return plan(a, value_bytes, columns); };
  if (has_inner()) {
    l.before = planned(own_rows(0, inner_).rows), l.after = planned(own_rows(inner_end_, a_.rows()).rows);
    l.own = planned(own_rows(inner_, inner_end_).rows);
  } else if (!streaming_) {
    l.own = planned(own_view_);
  }
  l.foreign = planned(foreign_view_), l.halo_own = planned(halo_own_view_),
  l.halo_foreign = planned(halo_foreign_view_);
  const auto entry_bytes = value_bytes * columns;
  l.part = allocate<std::byte>(std::max(halo_own_, halo_.rows - halo_own_) * entry_bytes,
                               device_place(options_.where));
  const HaloContext x{a_.comm, a_.plan, entry_bytes, options_.where};
  if (any_ghosts_) {
    if (strategy_.empty()) strategy_ = choose_gpu_halo(x);
    l.x = make_gpu_halo(strategy_, x);
  }
  if (any_foreign_)
    l.sums = std::make_unique<SumsGpu>(HaloContext{a_.comm, a_.sums, entry_bytes, options_.where});
  return links_.emplace(key, std::move(l)).first->second;
}

template <class V>
template <Semiring S>
void DistProductGpu<V>::add_halo(Links& l, const CsrView<V>& rows, const Plan& plan, const Index* row_ids,
                                 typename S::value_type alpha, typename S::value_type* y, Stream stream) {
  using T = typename S::value_type;
  if (rows.rows == 0) return;
  auto* part = reinterpret_cast<T*>(l.part.data);
  block<S>(rows, static_cast<const T*>(l.x->ghosts()), part, l.columns, {alpha}, stream, plan);
  scatter_add<S>(part, row_ids, rows.rows, l.columns, y, stream);
}

template <class V>
template <Semiring S>
void DistProductGpu<V>::multiply_edges(Links& l, const typename S::value_type* x, typename S::value_type* y,
                                       Scale<S> scale, Marks& m) {
  l.x->follow_beginning(side_);
  for (const auto& [part, plan] :
       {std::pair(own_rows(0, inner_), &l.before), std::pair(own_rows(inner_end_, a_.rows()), &l.after)})
    if (part.rows.rows > 0)
      block<S>(part.rows, x, y + part.first * l.columns, l.columns, scale, side_, *plan);
  l.x->end(side_);
  m.arrived.set(side_);
  add_halo<S>(l, halo_own_view_, l.halo_own, halo_rows_.data, scale.alpha, y, side_);
  record(edges_done_, side_);
}

template <class V>
void DistProductGpu<V>::require_possible(std::int64_t columns, Stream stream) const {
  require(stream.where == options_.where,
          "distributed product: the stream is of GPU " + std::to_string(stream.where.gpu) +
              ", this rank's part on GPU " + std::to_string(options_.where.gpu));
  require(columns == 1 || (columns > 1 && !streaming_),
          "distributed product: " + std::to_string(columns) +
              " columns: at least one, and a local block that is streamed takes one");
}

template <class V>
template <Semiring S>
void DistProductGpu<V>::multiply_columns(const typename S::value_type* x, typename S::value_type* y,
                                         std::int64_t columns, Scale<S> scale, Stream stream) {
  using T = typename S::value_type;
  require_possible(columns, stream);
  auto& l = links(sizeof(T), columns);
  auto& m = next_marks();
  auto* theirs = l.sums ? static_cast<T*>(l.sums->values()) : nullptr;
  try {
    m.begun.set(stream);
    if (l.x) l.x->begin(x, stream);
    if (has_inner()) {
      const auto inner = own_rows(inner_, inner_end_);
      block<S>(inner.rows, x, y + inner_ * columns, columns, scale, stream, l.own);
    } else if (streaming_) {
      synchronize(stream);  // the plan has streams of its own, and returns when y is complete
      const auto at = [&](const T* p) {
        return VectorAt{reinterpret_cast<std::byte*>(const_cast<T*>(p)), device_place(options_.where)};
      };
      streaming_->plan->multiply(product_of<S>(streaming_->source, scale), at(x), at(y));
    } else {
      block<S>(own_view_, x, y, columns, scale, stream, l.own);
    }
    if (theirs) block<S>(foreign_view_, x, theirs, columns, {scale.alpha}, stream, l.foreign);
    m.local.set(stream);
    if (has_inner()) {
      multiply_edges<S>(l, x, y, scale, m);
      wait(stream, edges_done_);
      m.done.set(stream);
      m.open = true;
      ++times_.products;
      return;
    }
    if (l.x) l.x->end(stream);
    m.arrived.set(stream);
    if (l.sums) {
      add_halo<S>(l, halo_foreign_view_, l.halo_foreign, halo_rows_.data + halo_own_, scale.alpha, theirs,
                  stream);
      l.sums->begin(stream);
    }
    add_halo<S>(l, halo_own_view_, l.halo_own, halo_rows_.data, scale.alpha, y, stream);
    if (l.sums) l.sums->template end<S>(y, columns, stream);
    m.done.set(stream);
    m.open = true;
  } catch (...) {
    if (l.x) l.x->abandon();
    drain(side_);
    throw;
  }
  ++times_.products;
}

template <class V>
void DistProductGpu<V>::abandon() noexcept {
  for (auto& [key, l] : links_)
    if (l.x) l.x->abandon();
  for (auto& [key, b] : back_) b.halo->abandon();
}

template <class V>
typename DistProductGpu<V>::Marks& DistProductGpu<V>::next_marks() {
  auto& m = *marks_[next_++ % kTimed];
  settle(m);
  return m;
}

template <class V>
void DistProductGpu<V>::settle(Marks& m) {
  if (!m.open) return;
  synchronize(Event(m.done));
  times_.local += m.local.since(m.begun);
  // The part of the exchange that the local product does not hide. Beside inner rows ghosts may come before these are done.
  const auto exchange = std::max(m.arrived.since(m.local), 0.0);
  times_.exchange += exchange;
  times_.halo += m.done.since(m.local) - exchange;
  times_.seconds += m.done.since(m.begun);
  m.open = false;
}

template <class V>
const DistTimes& DistProductGpu<V>::times() {
  for (auto& m : marks_) settle(*m);
  const auto add = [&](auto& link) {
    if (!link) return;
    const auto& t = link->times();
    times_.wait += t.wait, times_.pack += t.pack, times_.copy += t.copy;
    times_.sent_bytes += t.sent_bytes, times_.received_bytes += t.received_bytes;
    times_.messages += t.messages;
    link->clear_times();
  };
  for (auto& [key, l] : links_) add(l.x), add(l.sums);
  for (auto& [key, b] : back_) add(b.halo);
  return times_;
}

template <class V>
void DistProductGpu<V>::clear_times() {
  times();
  times_ = {};
}

template class DistProductGpu<One>;
template class DistProductGpu<float>;
template class DistProductGpu<double>;
#define X(S, V)                                                                                            \
  template void DistProductGpu<V>::multiply_columns<S>(const S::value_type*, S::value_type*, std::int64_t, \
                                                       Scale<S>, Stream);
PENSTOCK_FOR_EACH_DIST(X)
#undef X

}  // namespace penstock
