#include "penstock/solver/krylov/staged_solve.hpp"

#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/solver/krylov/dist_solve_gpu.hpp"
#include "penstock/solver/precondition/device_preconditioners.hpp"

namespace penstock {
namespace {

template <class T, class V>
DeviceGhosts<T> ghosts_of(DistProductGpu<V>& product) {
  const auto bring = [&product](const T* owned, Stream s) {
    return static_cast<const T*>(product.exchange(owned, sizeof(T), s));
  };
  const auto add = [&product](const T* ghosts, T* owned, Stream s) { product.add_ghosts(ghosts, owned, s); };
  return {.bring = bring, .add = add};
}

}  // namespace

template <class T, class V>
SolveResult staged_solve(StagedProduct<V>& a, const std::string& method, const T* b, T* x,
                         const StagedM<T>& m, SolveOptions options) {
  auto& product = a.on_device();
  const auto where = a.stage().where();
  const Stream stream = a.stage().stream();
  const auto n = a.matrix().rows();
  const auto bytes = n * static_cast<std::int64_t>(sizeof(T));
  const DeviceVectors<T> vectors(n, m.diagonal ? 3 : 2, where);
  T *const b_there = vectors[0], *const x_there = vectors[1],
           *const diagonal = m.diagonal ? vectors[2] : nullptr;
  copy_async(b_there, b, bytes, stream);
  if (!options.starts_at_zero) copy_async(x_there, x, bytes, stream);
  if (diagonal) copy_async(diagonal, m.diagonal, bytes, stream);

  DeviceOp<T> op{.rows = n, .cols = a.matrix().cols(), .where = where};
  op.apply = [&](const T* p, T* q, Stream s) { product.template multiply<PlusTimes<T>>(p, q, {}, s); };
  if (options.callback)
    options.callback = [&, call = options.callback](std::int64_t iteration, double residual) {
      copy_async(x, x_there, bytes, stream);
      synchronize(stream);
      call(iteration, residual);
    };
  DeviceM<T> device_m;
  try {
    if (m.form) device_m.apply = m.form->make(stream, 0, ghosts_of<T>(product));
    else if (m.polynomial.degree > 0) device_m = device_chebyshev<T>(op, diagonal, m.polynomial, stream);
    else if (diagonal) device_m.diagonal = diagonal;
    const auto result =
        dist_solve_gpu<T>(method, {op, *a.matrix().comm, device_m, stream, [&] { product.abandon(); }},
                          b_there, x_there, options);
    copy_async(x, x_there, bytes, stream);
    synchronize(stream);
    return result;
  } catch (...) {
    drain(stream);
    throw;
  }
}

template <class T, class V>
void staged_apply(StagedProduct<V>& a, const DeviceForm<T>& m, const T* r, T* z, int times) {
  auto& product = a.on_device();
  auto& stage = a.stage();
  const auto n = a.matrix().rows();
  const auto bytes = n * static_cast<std::int64_t>(sizeof(T));
  const DeviceVectors<T> vectors(n, 2, stage.where());
  T *const r_there = vectors[0], *const z_there = vectors[1];
  const auto apply = m.make(stage.stream(), 0, ghosts_of<T>(product));
  const auto queue = [&] {
    stage.copy(r_there, r, bytes);
    for (int i = 0; i < times; ++i) apply(r_there, z_there, stage.stream());
  };
  stage.run(
      *a.matrix().comm, "a preconditioner", queue, [&] { stage.copy(z, z_there, bytes); },
      [&] { product.abandon(); });
}

template <class T>
std::string keep_on_device(const DeviceForm<T>& m, Stream stream, std::int64_t spare) {
  try {
    m.make(stream, spare, {});
  } catch (const Error& e) {
    if (e.code() != Errc::out_of_memory) throw;
    return e.what();
  }
  return "";
}

#define X(T, V)                                                                                             \
  template SolveResult staged_solve(StagedProduct<V>&, const std::string&, const T*, T*, const StagedM<T>&, \
                                    SolveOptions);
PENSTOCK_FOR_EACH_STAGED_SOLVE(X)
#undef X
#define X(T)                                                                                   \
  template void staged_apply(StagedProduct<One>&, const DeviceForm<T>&, const T*, T*, int);    \
  template void staged_apply(StagedProduct<float>&, const DeviceForm<T>&, const T*, T*, int);  \
  template void staged_apply(StagedProduct<double>&, const DeviceForm<T>&, const T*, T*, int); \
  template std::string keep_on_device(const DeviceForm<T>&, Stream, std::int64_t);
X(float)
X(double)
#undef X

}  // namespace penstock
