#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock::graph {

/// A vertex, and the distance with which it was put into a bucket. If its distance has been lowered since, the visit is
/// skipped.
template <class D>
struct Visit {
  Index v;
  D d;
};

/// Gives the number of the bucket of a distance. It is monotone; correctness needs nothing else.
template <class D>
class BucketOf {
 public:
  explicit BucketOf(double delta) {
    if constexpr (std::is_integral_v<D>)
      scale_ = static_cast<std::uint64_t>(0x1p32 / std::clamp(delta, 1.0, 0x1p31));
    else scale_ = static_cast<D>(std::min(1.0 / delta, static_cast<double>(std::numeric_limits<D>::max())));
  }
  std::int64_t operator()(D d) const {
    if constexpr (std::is_integral_v<D>) return static_cast<std::int64_t>((d * scale_) >> 32);
    else return static_cast<std::int64_t>(std::min(d * scale_, static_cast<D>(0x1p60)));
  }

 private:
  std::conditional_t<std::is_integral_v<D>, std::uint64_t, D> scale_;
};

/// The buckets of one thread: a ring of near buckets, and one heap for all visits that are farther.
template <class D>
class Buckets {
 public:
  static constexpr std::int64_t kNear = 256;
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  using List = std::vector<Visit<D>>;

  Buckets() : near_(static_cast<std::size_t>(kNear)) {}

  void push(std::int64_t bucket, Visit<D> visit) {
    if (bucket < current_ + kNear) {
      near_[slot(bucket)].push_back(visit);
    } else {
      far_.push_back(visit);
      std::push_heap(far_.begin(), far_.end(), farther);
      nearest_far_ = std::min(nearest_far_, bucket);
    }
  }
  List& at(std::int64_t bucket) { return near_[slot(bucket)]; }
  /// The first bucket from the current one on that is not empty.
  std::int64_t next() const {
    for (auto b = current_; b < current_ + kNear && b < nearest_far_; ++b)
      if (!near_[slot(b)].empty()) return b;
    return nearest_far_;
  }
  /// Goes on to `bucket`. All buckets before it are empty, in this thread and in the others.
  void advance(std::int64_t bucket, const BucketOf<D>& bucket_of) {
    current_ = bucket;
    while (nearest_far_ < bucket + kNear) {
      std::pop_heap(far_.begin(), far_.end(), farther);
      near_[slot(nearest_far_)].push_back(far_.back());
      far_.pop_back();
      nearest_far_ = far_.empty() ? kNone : bucket_of(far_.front().d);
    }
  }

 private:
  static bool farther(const Visit<D>& a, const Visit<D>& b) { return a.d > b.d; }
  static std::size_t slot(std::int64_t bucket) { return static_cast<std::size_t>(bucket % kNear); }
  std::vector<List> near_;
  List far_;
  std::int64_t current_ = 0, nearest_far_ = kNone;
};

}  // namespace penstock::graph
