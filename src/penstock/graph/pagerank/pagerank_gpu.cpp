// PageRank with its vectors on a GPU, by the power method as in pagerank_cpu.cpp. A step is a product and one pass over
// vectors (kernel/vectors/rank_passes.hpp), and the host waits for the sum of changes. RankControl decides on precision,
// extrapolation and the end; ranks come to the host once.
#include "penstock/graph/pagerank/pagerank_gpu.hpp"

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/pagerank/pagerank_control.hpp"
#include "penstock/kernel/vectors/rank_passes.hpp"

namespace penstock {
namespace {

class DeviceRanks {
 public:
  DeviceRanks(Where where, std::span<const double> out, const PageRankVectors& vectors,
              const PageRankOptions& options)
      : where_(where),
        n_(std::ssize(out)),
        given_(vectors),
        options_(options),
        control_(vectors, options),
        stream_(where),
        sums_(stream_),
        news_(allocate<RankNews>(1, where.is_gpu() ? Place{Memory::pinned} : Place{})) {
    if (given_.dangling.empty()) given_.dangling = given_.personalization;
    based_ = !given_.dangling.empty();
  }
  ~DeviceRanks() { drain(stream_); }
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  PageRankResult run(const DeviceOp<float>* single, const DeviceOp<double>& in, std::span<const double> out,
                     const ResultTo& to) {
    control_.phases(single != nullptr, !given_.start.empty(), [&]<class T>(double until) {
      if constexpr (std::same_as<T, float>) phase<T>(*single, until, out);
      else phase<T>(in, until, out);
    });
    if (to) {
      deliver(to, stream_, "ranks", ranks_[0], 8 * n_);
      return control_.result({});
    }
    const auto place = where_.is_gpu() ? Place{Memory::pinned} : Place{};
    const auto owner = reuse_bytes(8 * n_, place);
    const Array<double> ranks{static_cast<double*>(owner.get()), n_, place, owner};
    copy_async(ranks.data, ranks_[0], ranks.bytes(), stream_);
    synchronize(stream_);
    return control_.result(ranks);
  }

 private:
  template <class T>
  void upload(T* to, std::span<const T> from) {
    copy_async(to, from.data(), static_cast<std::int64_t>(from.size_bytes()), stream_);
    synchronize(stream_);  // `from` may be freed after that
  }
  template <class T>
  void upload(T* to, const std::vector<T>& from) {
    upload<T>(to, std::span<const T>(from));
  }
  /// A distribution in T; uniform if none is given.
  template <class T>
  std::vector<T> filled(std::span<const double> p) const {
    if (p.empty())
      return std::vector<T>(static_cast<std::size_t>(n_), static_cast<T>(1.0 / static_cast<double>(n_)));
    return {p.begin(), p.end()};
  }
  template <class P>
  void pass(const P& p) {
    sweep(n_, p, sums_, stream_);
  }
  RankNews news() {
    synchronize(stream_);
    poll_interrupt();
    return *news_.data;
  }

