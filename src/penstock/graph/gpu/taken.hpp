#pragma once
#include <string_view>

#include "penstock/graph/gpu/gpu_graph.hpp"

namespace penstock {

/// Device memory of a graph's budget, for one call. When it is destroyed, no work on the stream may use it any more.
template <class T>
class Taken {
 public:
  Taken(GpuGraph& g, std::int64_t count, std::string_view what) : g_(g), array_(g.take<T>(count, what)) {}
  ~Taken() { g_.give_back(array_); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  T* data() const { return array_.data; }
  std::int64_t bytes() const { return array_.bytes(); }

 private:
  GpuGraph& g_;
  Array<T> array_;
};

}  // namespace penstock
