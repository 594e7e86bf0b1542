// Conjugate gradients (hestenes-1952) with the vectors on a GPU. An iteration is a product and three passes; twelve vectors
// move (fourteen with a diagonal M). With another M on the GPU it is M, a product and four passes, and fifteen vectors move. The
// step lengths never leave the GPU: each iteration leaves its norm in pinned memory, and short iterations are queued ahead of
// the one that the host waits for. Those that follow the last one do nothing but products.
#include "penstock/solver/krylov/cg_gpu.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <string>
#include <utility>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/vectors/cg_passes.hpp"
#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// Iterations that are queued ahead: enough to hide a wait of some 50 us, and not more, because those behind the last iteration
/// still multiply.
constexpr std::int64_t kMostAhead = 8;
/// The search begins anew unless a residual that is computed anew has come down to this part of the last one, and is at most so many times the
/// recurrence's: directions are of no use to another residual.
constexpr double kGains = 0.5, kTrue = 1.5;
/// Seconds of iterations that are queued ahead, and the time of an iteration from which on none is.
constexpr double kHidden = 100e-6, kLong = 1e-3;
/// Least time that an iteration is taken to need, in seconds: it divides kHidden.
constexpr double kShortest = 1e-7;
/// Places for the news of iterations under way.
constexpr std::int64_t kSlots = kMostAhead + 1;
/// Vectors begin at multiples of this many bytes, and passes need half of it at least.
constexpr std::int64_t kVectorAlign = 256;
constexpr std::uintptr_t kPassAlign = 16;

/// What passes leave for the host.
struct CgSeen {
  CgNews news[kSlots];
  double norm2;
  double found[3];  // those of CgMeasure
};

Place news_place(Where where) { return where.is_gpu() ? Place{Memory::pinned} : Place{}; }

/// Memory that a solve takes from those before it. Freeing memory of a GPU would wait for everybody's work there.
template <class E>
Array<E> kept(std::int64_t count, Place place) {
  auto owner = reuse_bytes(count * static_cast<std::int64_t>(sizeof(E)), place);
  return {static_cast<E*>(owner.get()), count, place, std::move(owner)};
}

std::int64_t stride_of(std::int64_t rows, std::int64_t entry_bytes) {
  const auto entries = kVectorAlign / entry_bytes;
  return (rows + entries - 1) / entries * entries;
}
bool fits_passes(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kPassAlign == 0; }

template <class T>
class DeviceCg {
 public:
  /// `lent` vectors, b and x, are memory of the caller.
  DeviceCg(const DeviceOp<T>& a, const LinearOp<T>* m, const SolveOptions& o, int lent)
      : a_(a),
        m_(m),
        n_(a.rows),
        outcome_(o, sizeof(T)),
        starts_at_zero_(o.starts_at_zero),
        stream_(a.where),
        sums_(stream_),
        diagonal_(m != nullptr && m->diagonal.size == m->rows),
        general_(m != nullptr && !diagonal_),
        stride_(stride_of(n_, sizeof(T))),
        vectors_(kept<T>(stride_ * ((m != nullptr ? 6 : 5) - lent), device_place(a.where))),
        own_(kept<CgScalars>(1, device_place(a.where))),
        seen_by_host_(kept<CgSeen>(1, news_place(a.where))),
        news_(seen_by_host_.data->news),
        norm2_(&seen_by_host_.data->norm2) {
    for (std::int64_t i = 0; i < kSlots; ++i) done_.emplace_back(a.where);
    if (general_) apply_m_ = m->on_device.make(stream_, 0, {});
  }
  ~DeviceCg() { drain(stream_); }
  DeviceCg(const DeviceCg&) = delete;
  DeviceCg& operator=(const DeviceCg&) = delete;

  SolveResult run(std::span<const T> b, std::span<T> x) {
    Sweeper sweep(sizeof(T));
    const auto bb = squares(b, sweep);
    outcome_.aim(bb[0], bb[1] > 0);
    auto* const own_b = vector(3);
    b_ = own_b, x_ = vector(4), host_x_ = x;
    for_m_ = vector(5);
    copy_async(own_b, b.data(), bytes(), stream_);
    if (!starts_at_zero_) copy_async(x_, x.data(), bytes(), stream_);
    auto result = solve();
    take_x();
    return result;
  }

