#pragma once
#include <memory>
#include <string_view>

#include "penstock/core/trace.hpp"
#include "penstock/dist/halo/halo.hpp"

namespace penstock {

/// The way back, on the CPU: sums that were computed for ghosts travel to their owners, who add them to their entries. They
/// add those of one rank after the other, in ascending order: the same bits in every run and by every strategy.
class HaloBack {
 public:
  /// The strategy is isend, persistent, neighborhood or put; the other ones are ways to read scattered entries, and use isend
  /// on the way back. There are also "gather" (one rank owns every entry) and "reduce" (float64, each rank has ghosts of one owner, who has none; the
  /// sums may differ in the last bits). Collective.
  HaloBack(std::string_view strategy, const HaloContext& context);

  void* values() {
    return ghosts_.data;
  }  // plan.ghosts() entries, by owner: written before begin(), kept until end()
  void begin();
  /// Waits, then sets owned[i] = S::add(owned[i], value) for each value that came; entries are `columns` numbers side by side.
  template <class S>
  void end(typename S::value_type* owned, std::int64_t columns = 1);

  const HaloTimes& times() const { return times_; }
  void clear_times() { times_ = {}; }

 private:
  void wait();
  std::shared_ptr<const CommPlan> plan_;
  Array<std::byte> ghosts_, received_;
  std::unique_ptr<Exchange> exchange_;
  HaloTimes times_;
};

template <class S>
void HaloBack::end(typename S::value_type* owned, std::int64_t columns) {
  wait();
  const ScopedTimer timer(&times_.pack);
  const auto* from = reinterpret_cast<const typename S::value_type*>(received_.data);
  for (const auto i : plan_->send_indices.span())
    for (auto* to = owned + i * columns; to != owned + (i + 1) * columns; ++to, ++from)
      *to = S::add(*to, *from);
}

}  // namespace penstock
