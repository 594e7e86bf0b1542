#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "penstock/comm/comm.hpp"

// Sends items to the ranks that own them, for steps whose partners are not known beforehand.
namespace penstock {

/// Items in the order of their ranks: those of rank r are [offsets[r], offsets[r + 1]).
template <class T>
struct Mail {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> items;
  std::vector<std::int64_t> offsets;

  std::span<T> of(int rank) {
    const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(rank)]);
    const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(rank) + 1]);
    return std::span(items).subspan(first, last - first);
  }
};

/// Items by the rank that rank_of(item) names, otherwise in the order in which they are.
template <class T, class RankOf>
Mail<T> sort_by_rank(std::span<const T> items, int ranks, RankOf&& rank_of) {
  Mail<T> out{std::vector<T>(items.size()), std::vector<std::int64_t>(static_cast<std::size_t>(ranks) + 1)};
  std::vector<int> to(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    ++out.offsets[static_cast<std::size_t>(to[i] = rank_of(items[i])) + 1];
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) out.offsets[r + 1] += out.offsets[r];
  auto next = out.offsets;
  for (std::size_t i = 0; i < items.size(); ++i)
    out.items[static_cast<std::size_t>(next[static_cast<std::size_t>(to[i])]++)] = items[i];
  return out;
}

namespace detail {

inline std::vector<std::int64_t> in_bytes(const std::vector<std::int64_t>& offsets, std::size_t bytes) {
  std::vector<std::int64_t> scaled(offsets);
  for (auto& offset : scaled) offset *= static_cast<std::int64_t>(bytes);
  return scaled;
}

}  // namespace detail

/// Sends the answers to questions that came back to the ranks that asked, where they have the order of the questions.
template <class T>
std::vector<T> send_back(Comm& comm, const std::vector<T>& answers,
                         const std::vector<std::int64_t>& came_offsets,
                         const std::vector<std::int64_t>& asked_offsets) {
  std::vector<T> got(static_cast<std::size_t>(asked_offsets.back()));
  comm.all_to_all_v(answers.data(), detail::in_bytes(came_offsets, sizeof(T)), got.data(),
                    detail::in_bytes(asked_offsets, sizeof(T)));
  return got;
}

/// Returns the items that the ranks have for this one. Collective.
template <class T>
Mail<T> deliver(Comm& comm, const Mail<T>& out) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::int64_t> sends(ranks), receives(ranks), one_each(ranks + 1);
  for (std::size_t r = 0; r < ranks; ++r) {
    sends[r] = out.offsets[r + 1] - out.offsets[r];
    one_each[r + 1] = one_each[r] + static_cast<std::int64_t>(sizeof(std::int64_t));
  }
  comm.all_to_all_v(sends.data(), one_each, receives.data(), one_each);
  Mail<T> in{{}, std::vector<std::int64_t>(ranks + 1)};
  for (std::size_t r = 0; r < ranks; ++r) in.offsets[r + 1] = in.offsets[r] + receives[r];
  in.items = send_back(comm, out.items, out.offsets, in.offsets);
  return in;
}

}  // namespace penstock
