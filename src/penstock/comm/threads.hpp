#pragma once
#include <memory>
#include <vector>

#include "penstock/comm/comm.hpp"

namespace penstock {

struct ThreadsOptions {
  double timeout = 0;  // seconds; 0: default_timeout()
};

/// Ranks that are threads of this process: element r is for the thread that plays rank r. Messages are copied once,
/// straight from the sender's memory; short ones wait in a box. Sums are taken in the order of ranks. Collective calls
/// that do not fit together (another verb, topic, root or size) throw Error{invalid_argument} on every rank. A rank that ends
/// (its Comm and all that comes from it are destroyed, or leave()) while another waits for it is an Error{comm} there.
std::vector<std::unique_ptr<Comm>> threads(int ranks, ThreadsOptions options = {});

}  // namespace penstock
