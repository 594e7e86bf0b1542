#include "penstock/solver/multigrid/rank_rows.hpp"

#include <array>
#include <cstring>
#include <new>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {

void RankRows::fill(void* values, std::int64_t own, std::int64_t entry_bytes) const {
  if (!exchange) return;
  const auto* from = exchange(values, entry_bytes);
  if (ghosts > 0)
    std::memcpy(static_cast<std::byte*>(values) + own * entry_bytes, from, at(ghosts * entry_bytes));
}

void RankRows::sum(std::span<double> sums) const {
  if (comm) comm->all_reduce(sums, Reduce::sum);
}

double RankRows::largest(double value) const {
  std::array<double, 1> most{value};
  if (comm) comm->all_reduce(std::span<double>(most), Reduce::max);
  return most[0];
}

bool RankRows::any(bool here) const { return largest(here ? 1 : 0) > 0; }

std::vector<GlobalIndex> RankRows::starts(std::int64_t count) const {
  std::vector<GlobalIndex> found(at(comm ? comm->size() + 1 : 2), 0);
  if (comm) comm->all_gather(&count, sizeof(count), found.data() + 1);
  else found[1] = count;
  for (std::size_t r = 1; r < found.size(); ++r) found[r] += found[r - 1];
  return found;
}

void RankRows::together(const std::function<void()>& f) const {
  if (!comm) return f();
  std::string text;
  auto code = Errc::invalid_argument;
  std::array<std::int64_t, 1> first{comm->size()};
  try {
    f();
  } catch (const Error& e) {
    text = e.what(), code = e.code(), first[0] = comm->rank();
  } catch (const std::bad_alloc&) {
    text = "rank " + std::to_string(comm->rank()) + " has no memory for its part of a level";
    code = Errc::out_of_memory, first[0] = comm->rank();
  }
  comm->all_reduce(std::span<std::int64_t>(first), Reduce::min);
  const auto from = static_cast<int>(first[0]);
  if (from == comm->size()) return;
  std::array<std::int64_t, 2> told{std::ssize(text), static_cast<std::int64_t>(code)};
  comm->broadcast(told.data(), sizeof(told), from);
  text.resize(at(told[0]));
  comm->broadcast(text.data(), told[0], from);
  throw Error(static_cast<Errc>(told[1]), text);
}

}  // namespace penstock
