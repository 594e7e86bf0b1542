#include "penstock/dist/halo/halo.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/halo/halo_packed.hpp"

namespace penstock {
namespace {

struct Strategy {
  std::string_view name, text;
  halo::MakeExchange carry;  // null: `make` makes the whole strategy
  std::unique_ptr<Halo> (*make)(const HaloContext&);
};

constexpr Strategy kStrategies[] = {
    {"isend", "a message to each neighbour", halo::isend, nullptr},
    {"persistent", "the same messages, prepared once", halo::persistent, nullptr},
    {"neighborhood", "one collective call among neighbours", halo::neighborhood, nullptr},
    {"indexed", "messages straight from x, by a derived type", nullptr, halo::indexed},
    {"put", "written into the receiver's memory", halo::put, nullptr},
    {"sync", "everything to everyone", nullptr, halo::sync},
};

const Strategy* find(std::string_view name) {
  const auto* s = std::ranges::find(kStrategies, name, &Strategy::name);
  return s == std::end(kStrategies) ? nullptr : s;
}

std::unique_ptr<Halo> make(const Strategy& s, const HaloContext& c) {
  return s.carry ? halo::packed(c, s.carry) : s.make(c);
}

/// The shortest time of an exchange by the slowest rank. The shortest one counts, because disturbances only add time.
double time_of(Halo& halo, const HaloContext& c, const void* x) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarm = 1, kTimed = 4;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kWarm + kTimed; ++i) {
    c.comm->barrier();
    const auto start = Clock::now();
    halo.begin(x, {});
    halo.end({});
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    c.comm->all_reduce(std::span(&seconds, 1), Reduce::max);
    if (i >= kWarm) least = std::min(least, seconds);
  }
  return least;
}

}  // namespace

std::vector<Choice> halos(Where where) {
  if (where.is_gpu()) return gpu_halos();
  std::vector<Choice> list;
  for (const auto& s : kStrategies) list.push_back({s.name, s.text});
  return list;
}

void require_halo(std::string_view strategy, Where where) {
  const auto list = halos(where);
  if (strategy == "auto" || std::ranges::find(list, strategy, &Choice::name) != list.end()) return;
  throw Error(Errc::invalid_argument,
              "halo strategy \"" + std::string(strategy) + "\" is not one of " + list_names(list, "auto"));
}

std::unique_ptr<Halo> make_halo(std::string_view strategy, const HaloContext& c) {
  require_halo(strategy, c.where);
  if (c.where.is_gpu()) return make_gpu_halo(strategy, c);
  return make(*find(strategy == "auto" ? choose_halo(c) : strategy), c);
}

std::string_view choose_halo(const HaloContext& c, const void* x) {
  if (c.where.is_gpu()) return choose_gpu_halo(c);
  std::int64_t total = c.plan->ghosts(), owned = c.plan->owned;
  c.comm->all_reduce(std::span(&total, 1), Reduce::sum);
  c.comm->all_reduce(std::span(&owned, 1), Reduce::sum);
  if (total == 0) return kStrategies[0].name;
  // To send all entries to all ranks can be fastest only where most of them are needed; then it has the latency of one
  // collective.
  const bool most = 2 * total >= owned * (c.comm->size() - 1);
  Array<std::byte> zeros;
  if (!x) {
    zeros = allocate_apart<std::byte>(c.plan->owned * c.entry_bytes);
    std::fill_n(zeros.data, zeros.size, std::byte{});
    x = zeros.data;
  }
  std::string_view best;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& s : kStrategies) {
    if (s.name == "sync" && !most) continue;
    const auto seconds = time_of(*make(s, c), c, x);
    if (seconds < least) least = seconds, best = s.name;
  }
  return best;
}

namespace halo {

MakeExchange way_back(std::string_view strategy) {
  const auto* s = find(strategy);
  return s && s->carry ? s->carry : isend;
}

}  // namespace halo
}  // namespace penstock
