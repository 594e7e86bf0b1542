#include "penstock/solver/krylov/lone_solve_gpu.hpp"

#include "penstock/comm/threads.hpp"
#include "penstock/core/error.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"

namespace penstock {
namespace {

template <class T>
std::int64_t bytes_of(const DeviceOp<T>& a) {
  return a.rows * static_cast<std::int64_t>(sizeof(T));
}

/// Throws Error{invalid_argument} where an entry of v, which is on the device, is no finite number.
template <class T>
void require_finite_on(const T* v, std::int64_t n, const std::string& name, Stream stream) {
  const auto found = allocate<double>(3, stream.where.is_gpu() ? Place{Memory::pinned} : Place{});
  const SumParts parts(stream);
  sweep(n, CgMeasure<T>{.in = {v}, .out = {}, .found = found.data}, parts, stream);
  synchronize(stream);
  require_finite(found.data[2], name);
}

/// M, b and x on the device, and the stream of all work.
template <class T>
struct LoneRank {
  LoneRank(const DeviceOp<T>& op, const LinearOp<T>* m)
      : a(op), stream(op.where), vectors(op.rows, 3, op.where), comm(threads(1)) {
    if (!m) return;
    if (m->diagonal.size == m->rows) {
      copy_async(vectors[2], m->diagonal.data, bytes_of(op), stream);
      there.diagonal = vectors[2];
    } else {
      there.apply = m->on_device.make(stream, 0, {});
    }
  }
  ~LoneRank() { drain(stream); }
  LoneRank(const LoneRank&) = delete;
  LoneRank& operator=(const LoneRank&) = delete;

  T* b() const { return vectors[0]; }
  T* x() const { return vectors[1]; }
  SolveResult run(const std::string& method, const SolveOptions& o) const {
    const DeviceSolve<T> solve{.a = a, .comm = *comm.front(), .m = there, .stream = stream};
    return dist_solve_gpu<T>(method, solve, b(), x(), o);
  }

  const DeviceOp<T>& a;
  OwnedStream stream;
  DeviceVectors<T> vectors;
  std::vector<std::unique_ptr<Comm>> comm;
  DeviceM<T> there;
};

}  // namespace

template <class T>
std::optional<SolveResult> lone_solve_gpu(const std::string& method, const DeviceOp<T>& a,
                                          const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                                          const SolveOptions& o) {
  check_operators(a, m);
  require(std::ssize(b) == a.rows && b.size() == x.size(), "solve: b and x need the rows of A");
  std::optional<LoneRank<T>> rank;
  bool told = false;  // x has been written
  try {
    rank.emplace(a, m);
    const auto bring = [&] {
      told = true;
      copy_async(x.data(), rank->x(), bytes_of(a), rank->stream);
      synchronize(rank->stream);
    };
    copy_async(rank->b(), b.data(), bytes_of(a), rank->stream);
    copy_async(rank->x(), x.data(), bytes_of(a), rank->stream);
    auto own = o;
    if (o.callback)
      own.callback = [&](std::int64_t iteration, double residual) {
        bring();
        o.callback(iteration, residual);
      };
    auto result = rank->run(method, own);
    bring();
    return result;
  } catch (const Error& e) {
    if (e.code() == Errc::out_of_memory && !told) return std::nullopt;
    throw;
  }
}

template <class T>
SolveResult lone_solve_on_device(const std::string& method, const DeviceOp<T>& a, const LinearOp<T>* m,
                                 const CgVectors<T>& given, const SolveOptions& o) {
  check_operators(a, m);
  check_vectors(a, given);
  require(o.checkpoints.every == 0, "states are kept of vectors in host memory alone");
  const UseDevice use(a.where);  // so that a null handle is the default stream of this GPU
  const LoneRank<T> rank(a, m);
  const Stream theirs{given.stream, a.where};
  order(theirs, rank.stream);
  copy_async(rank.b(), given.b, bytes_of(a), rank.stream);
  if (given.guess) copy_async(rank.x(), given.guess, bytes_of(a), rank.stream);
  else fill_async(rank.x(), 0, bytes_of(a), rank.stream);
  require_finite_on(rank.b(), a.rows, "b", rank.stream);
  if (given.guess) require_finite_on(rank.x(), a.rows, "x0", rank.stream);
  auto own = o;
  own.starts_at_zero = !given.guess;
  const auto bring = [&] {
    copy_async(given.x, rank.x(), bytes_of(a), rank.stream);
    order(rank.stream, theirs);
  };
  if (o.callback)
    own.callback = [&](std::int64_t iteration, double residual) {
      bring();
      o.callback(iteration, residual);
      order(theirs, rank.stream);  // it may still read x
    };
  auto result = rank.run(method, own);
  bring();
  return result;
}

#define X(T)                                                                                               \
  template std::optional<SolveResult> lone_solve_gpu(const std::string&, const DeviceOp<T>&,               \
                                                     const LinearOp<T>*, std::span<const T>, std::span<T>, \
                                                     const SolveOptions&);                                 \
  template SolveResult lone_solve_on_device(const std::string&, const DeviceOp<T>&, const LinearOp<T>*,    \
                                            const CgVectors<T>&, const SolveOptions&);
X(float)
X(double)
#undef X

}  // namespace penstock
