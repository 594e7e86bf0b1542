// Each rank packs into its own memory, two buffers in turn, and its neighbours copy from there over NVLink once its event
// says that they may. The ranks are threads of one process, or processes of one machine (CUDA's inter-process
// communication). x may change as soon as it is packed, and no host waits for a reader: a buffer is used again two exchanges
// later.
#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr int kBuffers = 2;
constexpr std::int64_t kAlign = 256;

/// What a rank shows the others. `packed` says that a buffer is full, `read` that this rank has copied what it needs from the
/// buffers with this number of its neighbours.
struct Shown {
  Shown(Array<std::byte> bytes, bool between_processes, Where where)
      : memory(std::move(bytes)),
        packed{make(between_processes, where), make(between_processes, where)},
        read{make(between_processes, where), make(between_processes, where)} {}
  static OwnedEvent make(bool between_processes, Where where) {
    return OwnedEvent(between_processes && where.is_gpu() ? make_shared_event(where) : make_event(where));
  }
  Array<std::byte> memory;
  OwnedEvent packed[kBuffers], read[kBuffers];
};

/// The same as plain bytes, which can be sent to other processes.
struct Handles {
  GpuHandle memory, packed[kBuffers], read[kBuffers];
  std::int64_t buffer_bytes;
};

/// Memory that another process may still have open must not be freed: it stays until the process ends.
void keep_for_good(std::shared_ptr<Shown> shown) {
  static std::mutex lock;
  static auto* const kept = new std::vector<std::shared_ptr<Shown>>;
  const std::lock_guard guard(lock);
  kept->push_back(std::move(shown));
}

/// A neighbour as this rank sees it: its buffers and events, here or opened.
struct Neighbour {
  const std::byte* memory = nullptr;
  std::int64_t buffer_bytes = 0;
  Event packed[kBuffers], read[kBuffers];
};

class PeerPackedHalo final : public GpuHalo {
 public:
  explicit PeerPackedHalo(const HaloContext& c) : GpuHalo(c) {
    const bool apart = !comm().one_process();
    if (apart)
      require_everywhere(comm(),
                         !on_one_machine(comm())
                             ? "the ranks run on several machines: choose index_pinned or nvshmem"
                         : !where().is_gpu() ? "ranks that are processes share the memory of GPUs only"
                                             : "",
                         "halo=\"peer\"");
    buffer_bytes_ = (plan().sent() * entry() + kAlign - 1) / kAlign * kAlign;
    auto bytes = kBuffers * buffer_bytes_;
    if (apart) bytes = (std::max<std::int64_t>(bytes, 1) + kSharedPiece - 1) / kSharedPiece * kSharedPiece;
    own_ = std::make_shared<Shown>(allocate_shared_array(bytes, device_place(where())), apart, where());
    indices_ = indices_in(device_place(where()));
    first_ = places_at_others(comm(), plan(), false);
    apart ? open_neighbours() : find_neighbours();
    connect();
  }
  ~PeerPackedHalo() override { drain(mine_); }
  PeerPackedHalo(const PeerPackedHalo&) = delete;
  PeerPackedHalo& operator=(const PeerPackedHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    const HostClock clock;
    const auto b = static_cast<std::size_t>(++number_ % kBuffers);
    if (number_ > kBuffers)
      for (const auto& r : receivers_) wait(mine_, r.read[b]);
    follow(stream);
    gather(x, indices_.data, plan().sent(), entry(),
           own_->memory.data + static_cast<std::int64_t>(b) * buffer_bytes_, mine_);
    record(own_->packed[b], mine_);
    words_->start();
    times_.wait += clock.seconds();
  }

