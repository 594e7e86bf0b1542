#pragma once
#include "penstock/core/error.hpp"
#include "penstock/io/webgraph/bv_graph.hpp"
#include "penstock/io/webgraph/bv_list.hpp"

namespace penstock {

[[noreturn]] inline void bv_fail(const BvGraph& a, std::int64_t vertex, const BvFault& fault) {
  throw Error(Errc::invalid_argument,
              "vertex " + std::to_string(vertex) + ", bit " + std::to_string(a.positions.data[vertex]) +
                  ": " + fault.what +
                  (a.with_offsets
                       ? "; the .graph, the .properties or the .offsets is damaged or of another graph: get "
                         "them again, or remove the .offsets, which is not needed"
                       : "; the .graph or the .properties is damaged or of another graph: get them again"));
}

/// A chain of references went back further than is worth following.
struct BvTooFar {};

/// Reads ranges of lists. A range may begin anywhere: lists before it are read as they are referred to.
template <class Codes>
class BvWalk {
 public:
  explicit BvWalk(const BvGraph& a)
      : a_(a), lists_(a.bytes, a.parameters), kept_(at(a.parameters.window + 1)), held_(kept_.size(), -1) {}

  std::int64_t vertex() const { return next_; }

  /// Begins at a vertex. Lists before it may cost so many vertices together, else BvTooFar is thrown.
  void start(std::int64_t vertex, std::int64_t budget) {
    next_ = vertex, budget_ = budget;
    std::fill(held_.begin(), held_.end(), -1);
  }

  /// Writes the lists from vertex() to `last` one behind the other, and keeps those that the next ones may refer to.
  void read(std::int64_t last, Index* out) {
    const auto first = next_;
    const auto* const indptr = a_.indptr.data;
    const auto place = [&](std::int64_t v) { return out + (indptr[v] - indptr[first]); };
    auto v = first;
    try {
      lists_.in.seek(a_.positions.data[first]);
      for (; v < last; ++v) {
        const auto h = lists_.head(v);
        check(h, v);
        if (h.degree == 0) continue;
        const auto to = v - h.reference;
        lists_.read(v, h,
                    h.reference == 0 ? nullptr
                    : to >= first    ? place(to)
                                     : earlier(to),
                    degree(to), place(v));
      }
      if (lists_.in.at() != a_.positions.data[last])
        throw BvFault{"the lists before it end at bit " + std::to_string(lists_.in.at())};
    } catch (const BvFault& fault) {
      bv_fail(a_, v, fault);
    }
    for (auto u = std::max(first, last - a_.parameters.window); u < last; ++u) {
      kept_[slot(u)].assign(place(u), place(u) + degree(u));
      held_[slot(u)] = u;
    }
    next_ = last;
  }

 private:
  struct Link {
    std::int64_t vertex, bit;
    typename BvLists<Codes>::Head head;
  };

  std::int64_t degree(std::int64_t v) const { return a_.indptr.data[v + 1] - a_.indptr.data[v]; }
  std::size_t slot(std::int64_t v) const { return at(v) % kept_.size(); }
  void check(const typename BvLists<Codes>::Head& h, std::int64_t v) const {
    if (h.degree != degree(v))
      throw BvFault{"the list of vertex " + std::to_string(v) + " has " + std::to_string(h.degree) +
                    " vertices now, and had " + std::to_string(degree(v))};
  }

  /// The list of a vertex before the range. It may refer to one before it, and so on: all are read, the first one first.
  const Index* earlier(std::int64_t wanted) {
    if (held_[slot(wanted)] == wanted) return kept_[slot(wanted)].data();
    const auto here = lists_.in.at();
    chain_.clear();
    const Index* from = nullptr;
    std::int64_t referred = 0;
    for (auto v = wanted;;) {
      if (held_[slot(v)] == v) {
        from = kept_[slot(v)].data(), referred = degree(v);
        break;
      }
      budget_ -= 1 + degree(v);
      if (budget_ < 0) throw BvTooFar{};
      lists_.in.seek(a_.positions.data[v]);
      const auto h = lists_.head(v);
      check(h, v);
      chain_.push_back({v, lists_.in.at(), h});
      if (h.reference == 0) break;
      v -= h.reference;
    }
    for (; !chain_.empty(); chain_.pop_back()) {
      const auto& link = chain_.back();
      auto& to = link.vertex == wanted ? kept_[slot(wanted)] : spare_[chain_.size() % 2];
      to.resize(at(link.head.degree));
      lists_.in.seek(link.bit);
      if (link.head.degree > 0) lists_.read(link.vertex, link.head, from, referred, to.data());
      from = to.data(), referred = link.head.degree;
    }
    held_[slot(wanted)] = wanted;
    lists_.in.seek(here);
    return from;
  }

  const BvGraph& a_;
  BvLists<Codes> lists_;
  std::int64_t next_ = 0, budget_ = 0;
  std::vector<std::vector<Index>> kept_;  // the list of vertex held_[i] in place i
  std::vector<std::int64_t> held_;
  std::vector<Link> chain_;
  std::vector<Index> spare_[2];
};

}  // namespace penstock