  /// With b and x on the device, whose caller queues work on `theirs`.
  SolveResult run(const CgVectors<T>& given, T* own_b) {
    theirs_ = Stream{given.stream, a_.where}, joined_ = true;
    order(theirs_, stream_);
    b_ = own_b ? own_b : given.b, x_ = given.x;
    for_m_ = vector(3);
    if (own_b) copy_async(own_b, given.b, bytes(), stream_);
    const auto b = measure(b_, "b");
    outcome_.aim(b[0], b[0] < Outcome::kLeastSquares && b[1] > 0);
    starts_at_zero_ = !given.guess || b[1] == 0;  // a zero b has the solution 0, whatever the guess
    if (!starts_at_zero_) {
      if (given.guess != x_) copy_async(x_, given.guess, bytes(), stream_);
      measure(x_, "x0");
    }
    auto result = solve();
    order(stream_, theirs_);
    return result;
  }

  /// Room for a b that is not aligned as passes need it.
  T* spare() const { return vector(3 + (m_ != nullptr)); }

 private:
  SolveResult solve() {
    if (diagonal_) copy_async(for_m_, m_->diagonal.data, bytes(), stream_);
    known_ = starts_at_zero_ ? start_at_zero() : residual();
    outcome_.start(known_);
    if (!outcome_.ended() && outcome_.more()) begin();
    while (!outcome_.ended() && outcome_.more()) {
      while (queued_ - seen_ <= ahead() && queued_ - seen_ < outcome_.left()) queue();
      look();
    }
    auto result = outcome_.close([&] { return residual(); });
    result.vector_bytes = moved_ * n_ * static_cast<std::int64_t>(sizeof(T));
    return result;
  }

  std::int64_t bytes() const { return n_ * static_cast<std::int64_t>(sizeof(T)); }
  T* vector(int i) const { return vectors_.data + i * stride_; }

  /// v . v and how many entries are not zero; all of them must be finite.
  const double* measure(const T* v, const std::string& name) {
    auto* found = seen_by_host_.data->found;
    pass(CgMeasure<T>{.in = {v}, .out = {}, .found = found});
    synchronize(stream_);
    require_finite(found[2], name);
    return found;
  }

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

  void multiply_exactly(const T* from, T* to) {
    if (!a_.exact) return multiply(from, to);
    a_.exact(from, to, stream_);
    moved_ += 2;
  }
  /// The norm at which the residual is computed: the last one's, or the next one's of a rounded A.
  double aim() const {
    return a_.exact ? std::max(outcome_.target(), exact_at_ * known_) : outcome_.target();
  }
  /// r = b - A x in place of the recurrence's, with the search directions kept (reliable updates: van der Vorst and Ye 2000). Its norm.
  double replace() {
    if (general_) {
      const double norm = residual();
      static constexpr auto kGoesOn = kNoLastIteration;
      copy_async(&own_.data->last, &kGoesOn, sizeof kGoesOn, stream_);
      return norm;
    }
    multiply_exactly(x_, q_);
    with_m([&]<bool D>() {
      CgReplace<T, D> pass_of{.in = {b_, q_, r_, p_}, .out = {r_, p_}, .own = own_.data, .norm2 = norm2_};
      if constexpr (D) pass_of.in[4] = for_m_;
      pass(pass_of);
    });
    synchronize(stream_);
    return std::sqrt(*norm2_);
  }

