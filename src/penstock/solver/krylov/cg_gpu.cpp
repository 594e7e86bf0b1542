// Conjugate gradients (hestenes-1952) with the vectors on a GPU. An iteration is a product and three passes; twelve vectors
// move (fourteen with a diagonal M). The step lengths never leave the GPU: each iteration leaves its norm in pinned memory,
// and short iterations are queued ahead of the one that the host waits for. Those that follow the last one do nothing.
#include "penstock/solver/krylov/cg_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/vectors/cg_passes.hpp"
#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// Iterations that are queued ahead: enough to hide a wait of some 50 us, and not more, because those behind the last iteration
/// still multiply.
constexpr std::int64_t kMostAhead = 8;
/// Seconds of iterations that are queued ahead, and the time of an iteration from which on none is.
constexpr double kHidden = 100e-6, kLong = 1e-3;
/// Least time that an iteration is taken to need, in seconds: it divides kHidden.
constexpr double kShortest = 1e-7;
/// Places for the news of iterations under way; one more has norms.
constexpr std::int64_t kSlots = kMostAhead + 1;

Place news_place(Where where) { return where.is_gpu() ? Place{Memory::pinned} : Place{}; }

template <class T>
class DeviceCg {
 public:
  DeviceCg(const DeviceOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
           const SolveOptions& o)
      : a_(a),
        m_(m),
        host_b_(b),
        host_x_(x),
        n_(a.rows),
        outcome_(o, sizeof(T)),
        starts_at_zero_(o.starts_at_zero),
        stream_(a.where),
        sums_(stream_),
        diagonal_(m != nullptr),
        vectors_(n_, diagonal_ ? 6 : 5, a.where),
        own_(allocate<CgScalars>(1, device_place(a.where))),
        news_(allocate<CgNews>(kSlots + 1, news_place(a.where))),
        norm2_(&news_.data[kSlots].rr) {
    for (std::int64_t i = 0; i < kSlots; ++i) done_.emplace_back(a.where);
  }
  ~DeviceCg() { drain(stream_); }
  DeviceCg(const DeviceCg&) = delete;
  DeviceCg& operator=(const DeviceCg&) = delete;

  SolveResult run() {
    Sweeper sweep(sizeof(T));
    const auto bb = squares(host_b_, sweep);
    outcome_.aim(bb[0], bb[1] > 0);
    const auto bytes = static_cast<std::int64_t>(host_b_.size_bytes());
    copy_async(b_, host_b_.data(), bytes, stream_);
    if (diagonal_) copy_async(d_, m_->diagonal.data, bytes, stream_);
    if (!starts_at_zero_) copy_async(x_, host_x_.data(), bytes, stream_);
    outcome_.start(starts_at_zero_ ? start_at_zero() : residual());
    if (!outcome_.ended() && outcome_.more()) begin();
    while (!outcome_.ended() && outcome_.more()) {
      while (queued_ - seen_ <= ahead() && queued_ - seen_ < outcome_.left()) queue();
      look();
    }
    auto result = outcome_.close([&] { return residual(); });
    take_x();
    result.vector_bytes = moved_ * n_ * static_cast<std::int64_t>(sizeof(T));
    return result;
  }

 private:
  /// Iterations that should be under way beside the one that is waited for.
  std::int64_t ahead() const {
    if (outcome_.calls_back() || a_.waits || pace_ > kLong) return 0;
    return std::min(kMostAhead, 1 + static_cast<std::int64_t>(kHidden / pace_));
  }

  template <class P>
  void pass(const P& p) {
    sweep(n_, p, sums_, stream_);
    moved_ += P::kIn + P::kOut;
  }
  /// f.operator()<Diagonal>()
  template <class F>
  void with_m(F&& f) {
    if (diagonal_) f.template operator()<true>();
    else f.template operator()<false>();
  }
  void multiply(const T* from, T* to) {
    a_.apply(from, to, stream_);
    moved_ += 2;
  }

