#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/share/comm_plan.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {

/// What exchanges of a graph search cost this rank.
struct MarkTraffic {
  std::int64_t messages = 0, bytes = 0;  // sent
  /// Messages of each form; the others held everything in their first 64 bytes.
  std::int64_t lists = 0, bitmaps = 0;
};

/// Sets of vertices along a plan, in one direction: to each partner some of the positions that the two share. A first
/// message of 64 bytes tells how many there are, and holds a few; more follow as a bitmap or as a list, whichever is
/// shorter. So a road network's frontiers take one message a partner, and a large one a bit a vertex.
class MarkChannel {
 public:
  struct Partner {
    int rank = 0;
    std::int64_t positions = 0;
  };
  /// Collective, also over ranks without partners. Both sides of a pair state the same number of positions.
  MarkChannel(Comm& comm, std::vector<Partner> to, std::vector<Partner> from);

  /// The positions for partner `k` of `to`. The caller fills them in, in any order; they are empty again after exchange().
  std::vector<Index>& out(std::size_t k) { return out_[k]; }
  const std::vector<Index>& in(std::size_t k) const { return in_[k]; }  // what the last exchange() brought
  /// Sends what is in out() to the partners' in(). Collective.
  void exchange(Comm& comm, MarkTraffic& traffic);

 private:
  static constexpr std::int64_t kFew = 15;
  struct First {
    std::int32_t count = 0;
    std::array<Index, kFew> some = {};
  };
  static_assert(sizeof(First) == 64);
  static std::int64_t bitmap_bytes(std::int64_t positions) { return graph::words_of(positions) * 8; }
  static bool is_list(std::int64_t count, std::int64_t positions) {
    return count * static_cast<std::int64_t>(sizeof(Index)) <= bitmap_bytes(positions);
  }
  static std::int64_t rest_bytes(std::int64_t count, std::int64_t positions);

  std::vector<Partner> to_, from_;
  std::vector<std::vector<Index>> out_, in_;
  std::vector<std::vector<graph::Word>> out_bits_, in_bits_;
  std::vector<First> out_first_, in_first_;
  std::unique_ptr<Exchange> first_;
};

/// The same along a star forest: from owners to the ranks that hold ghosts of theirs, and back.
class Marks {
 public:
  Marks(Comm& comm, std::shared_ptr<const CommPlan> plan);  // collective

  /// arrive(ghost) for every ghost whose owner has it in the bits of its entries.
  template <class F>
  void tell_ghosts(Comm& comm, const graph::Word* owned, F&& arrive) {
    for (std::size_t k = 0; k < plan_->send_ranks.size(); ++k) {
      const auto first = plan_->send_offsets[k], last = plan_->send_offsets[k + 1];
      for (auto i = first; i < last; ++i)
        if (graph::test_bit(owned, plan_->send_indices.data[i]))
          down_.out(k).push_back(static_cast<Index>(i - first));
    }
    down_.exchange(comm, traffic_);
    for (std::size_t k = 0; k < plan_->receive_ranks.size(); ++k)
      for (const auto i : down_.in(k)) arrive(static_cast<Index>(plan_->receive_offsets[k] + i));
  }

  /// arrive(owned) for every owned entry that another rank has among its `ghosts`; once for each of these ranks.
  template <class F>
  void tell_owners(Comm& comm, std::span<const Index> ghosts, F&& arrive) {
    for (const auto ghost : ghosts) {
      const auto k = partner_of(ghost);
      up_.out(k).push_back(static_cast<Index>(ghost - plan_->receive_offsets[k]));
    }
    up_.exchange(comm, traffic_);
    for (std::size_t k = 0; k < plan_->send_ranks.size(); ++k)
      for (const auto i : up_.in(k)) arrive(plan_->send_indices.data[plan_->send_offsets[k] + i]);
  }

  const MarkTraffic& traffic() const { return traffic_; }

 private:
  std::size_t partner_of(Index ghost) const;

  std::shared_ptr<const CommPlan> plan_;
  MarkChannel down_, up_;
  MarkTraffic traffic_;
};

/// Sends entries of any trivial type along a plan, from owners to ghosts. Collective.
template <class T>
void values_to_ghosts(Comm& comm, const CommPlan& plan, const T* owned, T* ghosts);
/// The way back: combine(owned entry, value) for every ghost's value, one rank's after the other in ascending order.
template <class T, class Combine>
void values_to_owners(Comm& comm, const CommPlan& plan, const T* ghosts, Combine&& combine);

namespace detail {

inline constexpr int kValuesTag = 0x6772;

/// `bytes` an entry; both sides' offsets are in entries.
void swap_with(Comm& comm, const void* send, const std::vector<int>& send_ranks,
               const std::vector<std::int64_t>& send_offsets, void* receive,
               const std::vector<int>& receive_ranks, const std::vector<std::int64_t>& receive_offsets,
               std::int64_t bytes);

}  // namespace detail

template <class T>
void values_to_ghosts(Comm& comm, const CommPlan& plan, const T* owned, T* ghosts) {
  std::vector<T> packed(static_cast<std::size_t>(plan.sent()));
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = owned[plan.send_indices.data[i]];
  detail::swap_with(comm, packed.data(), plan.send_ranks, plan.send_offsets, ghosts, plan.receive_ranks,
                    plan.receive_offsets, sizeof(T));
}

template <class T, class Combine>
void values_to_owners(Comm& comm, const CommPlan& plan, const T* ghosts, Combine&& combine) {
  std::vector<T> came(static_cast<std::size_t>(plan.sent()));
  detail::swap_with(comm, ghosts, plan.receive_ranks, plan.receive_offsets, came.data(), plan.send_ranks,
                    plan.send_offsets, sizeof(T));
  for (std::size_t i = 0; i < came.size(); ++i) combine(plan.send_indices.data[i], came[i]);
}

}  // namespace penstock