  double start_at_zero() {
    pass(CgStart<T>{.in = {b_}, .out = {r_, x_}, .norm2 = norm2_});
    synchronize(stream_);
    return std::sqrt(*norm2_);
  }
  /// r = b - A x; its norm.
  double residual() {
    multiply_exactly(x_, q_);
    pass(CgResidual<T>{.in = {b_, q_}, .out = {r_}, .norm2 = norm2_});
    synchronize(stream_);
    return std::sqrt(*norm2_);
  }
  void begin() {
    last_look_ = Clock::now();
    if (general_) {
      static constexpr CgScalars kFresh{.rz = 0, .alpha = 0, .beta = 0, .last = kNoLastIteration};
      copy_async(own_.data, &kFresh, sizeof kFresh, stream_);
      return fill_async(p_, 0, bytes(), stream_);
    }
    with_m([&]<bool D>() {
      if constexpr (D) pass(CgBegin<T, D>{.in = {r_, for_m_}, .out = {p_}, .own = own_.data});
      else pass(CgBegin<T, D>{.in = {r_}, .out = {p_}, .own = own_.data});
    });
  }
  /// z = M r, p = z + beta p
  void turn() {
    apply_m_(r_, for_m_, stream_);
    moved_ += 2;
    pass(CgTurn<T>{.in = {r_, for_m_}, .out = {}, .own = own_.data, .iteration = queued_});
    pass(CgDirection<T>{.in = {for_m_, p_}, .out = {p_}, .own = own_.data, .iteration = queued_});
  }
  void queue() {
    const auto slot = static_cast<std::size_t>(queued_ % kSlots);
    auto* news = news_ + slot;
    auto* own = own_.data;
    const auto before = moved_;
    if (general_) turn();
    multiply(p_, q_);
    pass(CgCurvature<T>{.in = {p_, q_}, .out = {}, .own = own, .news = news, .iteration = queued_});
    if (general_) {
      pass(CgMove<T>{.in = {x_, p_, r_, q_},
                     .out = {x_, r_},
                     .own = own,
                     .news = news,
                     .iteration = queued_,
                     .target = aim()});
    } else {
      descend(own, news);
    }
    record(done_[slot], stream_);
    ++queued_;
    moved_by_one_ = moved_ - before, moved_ = before;
  }
  void descend(CgScalars* own, CgNews* news) {
    with_m([&]<bool D>() {
      CgDescend<T, D> descend{
          .in = {r_, q_}, .out = {r_}, .own = own, .news = news, .iteration = queued_, .target = aim()};
      CgAdvance<T, D> advance{.in = {x_, p_, r_}, .out = {x_, p_}, .own = own, .iteration = queued_};
      if constexpr (D) descend.in[2] = for_m_, advance.in[3] = for_m_;
      pass(descend);
      pass(advance);
    });
  }
  /// Waits for the oldest iteration under way, and reads its news.
  void look() {
    const auto slot = static_cast<std::size_t>(seen_ % kSlots);
    synchronize(done_[slot]);
    const auto now = Clock::now();
    pace_ = std::max(kShortest, std::chrono::duration<double>(now - last_look_).count());
    last_look_ = now;
    ++seen_;
    const auto news = news_[slot];
    if (news.code == CgNews::not_finite) return outcome_.not_finite();
    if (news.code == CgNews::bad_preconditioner) return outcome_.bad_preconditioner(news.value);
    if (news.code == CgNews::not_positive) return outcome_.not_positive(news.value);
    if (outcome_.calls_back()) take_x();
    moved_ += moved_by_one_;
    outcome_.step(std::sqrt(news.rr));
    if (outcome_.calls_back() && joined_) order(theirs_, stream_);  // it may still read x
    if (news.code != CgNews::small) return;
    seen_ = queued_;  // the iterations that are queued behind it do nothing
    if (a_.exact) {
      const double before = std::exchange(known_, replace());
      const bool true_to_it = known_ <= kTrue * std::sqrt(news.rr);
      if (!true_to_it) exact_at_ = std::sqrt(exact_at_);  // sooner from now on
      if (known_ > outcome_.target() && known_ <= kGains * before) {
        outcome_.correct(known_);
        if (!true_to_it && outcome_.more()) begin();
        return;
      }
    }
    if (!outcome_.settles(a_.exact ? known_ : residual()) && outcome_.more()) begin();
  }
  /// Brings x to the host, if the caller wants it there.
  void take_x() {
    if (joined_) return;
    copy_async(host_x_.data(), x_, bytes(), stream_);
    synchronize(stream_);
  }

  using Clock = std::chrono::steady_clock;
  const DeviceOp<T>& a_;
  const LinearOp<T>* m_;
  std::span<T> host_x_;
  Stream theirs_;        // of a caller who has b and x on the device,
  bool joined_ = false;  // if there is one
  std::int64_t n_;
  Outcome outcome_;
  bool starts_at_zero_;
  OwnedStream stream_;
  SumParts sums_;
  bool diagonal_, general_;
  std::int64_t stride_;
  Array<T> vectors_;
  const T* b_ = nullptr;
  T *x_ = nullptr, *r_ = vector(0), *p_ = vector(1), *q_ = vector(2);
  T* for_m_ = nullptr;  // a diagonal M, or M r of another one
  Array<CgScalars> own_;
  Array<CgSeen> seen_by_host_;
  CgNews* news_;
  double* norm2_;
  DeviceApply<T> apply_m_;
  std::deque<OwnedEvent> done_;  // for each slot: the iteration that uses it is done
  std::int64_t queued_ = 0, seen_ = 0;
  /// Vectors that were moved, without those of iterations behind the last one; and those of one iteration.
  std::int64_t moved_ = 0, moved_by_one_ = 0;
  double known_ = 0;  // the norm of the last residual that was computed
  double exact_at_ = a_.exact_at;
  double pace_ = kLong;  // seconds from one iteration's end to the next
  Clock::time_point last_look_;
};

}  // namespace