  /// Takes steps until the change is below `until`. Vectors are there as long as they are needed: the weights and the ranks in
  /// float64 before the first step, and the ranks again after the last one.
  template <class T>
  void phase(const DeviceOp<T>& in, double until, std::span<const double> out) {
    DeviceVectors<T> first(n_, 2, where_), next, product, base;
    DeviceVectors<double> full(n_, 1, where_);
    try {
      upload(full[0], out);
      if (!has_ranks_) {
        ranks_ = {n_, 1, where_};
        has_ranks_ = true;
        if (given_.start.empty())
          pass(RankSet<true>{.in = {full[0]}, .out = {ranks_[0]}, .number = 1.0 / static_cast<double>(n_)});
        else upload(ranks_[0], given_.start);
      }
      T *weights = first[0], *now = first[1];
      pass(RankBegin<T>{.in = {full[0], ranks_[0]}, .out = {weights, now}, .news = news_.data});
      double dangling = news().dangling;
      full = {};
      control_.enter(until);
      if (!control_.more()) return;
      ranks_ = {};
      next = {n_, 1, where_}, product = {n_, 1, where_};
      T *other = next[0], *const y = product[0], *personal = nullptr, *sink = nullptr;
      if (based_) {
        base = {n_, 2, where_};
        personal = base[0], sink = base[1];
        upload(personal, filled<T>(given_.personalization));
        upload(sink, filled<T>(given_.dangling));
      }
      RankJumps jumps{};
      while (control_.more()) {
        in.apply(now, y, stream_);
        const double sunk = options_.alpha * dangling;
        jumps = {options_.alpha, 1 - options_.alpha, sunk,
                 (1 - options_.alpha + sunk) / static_cast<double>(n_)};
        step<T>({y, weights, now, other, personal, sink}, jumps, control_.omega());
        const auto found = news();
        dangling = found.dangling;
        std::swap(now, other);
        control_.took(found.change);
      }
      first = {}, next = {};
      ranks_ = {n_, 1, where_};
      take<T>(y, personal, sink, jumps);
    } catch (...) {
      drain(stream_);  // before the vectors are freed
      throw;
    }
  }

  template <class T>
  struct Vectors {
    const T *y, *weights, *now;
    T* other;
    const T *personal, *sink;
  };
  template <class T>
  void step(const Vectors<T>& v, const RankJumps& jumps, double omega) {
    auto* news = news_.data;
    if (based_)
      pass(RankStep<T, false, true>{.in = {v.y, v.weights, v.now, v.personal, v.sink},
                                    .out = {v.other},
                                    .jumps = jumps,
                                    .omega = 1,
                                    .news = news});
    else if (omega > 1)
      pass(RankStep<T, true, false>{.in = {v.y, v.weights, v.now, v.other},
                                    .out = {v.other},
                                    .jumps = jumps,
                                    .omega = omega,
                                    .news = news});
    else
      pass(RankStep<T, false, false>{
          .in = {v.y, v.weights, v.now}, .out = {v.other}, .jumps = jumps, .omega = 1, .news = news});
  }
  /// Takes the ranks to which the last plain step led, and scales them to sum 1.
  template <class T>
  void take(const T* y, const T* personal, const T* sink, const RankJumps& jumps) {
    if (based_)
      pass(RankTake<T, true>{
          .in = {y, personal, sink}, .out = {ranks_[0]}, .jumps = jumps, .news = news_.data});
    else pass(RankTake<T, false>{.in = {y}, .out = {ranks_[0]}, .jumps = jumps, .news = news_.data});
    const auto found = news();
    pass(RankSet<false>{.in = {ranks_[0]}, .out = {ranks_[0]}, .number = found.change});
    control_.clipped(found.dangling > 0);
    synchronize(stream_);
  }

  Where where_;
  std::int64_t n_;
  PageRankVectors given_;
  PageRankOptions options_;
  bool based_ = false;
  RankControl control_;
  OwnedStream stream_;
  SumParts sums_;
  DeviceVectors<double> ranks_;
  bool has_ranks_ = false;
  Array<RankNews> news_;
};

}  // namespace

std::int64_t rank_vertex_bytes(double tol, bool based) {
  const std::int64_t entry = RankControl::is_single(tol) ? sizeof(float) : sizeof(double);
  const std::int64_t before = 2 * sizeof(double) + 2 * entry, steps = (based ? 6 : 4) * entry;
  return std::max(before, steps);
}

PageRankResult pagerank_gpu(const DeviceOp<float>* single, const DeviceOp<double>& in,
                            std::span<const double> out, const PageRankVectors& vectors,
                            const PageRankOptions& options, const ResultTo& to) {
  check_pagerank(in.rows, in.cols, std::ssize(out), vectors, options);
  require(!single || (single->rows == in.rows && single->where == in.where),
          "pagerank: the products in float32 and float64 are of different matrices or devices");
  if (in.rows == 0) return {.ranks = allocate<double>(0), .converged = true};
  return DeviceRanks(in.where, out, vectors, options).run(single, in, out, to);
}

}  // namespace penstock
