#include "penstock/partition/bisect.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/parallel.hpp"

namespace penstock::partition {
namespace {

/// The rows order[first, last), which have the label `part`, and are to be divided among parts [part, part + parts).
struct Domain {
  std::int64_t first = 0, last = 0, part = 0, parts = 1;
};

class Bisection {
 public:
  Bisection(const Csr<One>& a, const Csr<One>& back)
      : a_(a),
        back_(back),
        labels_(at(a.rows)),
        next_(at(a.rows)),
        order_(at(a.rows)),
        found_(at(a.rows)),
        seen_(at(a.rows)) {
    std::iota(order_.begin(), order_.end(), 0);
  }
  std::vector<Index> run(std::int64_t parts) {
    std::vector<Domain> domains{{0, a_.rows, 0, parts}};
    while (std::ranges::any_of(domains, [](const Domain& d) { return d.parts > 1; })) {
      std::vector<Domain> halves(2 * domains.size());
      parallel_for(std::ssize(domains), [&](std::int64_t i) { cut(domains[at(i)], &halves[at(2 * i)]); });
      std::erase_if(halves, [](const Domain& d) { return d.parts == 0; });
      domains = std::move(halves);
      labels_.swap(next_);
      stamp_ += 2;
    }
    return labels_;
  }

 private:
  std::int64_t length(Index r) const { return a_.indptr.data[r + 1] - a_.indptr.data[r]; }

  /// Cuts the domain into two halves. If there is nothing to cut, the second half has no parts.
  void cut(const Domain& d, Domain* halves) {
    halves[0] = d, halves[1].parts = 0;
    if (d.parts > 1 && d.last > d.first) {
      const auto end = search(order_[at(d.first)], d, d.first, stamp_);
      auto filled = search(found_[at(end - 1)], d, d.first, stamp_ + 1);
      for (auto i = d.first; i < d.last; ++i)
        if (const auto r = order_[at(i)]; seen_[at(r)] != stamp_ + 1)
          filled = search(r, d, filled, stamp_ + 1);
      std::copy(found_.begin() + d.first, found_.begin() + d.last, order_.begin() + d.first);
    }
    const auto less = d.parts / 2;
    std::int64_t middle = d.first, entries = 0, before = 0;
    for (auto i = d.first; i < d.last; ++i) entries += length(order_[at(i)]);
    const auto goal = entries / d.parts * less + entries % d.parts * less / d.parts;
    for (; d.parts > 1 && middle < d.last; ++middle) {
      const auto after = before + length(order_[at(middle)]);
      if (after > goal && after - goal > goal - before) break;
      before = after;
    }
    if (d.parts > 1) {
      halves[0] = {d.first, middle, d.part, less};
      halves[1] = {middle, d.last, d.part + less, d.parts - less};
    }
    for (auto i = d.first; i < d.last; ++i)
      next_[at(order_[at(i)])] = static_cast<Index>(d.part + (d.parts > 1 && i >= middle ? less : 0));
  }

  /// Writes the rows of the domain that are connected with `start`, the nearest first, to found_, from place `to` on.
  /// Returns the end of what was written.
  std::int64_t search(Index start, const Domain& d, std::int64_t to, int stamp) {
    auto end = to;
    const auto meet = [&](Index r) {
      if (labels_[at(r)] != d.part || seen_[at(r)] == stamp) return;
      seen_[at(r)] = stamp;
      found_[at(end++)] = r;
    };
    for (meet(start); to < end; ++to) {
      const auto r = found_[at(to)];
      for (const auto* m : {&a_, &back_})
        for (auto k = m->indptr.data[r]; k < m->indptr.data[r + 1]; ++k) meet(m->indices.data[k]);
      if (to % 1024 == 0) poll_interrupt();
    }
    return end;
  }

  const Csr<One>&a_, &back_;
  // The first part of each row's domain: before, and after the current cuts.
  std::vector<Index> labels_, next_;
  std::vector<Index> order_, found_;
  std::vector<int> seen_;  // for each row: the number of the search that saw it last
  int stamp_ = 1;
};

}  // namespace

std::vector<Index> bisect(const Csr<One>& a, const Csr<One>& back, std::int64_t parts) {
  return Bisection(a, back).run(parts);
}

}  // namespace penstock::partition
