#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/kernel/vectors/cg_passes.hpp"
#include "penstock/kernel/vectors/dist_cg_passes.hpp"
#include "penstock/kernel/vectors/krylov_passes.hpp"
#include "penstock/schedule/device_op.hpp"
#include "penstock/solver/outcome.hpp"

namespace penstock {

/// M for vectors on a device: z = M r, ordered on the stream. With `diagonal`, on the device too, it is that diagonal matrix.
template <class T>
struct DeviceM {
  std::function<void(const T* r, T* z, Stream stream)> apply = {};
  const T* diagonal = nullptr;
  explicit operator bool() const { return static_cast<bool>(apply) || diagonal; }
};

/// What a method needs besides its passes, with vectors on this rank's device: memory, products, sums over the ranks and an
/// outcome. Passes leave their sums in memory that the host reads, which waits for its device when it adds them up with
/// those of the other ranks. HostWork has the same functions, so that the text of a method serves both.
template <class T>
class DeviceWork : public Outcome {
 public:
  using Entry = T;
  using Scalar = double;
  /// With so many vectors of the method's own; a pass takes at most `sums` inner products.
  DeviceWork(const DeviceOp<T>& a, Comm& comm, const DeviceM<T>& m, const T* b, T* x, const SolveOptions& o,
             Stream stream, int vectors, std::int64_t sums)
      : Outcome(o, sizeof(T)),
        n(a.rows),
        a_(a),
        comm_(comm),
        m_(m),
        b_(b),
        x_(x),
        starts_at_zero_(o.starts_at_zero),
        stream_(stream),
        parts_(stream),
        summed_(a.where),
        vectors_(n, vectors, a.where),
        sums_(allocate<double>(std::max<std::int64_t>(sums, 2), host_place(a.where))) {}
  ~DeviceWork() { drain(stream_); }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// Takes the norm of b, from which the target follows: once, first of all.
  void aim_at_b() {
    pass(DistNorm<T>{.in = {b_}, .out = {}, .sums_out = sums_.data});
    const auto bb = total(2);
    aim(bb[0], bb[0] < kLeastSquares && bb[1] > 0);
    if (bb[1] == 0) starts_at_zero_ = true;  // the solution is 0, whatever the guess is
  }

  T* operator[](int i) const { return vectors_[i]; }
  T* x() const { return x_; }
  bool has_m() const { return static_cast<bool>(m_); }
  bool starts_at_zero() const { return starts_at_zero_; }

  void multiply(const T* from, T* to) {
    a_.apply(from, to, stream_);
    moved_ += 2;
  }
  void precondition(const T* from, T* to) {
    if (m_.diagonal) return pass(KrylovDiagonal<T>{.in = {m_.diagonal, from}, .out = {to}});
    m_.apply(from, to, stream_);
    moved_ += 2;
  }
  /// to = A from; the sums w . to, to . to
  void multiply_dots(const T* from, T* to, const T* w) {
    multiply(from, to);
    pass(KrylovDots<T>{.in = {w, to}, .out = {}, .sums_out = sums_.data});
  }
  void add(T factor, const T* from, T* to) {
    pass(BasisAdd<T, 1>{.in = {to, from}, .out = {to}, .factor = {factor}});
  }

  /// From here on total() waits for the passes before, and not for what is queued until then: work that hides the reduction.
  void mark_sums() {
    record(summed_, stream_);
    marked_ = true;
  }
  /// The first k sums of the passes before, over all ranks. They have the same bits on each, so that all decide the same.
  std::span<const double> total(std::size_t k) {
    wait_here();
    const std::span<double> sums(sums_.data, k);
    comm_.all_reduce(sums, Reduce::sum);
    return sums;
  }
  /// Begins the same: finish_total() ends it. What the caller queues between them is queued before the host waits for the sums, so that
  /// the device works while these travel, and while the host waits.
  void start_total(std::size_t k) {
    mark_sums();
    started_ = k;
  }
  std::span<const double> finish_total() { return total(started_); }

