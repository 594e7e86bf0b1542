#pragma once
#include "penstock/core/parallel.hpp"

namespace penstock::test {

/// So many threads until the end of the block, and then as many as before.
class Threads {
 public:
  explicit Threads(int n) : old_(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(old_); }

 private:
  int old_;
};

}  // namespace penstock::test