  void end(Stream stream) override {
    const HostClock clock;
    const auto b = static_cast<std::size_t>(number_ % kBuffers);
    words_->finish();
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      const auto& s = senders_[i];
      const auto first = plan().receive_offsets[i] * entry(), last = plan().receive_offsets[i + 1] * entry();
      wait(mine_, s.packed[b]);
      copy_async(ghosts_.data + first,
                 s.memory + static_cast<std::int64_t>(b) * s.buffer_bytes + first_[i] * entry(), last - first,
                 mine_);
    }
    record(own_->read[b], mine_);
    wait(stream, own_->read[b]);  // ordered after the packing: x may be overwritten, too
    times_.wait += clock.seconds();
    count_exchange();
  }

 private:
  /// In each exchange a word goes to and comes from every neighbour. It says: the event of my buffer is recorded, and so is the
  /// event of my reads in the exchange before. So an event is recorded before anyone waits for it, and all have waited for it
  /// before it is recorded again.
  void connect() {
    std::vector<int> all;
    std::ranges::set_union(plan().send_ranks, plan().receive_ranks, std::back_inserter(all));
    said_.assign(all.size(), std::byte{1}), heard_ = said_;
    std::vector<Message> out, in;
    for (std::size_t i = 0; i < all.size(); ++i) {
      out.push_back({all[i], said_.data() + i, 1});
      in.push_back({all[i], heard_.data() + i, 1});
    }
    words_ = comm().persistent(std::move(out), std::move(in));
  }

  void find_neighbours() {
    shown_ = comm().share(own_);
    const auto see = [&](int rank) {
      const auto& s = *static_cast<const Shown*>(shown_[static_cast<std::size_t>(rank)].get());
      return Neighbour{
          s.memory.data, s.memory.size / kBuffers, {s.packed[0], s.packed[1]}, {s.read[0], s.read[1]}};
    };
    for (const int rank : plan().receive_ranks) senders_.push_back(see(rank));
    for (const int rank : plan().send_ranks) receivers_.push_back(see(rank));
  }

  void open_neighbours() {
    keep_for_good(own_);
    std::string why;
    Handles mine{};
    mine.buffer_bytes = buffer_bytes_;
    std::vector<Handles> all(static_cast<std::size_t>(comm().size()));
    try {
      mine.memory = share_memory(own_->memory.data);
      for (int b = 0; b < kBuffers; ++b)
        mine.packed[b] = share_event(own_->packed[b]), mine.read[b] = share_event(own_->read[b]);
    } catch (const Error& e) {
      why = e.what();
    }
    comm().all_gather(&mine, sizeof mine, all.data());
    require_everywhere(comm(), why, "halo=\"peer\"");
    const auto open_events = [&](const Handles& h, Neighbour& n, bool sender) {
      for (int b = 0; b < kBuffers; ++b) {
        auto& event = opened_events_.emplace_back(
            std::make_unique<OwnedEvent>(open_event(sender ? h.packed[b] : h.read[b], where())));
        (sender ? n.packed[b] : n.read[b]) = *event;
      }
    };
    try {
      for (const int rank : plan().receive_ranks) {
        const auto& h = all[static_cast<std::size_t>(rank)];
        auto& n = senders_.emplace_back();
        n.memory = static_cast<const std::byte*>(opened_.emplace_back(open_memory(h.memory, where())).get());
        n.buffer_bytes = h.buffer_bytes;
        open_events(h, n, true);
      }
      for (const int rank : plan().send_ranks)
        open_events(all[static_cast<std::size_t>(rank)], receivers_.emplace_back(), false);
    } catch (const Error& e) {
      why = e.what();
    }
    require_everywhere(comm(), why, "halo=\"peer\" between processes");
  }

  std::int64_t buffer_bytes_ = 0, number_ = 0;
  std::shared_ptr<Shown> own_;
  /// Keeps the neighbours' memory and events as long as this rank may read them.
  std::vector<std::shared_ptr<void>> shown_;
  Array<const Index> indices_;
  std::vector<std::int64_t> first_;
  std::vector<std::shared_ptr<void>> opened_;
  std::vector<std::unique_ptr<OwnedEvent>> opened_events_;
  std::vector<Neighbour> senders_, receivers_;
  std::vector<std::byte> said_, heard_;
  std::unique_ptr<Exchange> words_;
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_peer_packed(const HaloContext& c) {
  if (c.comm->one_process()) require_peers(c, "peer_packed");
  return std::make_unique<PeerPackedHalo>(c);
}

}  // namespace penstock
