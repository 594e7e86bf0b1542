// Exchanges of vectors on GPUs without a product: entries of x that others own, and sums for those that they own.
#include <numeric>

#include "penstock/dist/product/dist_product_gpu.hpp"
#include "penstock/kernel/vectors/gather.hpp"

namespace penstock {
namespace {

/// The exchange backwards: the vector is the ghosts, and every entry of it is sent to its owner.
std::shared_ptr<const CommPlan> reversed(const CommPlan& p) {
  auto back = std::make_shared<CommPlan>();
  back->owned = p.ghosts();
  back->send_ranks = p.receive_ranks, back->send_offsets = p.receive_offsets;
  back->receive_ranks = p.send_ranks, back->receive_offsets = p.send_offsets;
  const auto all = allocate<Index>(p.ghosts());
  std::iota(all.data, all.data + all.size, Index(0));
  back->send_indices = all;
  return back;
}

}  // namespace

template <class V>
const void* DistProductGpu<V>::exchange(const void* x, std::int64_t entry_bytes, Stream stream) {
  require_possible(1, stream);
  if (!any_ghosts_) return nullptr;
  auto& halo = *links(entry_bytes, 1).x;
  try {
    halo.begin(x, stream);
    halo.end(stream);
  } catch (...) {
    halo.abandon();
    throw;
  }
  return halo.ghosts();
}

template <class V>
typename DistProductGpu<V>::Back& DistProductGpu<V>::back(std::int64_t entry_bytes) {
  if (const auto found = back_.find(entry_bytes); found != back_.end()) return found->second;
  const ScopedTimer timer(&times_.setup);
  const HaloContext context{a_.comm, reversed(*a_.plan), entry_bytes, options_.where};
  if (strategy_.empty()) strategy_ = choose_gpu_halo(context);
  Back b{make_gpu_halo(strategy_, context), copied(a_.plan->send_indices)};
  return back_.emplace(entry_bytes, std::move(b)).first->second;
}

template <class V>
template <class T>
void DistProductGpu<V>::add_ghosts(const T* ghosts, T* owned, Stream stream) {
  require_possible(1, stream);
  if (!any_ghosts_) return;
  auto& b = back(sizeof(T));
  try {
    b.halo->begin(ghosts, stream);
    b.halo->end(stream);
  } catch (...) {
    b.halo->abandon();
    throw;
  }
  const auto* came = static_cast<const T*>(b.halo->ghosts());
  const auto& offsets = a_.plan->send_offsets;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    scatter_add<PlusTimes<T>>(came + offsets[i], b.to.data + offsets[i], offsets[i + 1] - offsets[i], 1,
                              owned, stream);
}

#define X(V)                                                                           \
  template const void* DistProductGpu<V>::exchange(const void*, std::int64_t, Stream); \
  template typename DistProductGpu<V>::Back& DistProductGpu<V>::back(std::int64_t);    \
  template void DistProductGpu<V>::add_ghosts<float>(const float*, float*, Stream);    \
  template void DistProductGpu<V>::add_ghosts<double>(const double*, double*, Stream);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
