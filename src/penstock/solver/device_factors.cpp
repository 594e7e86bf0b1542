#include "penstock/solver/device_factors.hpp"

#include "penstock/solver/device_form.hpp"

namespace penstock {
namespace {

template <class T>
struct Kept {
  LevelTriangle<T> lower, upper;
  Array<T> inverse;
};

/// A vector between the two solves, and a ticket for each wide run. Of one solver, on one stream.
template <class T>
struct Between {
  Array<T> y;
  Array<unsigned> tickets;
};

template <class T>
std::int64_t wide_runs(const LevelTriangle<T>& t) {
  return std::count_if(t.runs.begin(), t.runs.end(), [](const LevelRun& r) { return r.wide; });
}

/// Returns the next ticket that is not used.
template <class T>
unsigned* solve(const LevelTriangle<T>& t, const T* scale, const T* in, T* z, unsigned* tickets,
                Stream stream) {
  if (wide_runs(t) > 0) fill_async(z, kNotYet, t.order.size * static_cast<std::int64_t>(sizeof(T)), stream);
  for (const auto& run : t.runs) {
    solve_levels<T>(t.view(scale), run, in, z, tickets, stream);
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
      const auto first = by_levels(lower), second = by_levels(upper);
      const auto vector = static_cast<std::int64_t>(inverse.size_bytes());
      require_room(first.bytes() + second.bytes() + 2 * vector, spare, stream.where);
      Kept<T> k{on_device(first, stream), on_device(second, stream), copy_to_device(inverse, stream)};
      synchronize(stream);
      return k;
    });
    const auto place = device_place(stream.where);
    const auto rows = kept->lower.order.size;
    const auto wide = std::max<std::int64_t>(1, wide_runs(kept->lower) + wide_runs(kept->upper));
    const Between<T> between{allocate<T>(std::max<std::int64_t>(1, rows), place),
                             allocate<unsigned>(wide, place)};
    return [kept, between](const T* r, T* z, Stream stream) {
      fill_async(between.tickets.data, 0, between.tickets.bytes(), stream);
      auto* next = solve<T>(kept->lower, nullptr, r, between.y.data, between.tickets.data, stream);
      solve<T>(kept->upper, kept->inverse.data, between.y.data, z, next, stream);
    };
  };
  form.levels = [lower, upper, held = owner] {
    const auto count = [](const HostTriangle<T>& t) {
      const auto level = levels_of(t);
      return level.empty() ? std::int64_t(0)
                           : std::int64_t(*std::max_element(level.begin(), level.end())) + 1;
    };
    return std::pair{count(lower), count(upper)};
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
