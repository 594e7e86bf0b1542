#include "penstock/solver/precondition/device_factors.hpp"

#include "penstock/solver/precondition/device_form.hpp"

namespace penstock {
namespace {

template <class T>
struct Kept {
  LevelTriangle<T> lower, upper;
};

/// The vectors of the solves, in the order of their levels, and a ticket for each wide run. For one solver on one stream.
template <class T>
struct Between {
  DeviceVectors<T> z;
  Array<unsigned> tickets;
};

template <class T>
std::int64_t wide_runs(const LevelTriangle<T>& t) {
  return std::count_if(t.runs.begin(), t.runs.end(), [](const LevelRun& r) { return r.wide; });
}

/// Returns the next ticket that is not used.
template <class T>
unsigned* solve(const LevelTriangle<T>& t, const LevelVectors<T>& v, unsigned* tickets, Stream stream) {
  if (wide_runs(t) > 0) fill_async(v.z, kNotYet, t.order.size * static_cast<std::int64_t>(sizeof(T)), stream);
  for (const auto& run : t.runs) {
    solve_levels<T>(t.view(), run, v, tickets, stream);
    tickets += run.wide;
  }
  return tickets;
}

}  // namespace

template <class T>
DeviceForm<T> device_factors(std::shared_ptr<const void> owner, const HostTriangle<T>& lower,
                             const HostTriangle<T>& upper, std::span<const T> inverse) {
  const auto cache = std::make_shared<KeptOnDevice<Kept<T>>>();
  DeviceForm<T> form;
  form.make = [cache, lower, upper, inverse, held = owner](Stream stream, std::int64_t spare,
                                                           const DeviceGhosts<T>&) -> DeviceApply<T> {
    const auto kept = cache->get(stream.where, [&] {
      const auto first = by_levels(lower), second = by_levels(upper, inverse, &first);
      const auto vectors = 2 * static_cast<std::int64_t>(inverse.size_bytes());
      require_room(first.bytes() + second.bytes() + vectors, spare, stream.where);
      return Kept<T>{on_device(first, stream), on_device(second, stream)};
    });
    const auto rows = kept->lower.order.size, wide = wide_runs(kept->lower) + wide_runs(kept->upper);
    const Between<T> between{DeviceVectors<T>(rows, 2, stream.where),
                             allocate<unsigned>(std::max<std::int64_t>(1, wide), device_place(stream.where))};
    return [kept, between](const T* r, T* z, Stream stream) {
      T *first = between.z[0], *second = between.z[1];
      fill_async(between.tickets.data, 0, between.tickets.bytes(), stream);
      auto* next = solve<T>(kept->lower, {.in = r, .z = first}, between.tickets.data, stream);
      solve<T>(kept->upper, {.in = first, .z = second, .out = z}, next, stream);
    };
  };
  form.levels = [lower, upper, held = owner] {
    return std::pair{level_count(levels_of(lower)), level_count(levels_of(upper))};
  };
  return form;
}

#define X(T)                                                                                 \
  template DeviceForm<T> device_factors(std::shared_ptr<const void>, const HostTriangle<T>&, \
                                        const HostTriangle<T>&, std::span<const T>);
X(float)
X(double)
#undef X

}  // namespace penstock
