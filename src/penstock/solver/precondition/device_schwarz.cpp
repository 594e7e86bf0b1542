// Additive Schwarz with vectors on a device: the entries of a subdomain are gathered there, and only what ranks exchange
// leaves the device.
#include "penstock/solver/precondition/device_schwarz.hpp"

#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/krylov_passes.hpp"
#include "penstock/solver/precondition/device_form.hpp"

namespace penstock {
namespace {

template <class T>
struct KeptSchwarz {
  Array<Index> owned, ghosts;
  Array<T> weights;
};

/// What one solver's applications need between their steps.
template <class T>
struct Work {
  DeviceVectors<T> vectors;
  SumParts sums;  // its passes take no sums
};

}  // namespace

template <class T>
DeviceForm<T> device_schwarz(std::shared_ptr<const void> owner, const SubdomainParts<T>& parts,
                             const DeviceForm<T>& inner) {
  const auto cache = std::make_shared<KeptOnDevice<KeptSchwarz<T>>>();
  DeviceForm<T> form;
  form.levels = inner.levels;
  form.make = [cache, parts, inner, held = owner](Stream stream, std::int64_t spare,
                                                  const DeviceGhosts<T>& ghosts) -> DeviceApply<T> {
    const auto n = parts.rows;
    const auto bytes = (std::ssize(parts.owned) + std::ssize(parts.ghosts)) * std::int64_t(sizeof(Index)) +
                       4 * n * std::int64_t(sizeof(T));
    const auto solve = inner.make(stream, spare + bytes, {});
    const auto kept = cache->get(stream.where, [&] {
      require_room(bytes, spare, stream.where);
      KeptSchwarz<T> k{copy_to_device(parts.owned, stream), copy_to_device(parts.ghosts, stream),
                       copy_to_device(parts.weights, stream)};
      synchronize(stream);
      return k;
    });
    const auto work =
        std::make_shared<const Work<T>>(Work<T>{DeviceVectors<T>(n, 3, stream.where), SumParts(stream)});
    return [kept, work, solve, ghosts, n, adds = parts.adds](const T* r, T* z, Stream stream) {
      T *in = work->vectors[0], *out = work->vectors[1], *back = work->vectors[2];
      const auto weigh = [&](T* v) {
        if (kept->weights.size == n && n > 0)
          sweep(n, KrylovDiagonal<T>{.in = {kept->weights.data, v}, .out = {v}}, work->sums, stream);
      };
      const T* brought = ghosts.bring ? ghosts.bring(r, stream) : nullptr;
      fill_async(in, 0, n * static_cast<std::int64_t>(sizeof(T)), stream);
      scatter_add<PlusTimes<T>>(r, kept->owned.data, kept->owned.size, 1, in, stream);
      scatter_add<PlusTimes<T>>(brought, kept->ghosts.data, kept->ghosts.size, 1, in, stream);
      weigh(in);
      solve(in, out, stream);
      weigh(out);
      gather(out, kept->owned.data, kept->owned.size, sizeof(T), z, stream);
      if (!adds || !ghosts.add) return;
      gather(out, kept->ghosts.data, kept->ghosts.size, sizeof(T), back, stream);
      ghosts.add(back, z, stream);
    };
  };
  return form;
}

#define X(T)                                                                                   \
  template DeviceForm<T> device_schwarz(std::shared_ptr<const void>, const SubdomainParts<T>&, \
                                        const DeviceForm<T>&);
X(float)
X(double)
#undef X

}  // namespace penstock