  /// r = b - A x; its norm.
  double residual(T* r, bool x_is_zero = false) {
    if (x_is_zero && !this->anew()) {
      pass(CgStart<T>{.in = {b_}, .out = {r, x_}, .norm2 = sums_.data});
    } else {
      multiply(x_, r);
      pass(CgResidual<T>{.in = {b_, r}, .out = {r}, .norm2 = sums_.data});
    }
    return std::sqrt(total(1)[0]);
  }
  bool verified(T* r) { return settles(residual(r)); }
  /// `r` is overwritten.
  SolveResult finish(T* r) {
    auto result = close([&] { return residual(r); });
    wait_here();
    result.vector_bytes = moved_ * n * static_cast<std::int64_t>(sizeof(T));
    return result;
  }
  /// Keeps the method's state if that is due, as Progress::save does; it is copied through host memory.
  void save(std::initializer_list<double> scalars, std::initializer_list<T*> vectors) {
    if (!saves()) return;
    const auto here = state_of(vectors);
    std::size_t i = 0;
    for (const T* v : all_of(vectors))
      copy_async(here.data + bytes() * i++, v, static_cast<std::int64_t>(bytes()), stream_);
    wait_here();
    Outcome::save({.scalars = scalars, .vectors = parts_of(here, i)});
  }
  bool load(std::initializer_list<double*> scalars, std::initializer_list<T*> vectors) {
    const auto here = state_of(vectors);
    const auto all = all_of(vectors);
    SolveState state{.scalars = std::vector<double>(scalars.size()), .vectors = parts_of(here, all.size())};
    const bool loaded = Outcome::load(state);
    if (!loaded && !this->anew()) return false;
    std::size_t i = 0;
    for (T* v : all) copy_async(v, here.data + bytes() * i++, static_cast<std::int64_t>(bytes()), stream_);
    wait_here();
    if (!loaded) return false;
    auto from = state.scalars.begin();
    for (double* scalar : scalars) *scalar = *from++;
    return true;
  }

 protected:
  template <class P>
  void pass(const P& p) {
    sweep(n, p, parts_, stream_);
    moved_ += P::kIn + P::kOut;
  }
  int ranks() const { return comm_.size(); }
  double* sums() const { return sums_.data; }
  const T* diagonal() const { return m_.diagonal; }

  const std::int64_t n;

 private:
  // A state in host memory: x, then the method's vectors.
  std::size_t bytes() const { return static_cast<std::size_t>(n) * sizeof(T); }
  std::vector<T*> all_of(std::initializer_list<T*> vectors) const {
    std::vector<T*> all{x_};
    all.insert(all.end(), vectors);
    return all;
  }
  Array<std::byte> state_of(std::initializer_list<T*> vectors) const {
    return allocate<std::byte>(static_cast<std::int64_t>(bytes() * (vectors.size() + 1)));
  }
  std::vector<std::span<std::byte>> parts_of(const Array<std::byte>& here, std::size_t count) const {
    std::vector<std::span<std::byte>> parts;
    for (std::size_t i = 0; i < count; ++i) parts.emplace_back(here.data + bytes() * i, bytes());
    return parts;
  }

  static Place host_place(Where where) { return where.is_gpu() ? Place{Memory::pinned} : Place{}; }
  /// Waits for the stream, or for a mark on it; where it may wait for other ranks, with a limit.
  void wait_here() {
    const bool marked = std::exchange(marked_, false);
    if (comm_.size() == 1) return marked ? synchronize(Event(summed_)) : synchronize(stream_);
    if (!marked) record(summed_, stream_);
    synchronize_with(comm_, summed_, "the GPU's part of an iteration");
  }

  const DeviceOp<T>& a_;
  Comm& comm_;
  const DeviceM<T>& m_;
  const T* b_;
  T* x_;
  bool starts_at_zero_;
  Stream stream_;
  SumParts parts_;
  OwnedEvent summed_;
  bool marked_ = false;
  std::size_t started_ = 0;  // sums of start_total()
  DeviceVectors<T> vectors_;
  Array<double> sums_;
  std::int64_t moved_ = 0;
};

}  // namespace penstock