std::int64_t cg_gpu_bytes(std::int64_t rows, std::int64_t entry_bytes, bool with_m) {
  return (with_m ? 6 : 5) * stride_of(rows, entry_bytes) * entry_bytes;
}

template <class T>
void check_operators(const DeviceOp<T>& a, const LinearOp<T>* m) {
  require(a.rows == a.cols, "a solver needs a square matrix, this one is " + std::to_string(a.rows) + " x " +
                                std::to_string(a.cols));
  require(!m || m->rows == a.rows,
          "solve: M has " + std::to_string(m ? m->rows : 0) + " rows, A has " + std::to_string(a.rows));
  require(keeps_vectors_on_device(m, a.where),
          "a solve on a GPU: M must be a diagonal, or live on the GPU where A is multiplied");
}

template <class T>
void check_vectors(const DeviceOp<T>& a, const CgVectors<T>& given) {
  const std::pair<const void*, const char*> all[] = {
      {given.b, "b"}, {given.x, "x"}, {given.guess ? given.guess : given.x, "x0"}};
  for (const auto& [vector, name] : all)
    if (a.rows > 0 && !can_read(a.where, place_of(vector)))
      throw Error(Errc::not_accessible, std::string(name) + " is not in memory that the device of A reaches");
  const auto apart = [n = a.rows](const T* x, const T* y) { return x + n <= y || y + n <= x; };
  require(apart(given.x, given.b),
          "x overlaps b, which is read until the end: give out= memory of its own, or a copy of b");
  require(!given.guess || given.guess == given.x || apart(given.x, given.guess),
          "x overlaps a part of x0: give out= memory of its own, or x0 itself");
}

void require_finite(double faults, const std::string& name) {
  if (faults > 0)
    throw Error(Errc::invalid_argument, name + " has " + std::to_string(std::int64_t(faults)) +
                                            " entries that are NaN or infinite: " + name +
                                            " must hold finite numbers only");
}

template <class T>
std::optional<SolveResult> cg_gpu(const DeviceOp<T>& a, const LinearOp<T>* m, std::span<const T> b,
                                  std::span<T> x, const SolveOptions& o) {
  check_operators(a, m);
  require(std::ssize(b) == a.rows && b.size() == x.size(), "solve: b and x need the rows of A");
  if (o.checkpoints.every > 0) return std::nullopt;  // states are kept in host memory
  std::optional<DeviceCg<T>> solve;
  try {
    solve.emplace(a, m, o, 0);
  } catch (const Error& e) {
    if (e.code() == Errc::out_of_memory) return std::nullopt;
    throw;
  }
  return solve->run(b, x);
}

template <class T>
SolveResult cg_on_device(const DeviceOp<T>& a, const LinearOp<T>* m, const CgVectors<T>& given,
                         const SolveOptions& o) {
  check_operators(a, m);
  check_vectors(a, given);
  require(fits_passes(given.x), "cg: x must begin at a multiple of 16 bytes");
  require(o.checkpoints.every == 0, "cg: states are kept of vectors in host memory alone");
  const bool copies_b = !fits_passes(given.b);
  const UseDevice use(a.where);  // so that a null handle is the default stream of this GPU
  DeviceCg<T> solve(a, m, o, copies_b ? 1 : 2);
  return solve.run(given, copies_b ? solve.spare() : nullptr);
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
  template void check_operators(const DeviceOp<T>&, const LinearOp<T>*);                                 \
  template void check_vectors(const DeviceOp<T>&, const CgVectors<T>&);                                  \
  template std::optional<SolveResult> cg_gpu(const DeviceOp<T>&, const LinearOp<T>*, std::span<const T>, \
                                             std::span<T>, const SolveOptions&);                         \
  template SolveResult cg_on_device(const DeviceOp<T>&, const LinearOp<T>*, const CgVectors<T>&,         \
                                    const SolveOptions&);                                                \
  template LinearOp<T> with_host_vectors(const DeviceOp<T>&);
X(float)
X(double)
#undef X

}  // namespace penstock
