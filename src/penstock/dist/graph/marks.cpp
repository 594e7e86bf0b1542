#include "penstock/dist/graph/marks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

constexpr int kRestTag = 0x6773;

/// Partners of one side of a plan.
std::vector<MarkChannel::Partner> partners(const std::vector<int>& ranks,
                                           const std::vector<std::int64_t>& offsets) {
  std::vector<MarkChannel::Partner> out;
  for (std::size_t k = 0; k < ranks.size(); ++k) out.push_back({ranks[k], offsets[k + 1] - offsets[k]});
  return out;
}

template <class T>
std::byte* bytes_of(std::vector<T>& v) {
  return reinterpret_cast<std::byte*>(v.data());
}

}  // namespace

std::int64_t MarkChannel::rest_bytes(std::int64_t count, std::int64_t positions) {
  if (count <= kFew) return 0;
  return is_list(count, positions) ? count * static_cast<std::int64_t>(sizeof(Index))
                                   : bitmap_bytes(positions);
}

MarkChannel::MarkChannel(Comm& comm, std::vector<Partner> to, std::vector<Partner> from)
    : to_(std::move(to)),
      from_(std::move(from)),
      out_(to_.size()),
      in_(from_.size()),
      out_bits_(to_.size()),
      in_bits_(from_.size()),
      out_first_(to_.size()),
      in_first_(from_.size()) {
  std::vector<Message> sends, receives;
  for (std::size_t k = 0; k < to_.size(); ++k)
    sends.push_back({to_[k].rank, bytes_of(out_first_) + k * sizeof(First), sizeof(First)});
  for (std::size_t k = 0; k < from_.size(); ++k)
    receives.push_back({from_[k].rank, bytes_of(in_first_) + k * sizeof(First), sizeof(First)});
  first_ = comm.persistent(std::move(sends), std::move(receives));
}

void MarkChannel::exchange(Comm& comm, MarkTraffic& traffic) {
  for (std::size_t k = 0; k < to_.size(); ++k) {
    auto& first = out_first_[k];
    first.count = static_cast<std::int32_t>(out_[k].size());
    std::copy_n(out_[k].begin(), std::min<std::int64_t>(first.count, kFew), first.some.begin());
  }
  traffic.messages += std::ssize(to_), traffic.bytes += std::ssize(to_) * std::int64_t(sizeof(First));
  first_->start();
  first_->finish();
  std::vector<Request> requests;
  for (std::size_t k = 0; k < from_.size(); ++k) {
    const std::int64_t count = in_first_[k].count, positions = from_[k].positions;
    in_[k].resize(static_cast<std::size_t>(count));
    if (const auto bytes = rest_bytes(count, positions); bytes == 0) {
      std::copy_n(in_first_[k].some.begin(), count, in_[k].begin());
    } else if (is_list(count, positions)) {
      requests.push_back(comm.receive(in_[k].data(), bytes, from_[k].rank, kRestTag));
    } else {
      in_bits_[k].resize(static_cast<std::size_t>(graph::words_of(positions)));
      requests.push_back(comm.receive(in_bits_[k].data(), bytes, from_[k].rank, kRestTag));
    }
  }
  for (std::size_t k = 0; k < to_.size(); ++k) {
    const auto count = std::ssize(out_[k]), positions = to_[k].positions;
    const auto bytes = rest_bytes(count, positions);
    if (bytes == 0) continue;
    const bool list = is_list(count, positions);
    if (!list) {
      out_bits_[k].assign(static_cast<std::size_t>(graph::words_of(positions)), 0);
      for (const auto i : out_[k]) graph::claim_bit<false>(out_bits_[k].data(), i);
    }
    const void* data = list ? static_cast<const void*>(out_[k].data()) : out_bits_[k].data();
    requests.push_back(comm.send(data, bytes, to_[k].rank, kRestTag));
    ++traffic.messages, traffic.bytes += bytes;
    ++(list ? traffic.lists : traffic.bitmaps);
  }
  comm.wait(requests);
  for (std::size_t k = 0; k < from_.size(); ++k) {
    const auto count = std::ssize(in_[k]), positions = from_[k].positions;
    if (rest_bytes(count, positions) == 0 || is_list(count, positions)) continue;
    auto to = in_[k].begin();
    for (std::size_t w = 0; w < in_bits_[k].size(); ++w)
      for (auto bits = in_bits_[k][w]; bits; bits &= bits - 1)
        *to++ = static_cast<Index>(static_cast<int>(w) * 64 + std::countr_zero(bits));
  }
  for (auto& some : out_) some.clear();
}

Marks::Marks(Comm& comm, std::shared_ptr<const CommPlan> plan)
    : plan_(std::move(plan)),
      down_(comm, partners(plan_->send_ranks, plan_->send_offsets),
            partners(plan_->receive_ranks, plan_->receive_offsets)),
      up_(comm, partners(plan_->receive_ranks, plan_->receive_offsets),
          partners(plan_->send_ranks, plan_->send_offsets)) {}

std::size_t Marks::partner_of(Index ghost) const {
  const auto& offsets = plan_->receive_offsets;
  return static_cast<std::size_t>(std::upper_bound(offsets.begin() + 1, offsets.end(), ghost) -
                                  offsets.begin() - 1);
}

void detail::swap_with(Comm& comm, const void* send, const std::vector<int>& send_ranks,
                       const std::vector<std::int64_t>& send_offsets, void* receive,
                       const std::vector<int>& receive_ranks,
                       const std::vector<std::int64_t>& receive_offsets, std::int64_t bytes) {
  comm.step(kValuesTag);
  std::vector<Request> requests;
  for (std::size_t k = 0; k < receive_ranks.size(); ++k)
    requests.push_back(comm.receive(static_cast<std::byte*>(receive) + receive_offsets[k] * bytes,
                                    (receive_offsets[k + 1] - receive_offsets[k]) * bytes, receive_ranks[k],
                                    kValuesTag));
  for (std::size_t k = 0; k < send_ranks.size(); ++k)
    requests.push_back(comm.send(static_cast<const std::byte*>(send) + send_offsets[k] * bytes,
                                 (send_offsets[k + 1] - send_offsets[k]) * bytes, send_ranks[k], kValuesTag));
  comm.wait(requests);
}

}  // namespace penstock
