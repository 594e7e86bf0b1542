#include "penstock/dist/halo/halo_packed.hpp"

#include <cstring>

#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/core/trace.hpp"

namespace penstock::halo {
namespace {

/// Least bytes that a task packs: some microseconds of work.
constexpr std::int64_t kGrain = 1 << 14;

template <class T>
void pack_words(std::span<const Index> indices, const void* from, void* to) {
  const auto* in = static_cast<const T*>(from);
  auto* out = static_cast<T*>(to);
  for (const auto i : indices) *out++ = in[i];
}

/// Entries for one rank that lie side by side in x are sent from x, all others from a buffer.
class PackedHalo : public Halo {
 public:
  PackedHalo(const HaloContext& c, MakeExchange make)
      : plan_(c.plan),
        entry_bytes_(c.entry_bytes),
        ghosts_(allocate_apart<std::byte>(c.plan->ghosts() * c.entry_bytes)) {
    auto sends = sort_out();
    exchange_ = make(c.comm, std::move(sends),
                     messages(plan_->receive_ranks, plan_->receive_offsets, ghosts_.data, entry_bytes_));
  }

  void begin(const void* x, Stream) override {
    const ScopedTimer timer(&times_.pack);
    for (const auto& [indices, to] : packs_) pack(indices, x, to, entry_bytes_);
    exchange_->rebase(static_cast<const std::byte*>(x));
    exchange_->start();
  }
  void end(Stream) override {
    const ScopedTimer timer(&times_.wait);
    exchange_->finish();
    times_.sent_bytes += plan_->sent() * entry_bytes_, times_.received_bytes += ghosts_.size;
    times_.messages += std::ssize(plan_->send_ranks), ++times_.exchanges;
  }
  const void* ghosts() const override { return ghosts_.data; }

 private:
  struct Pack {
    std::span<const Index> indices;
    std::byte* to;
  };
  std::vector<Message> sort_out() {
    std::vector<Message> sends;
    std::int64_t packed = 0;
    const auto& offsets = plan_->send_offsets;
    for (std::size_t i = 0; i < plan_->send_ranks.size(); ++i) {
      const auto indices = plan_->send_indices.span().subspan(
          static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
      Message m{plan_->send_ranks[i], nullptr, std::ssize(indices) * entry_bytes_};
      if (in_a_row(indices)) m.from_base = indices[0] * entry_bytes_;
      else packs_.push_back({indices, nullptr}), packed += m.bytes;
      sends.push_back(m);
    }
    buffer_ = allocate_apart<std::byte>(packed);
    auto* to = buffer_.data;
    auto next = packs_.begin();
    for (auto& m : sends)
      if (m.from_base < 0) m.data = next++->to = to, to += m.bytes;
    return sends;
  }

  std::shared_ptr<const CommPlan> plan_;
  std::int64_t entry_bytes_;
  std::vector<Pack> packs_;
  Array<std::byte> buffer_, ghosts_;
  std::unique_ptr<Exchange> exchange_;  // ends before its buffers
};

}  // namespace

std::unique_ptr<Halo> packed(const HaloContext& c, MakeExchange make) {
  return std::make_unique<PackedHalo>(c, make);
}

std::vector<Message> messages(const std::vector<int>& ranks, const std::vector<std::int64_t>& offsets,
                              std::byte* buffer, std::int64_t entry_bytes) {
  std::vector<Message> out;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    out.push_back({ranks[i], buffer + offsets[i] * entry_bytes, (offsets[i + 1] - offsets[i]) * entry_bytes});
  return out;
}

void pack(std::span<const Index> indices, const void* from, void* to, std::int64_t entry_bytes) {
  const auto part = [&](std::int64_t first, std::int64_t last) {
    const auto some =
        indices.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    auto* out = static_cast<std::byte*>(to) + first * entry_bytes;
    if (entry_bytes == 8) return pack_words<std::uint64_t>(some, from, out);
    if (entry_bytes == 4) return pack_words<std::uint32_t>(some, from, out);
    if (entry_bytes == 1) return pack_words<std::uint8_t>(some, from, out);
    for (const auto i : some) {
      std::memcpy(out, static_cast<const std::byte*>(from) + i * entry_bytes,
                  static_cast<std::size_t>(entry_bytes));
      out += entry_bytes;
    }
  };
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto grain = std::max<std::int64_t>(1, kGrain / entry_bytes);
  if (count <= 2 * grain) part(0, count);
  else parallel_ranges(count, grain, part);
}

}  // namespace penstock::halo