  double start_at_zero() {
    pass(CgStart<T>{.in = {b_}, .out = {r_, x_}, .norm2 = norm2_});
    synchronize(stream_);
    return std::sqrt(*norm2_);
  }
  /// r = b - A x; its norm.
  double residual() {
    multiply(x_, q_);
    pass(CgResidual<T>{.in = {b_, q_}, .out = {r_}, .norm2 = norm2_});
    synchronize(stream_);
    return std::sqrt(*norm2_);
  }
  void begin() {
    with_m([&]<bool D>() {
      if constexpr (D) pass(CgBegin<T, D>{.in = {r_, d_}, .out = {p_}, .own = own_.data});
      else pass(CgBegin<T, D>{.in = {r_}, .out = {p_}, .own = own_.data});
    });
    last_look_ = Clock::now();
  }
  void queue() {
    const auto slot = static_cast<std::size_t>(queued_ % kSlots);
    auto* news = news_.data + slot;
    auto* own = own_.data;
    const auto before = moved_;
    multiply(p_, q_);
    pass(CgCurvature<T>{.in = {p_, q_}, .out = {}, .own = own, .news = news, .iteration = queued_});
    with_m([&]<bool D>() {
      CgDescend<T, D> descend{.in = {r_, q_},
                              .out = {r_},
                              .own = own,
                              .news = news,
                              .iteration = queued_,
                              .target = outcome_.target()};
      CgAdvance<T, D> advance{.in = {x_, p_, r_}, .out = {x_, p_}, .own = own, .iteration = queued_};
      if constexpr (D) descend.in[2] = d_, advance.in[3] = d_;
      pass(descend);
      pass(advance);
    });
    record(done_[slot], stream_);
    ++queued_;
    moved_by_one_ = moved_ - before, moved_ = before;
  }
  /// Waits for the oldest iteration under way, and reads its news.
  void look() {
    const auto slot = static_cast<std::size_t>(seen_ % kSlots);
    synchronize(done_[slot]);
    const auto now = Clock::now();
    pace_ = std::max(kShortest, std::chrono::duration<double>(now - last_look_).count());
    last_look_ = now;
    ++seen_;
    const auto news = news_.data[slot];
    if (news.code == CgNews::not_finite) return outcome_.not_finite();
    if (news.code == CgNews::bad_preconditioner) return outcome_.bad_preconditioner(news.value);
    if (news.code == CgNews::not_positive) return outcome_.not_positive(news.value);
    if (outcome_.calls_back()) take_x();
    moved_ += moved_by_one_;
    outcome_.step(std::sqrt(news.rr));
    if (news.code != CgNews::small) return;
    seen_ = queued_;  // the iterations that are queued behind it do nothing
    if (!outcome_.settles(residual()) && outcome_.more()) begin();
  }
  void take_x() {
    copy_async(host_x_.data(), x_, static_cast<std::int64_t>(host_x_.size_bytes()), stream_);
    synchronize(stream_);
  }

  using Clock = std::chrono::steady_clock;
  const DeviceOp<T>& a_;
  const LinearOp<T>* m_;
  std::span<const T> host_b_;
  std::span<T> host_x_;
  std::int64_t n_;
  Outcome outcome_;
  bool starts_at_zero_;
  OwnedStream stream_;
  SumParts sums_;
  bool diagonal_;
  DeviceVectors<T> vectors_;
  T *b_ = vectors_[0], *x_ = vectors_[1], *r_ = vectors_[2], *p_ = vectors_[3], *q_ = vectors_[4],
    *d_ = diagonal_ ? vectors_[5] : nullptr;
  Array<CgScalars> own_;
  Array<CgNews> news_;
  double* norm2_;
  std::deque<OwnedEvent> done_;  // for each slot: the iteration that uses it is done
  std::int64_t queued_ = 0, seen_ = 0;
  /// Vectors that were moved, without those of iterations behind the last one; and those of one iteration.
  std::int64_t moved_ = 0, moved_by_one_ = 0;
  double pace_ = kLong;  // seconds from one iteration's end to the next
  Clock::time_point last_look_;
};

}  // namespace

std::int64_t cg_gpu_bytes(std::int64_t rows, std::int64_t entry_bytes, bool diagonal) {
  return (diagonal ? 6 : 5) * ((rows + 63) / 64 * 64) * entry_bytes;
}

template <class T>
std::optional<SolveResult> cg_gpu(const DeviceOp<T>& a, const LinearOp<T>* m, std::span<const T> b,
                                  std::span<T> x, const SolveOptions& o) {
  require(a.rows == a.cols, "a solver needs a square matrix, this one is " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols));
  require(std::ssize(b) == a.rows && b.size() == x.size(), "solve: b and x need the rows of A");
  require(!m || m->rows == a.rows,
          "solve: M has " + std::to_string(m ? m->rows : 0) + " rows, A has " + std::to_string(a.rows));
  require(keeps_vectors_on_device(m), "cg_gpu: M must be a diagonal");
  if (o.checkpoints.every > 0) return std::nullopt;  // states are kept in host memory
  std::optional<DeviceCg<T>> solve;
  try {
    solve.emplace(a, m, b, x, o);
  } catch (const Error& e) {
    if (e.code() == Errc::out_of_memory) return std::nullopt;
    throw;
  }
  return solve->run();
}

template <class T>
LinearOp<T> with_host_vectors(const DeviceOp<T>& a) {
  require(a.rows == a.cols, "a solver needs a square matrix, this one is " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols));
  LinearOp<T> op;
  op.rows = a.rows;
  op.apply = staged(a);
  op.matrix_bytes = a.matrix_bytes;
  return op;
}

#define X(T)                                                                                             \
  template std::optional<SolveResult> cg_gpu(const DeviceOp<T>&, const LinearOp<T>*, std::span<const T>, \
                                             std::span<T>, const SolveOptions&);                         \
  template LinearOp<T> with_host_vectors(const DeviceOp<T>&);
X(float)
X(double)
#undef X

}  // namespace penstock
