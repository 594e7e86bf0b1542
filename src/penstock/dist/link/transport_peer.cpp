// A transport between GPUs that reach one another's memory. Ranks that are threads tell one another their addresses.
// Processes of one machine open one another's memory (CUDA's inter-process communication). No rank may free memory that
// another one has open, so the memory of a transport that has ended is kept until the next one is made: then all ranks agree
// on which of it no rank uses any more.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/device_transport.hpp"
#include "penstock/dist/link/peer.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// What has gone wrong on this rank, to be told to all.
struct Trouble {
  template <class F>
  void attempt(F&& f) {
    if (!why.empty()) return;
    try {
      f();
    } catch (const Error& e) {
      why = e.what(), code = e.code();
    }
  }
  void agree(Comm& comm) const { require_everywhere(comm, why, transport_text("peer"), code); }
  std::string why;
  Errc code = Errc::not_accessible;
};

void clear(std::byte* memory, std::int64_t bytes, Where where) {
  if (bytes == 0) return;
  const OwnedStream stream(where);
  fill_async(memory, 0, bytes, stream);
  synchronize(Stream(stream));
}

// Threads

/// Those of all ranks; they are kept as long as a rank may use them.
using Arenas = std::vector<std::shared_ptr<void>>;

/// Memory comes from a cache: an arena is made for every product, and given up once no copy goes to it any more.
DeviceArenas among_threads(Comm& comm, std::int64_t bytes, std::int64_t zeroed, Where where) {
  std::vector<int> all(static_cast<std::size_t>(comm.size()));
  std::iota(all.begin(), all.end(), 0);
  Trouble trouble;
  trouble.attempt([&] { const UseDevice exists(where); });
  trouble.agree(comm);  // before any rank uses another one's GPU
  const auto out_of_reach = why_unreachable(comm, where, all, "transport=\"local\" on the CPU");
  if (trouble.why.empty()) trouble.why = out_of_reach;
  std::shared_ptr<void> mine;
  trouble.attempt([&] {
    mine = reuse_shared(bytes, device_place(where));
    clear(static_cast<std::byte*>(mine.get()), zeroed, where);
  });
  trouble.agree(comm);
  const auto kept = std::make_shared<Arenas>(comm.share(std::move(mine)));
  DeviceArenas arenas{{}, kept};
  for (const auto& arena : *kept) arenas.at.push_back(static_cast<std::byte*>(arena.get()));
  return arenas;
}

// Processes

struct ArenaBlock {
  Array<std::byte> memory;
  std::vector<std::shared_ptr<void>> opened;
  std::vector<std::byte*> at;
  std::atomic<bool> taken = true;
};
/// The blocks of the same ranks on the same GPUs; in the same order on all ranks, because they are made collectively.
using ArenaBlocks = std::vector<std::shared_ptr<ArenaBlock>>;

ArenaBlocks& blocks_of(const std::string& members) {
  static std::mutex lock;
  // Never freed: other processes may have these open to the end.
  static auto* const all = new std::map<std::string, ArenaBlocks>;
  const std::lock_guard guard(lock);
  return (*all)[members];
}

/// A block that no rank uses and that is at most twice as large as needed; other blocks that no rank uses are freed.
std::shared_ptr<ArenaBlock> take_old(Comm& comm, ArenaBlocks& blocks, std::int64_t bytes) {
  if (blocks.empty()) return nullptr;
  std::vector<std::int64_t> free;
  for (const auto& b : blocks) free.push_back(!b->taken.load(std::memory_order_acquire));
  comm.all_reduce(free, Reduce::min);
  std::shared_ptr<ArenaBlock> found;
  ArenaBlocks kept, gone;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& b = blocks[i];
    const bool fits = b->memory.size >= bytes && b->memory.size <= 2 * bytes;
    if (free[i] && fits && !found) found = b;
    (free[i] && b != found ? gone : kept).push_back(b);
  }
  for (const auto& b : gone) b->opened.clear();
  comm.barrier();  // all have closed it: its owner may free it
  blocks = std::move(kept);
  if (found) found->taken = true;
  return found;
}

std::shared_ptr<ArenaBlock> make_new(Comm& comm, std::int64_t bytes, Where where) {
  const auto block = std::make_shared<ArenaBlock>();
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<GpuHandle> handles(ranks);
  GpuHandle mine{};
  Trouble trouble;
  trouble.attempt([&] {
    block->memory = allocate_shared_array(bytes, device_place(where));
    mine = share_memory(block->memory.data);
  });
  trouble.agree(comm);
  comm.all_gather(&mine, sizeof mine, handles.data());
  trouble.attempt([&] {
    for (std::size_t r = 0; r < ranks; ++r) {
      if (static_cast<int>(r) == comm.rank()) block->at.push_back(block->memory.data);
      else
        block->at.push_back(
            static_cast<std::byte*>(block->opened.emplace_back(open_memory(handles[r], where)).get()));
    }
  });
  try {
    trouble.agree(comm);
  } catch (const Error&) {
    block->opened.clear();
    comm.barrier();  // before any of it is freed
    throw;
  }
  return block;
}

DeviceArenas among_processes(Comm& comm, std::int64_t bytes, std::int64_t zeroed, Where where) {
  Trouble trouble;
  const bool together = on_one_machine(comm);
  if (!where.is_gpu())
    trouble.why = "arenas in host memory are for ranks that are threads: choose mpi_rma, or give a device=";
  else if (!together) trouble.why = "the ranks run on several machines: choose nvshmem";
  trouble.agree(comm);
  auto& blocks = blocks_of(members(comm, std::to_string(where.gpu)));
  const auto whole = (std::max<std::int64_t>(bytes, 1) + kSharedPiece - 1) / kSharedPiece * kSharedPiece;
  auto block = take_old(comm, blocks, whole);
  if (!block) blocks.push_back(block = make_new(comm, whole, where));
  trouble.attempt([&] { clear(block->memory.data, zeroed, where); });
  std::shared_ptr<void> lease(block.get(), [block](void*) { block->taken = false; });
  trouble.agree(comm);
  return {block->at, std::move(lease)};
}

}  // namespace

std::shared_ptr<Transport> make_peer_transport(std::shared_ptr<Comm> comm, std::int64_t bytes,
                                               std::int64_t zeroed, Where where) {
  auto arenas = comm->one_process() ? among_threads(*comm, bytes, zeroed, where)
                                    : among_processes(*comm, bytes, zeroed, where);
  return std::make_shared<DeviceTransport>("peer", std::move(comm), std::move(arenas), bytes, zeroed, where);
}

}  // namespace penstock
