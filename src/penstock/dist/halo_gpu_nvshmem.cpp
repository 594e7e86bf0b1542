// NVSHMEM's host library: packed entries are put into the receiver's memory with a signal behind them, queued on the GPU.
// One process a GPU. Two buffers in turn: one is filled anew when its reader has signalled that it is empty. Nothing of the
// symmetric memory is ever freed, since that is collective and halos end when a rank likes; the next halo takes it over.
#include <algorithm>
#include <array>
#include <mutex>

#include "penstock/core/config.hpp"
#include "penstock/dist/bounded_wait.hpp"
#include "penstock/dist/gpu_clock.hpp"
#include "penstock/dist/halo_gpu.hpp"
#include "penstock/dist/library.hpp"
#include "penstock/dist/peer.hpp"
#include "penstock/kernel/gather.hpp"
#include "penstock/kernel/sweep.hpp"

namespace penstock {
namespace {

// What of the headers of NVSHMEM 3 is used here; the sizes are part of its interface.
struct UniqueId {
  int version = (1 << 16) + 128;
  char internal[124] = {};
};
struct UniqueIdArgs {
  int version = (1 << 16) + 24;
  UniqueId* id = nullptr;
  int rank = -1, ranks = -1;
};
struct InitArgs {
  int version = (1 << 16) + 128;
  UniqueIdArgs uid;
  char content[96] = {};
};
struct InitAttr {
  int version = (1 << 16) + 144;
  void* mpi_comm = nullptr;
  InitArgs args;
};
static_assert(sizeof(UniqueId) == 128 && sizeof(UniqueIdArgs) == 24 && sizeof(InitArgs) == 128 &&
              sizeof(InitAttr) == 144);
constexpr unsigned kWithUniqueId = 1 << 3;
constexpr int kGreaterEqual = 5, kSignalSet = 9;

struct Nvshmem {
  Nvshmem()
      : library("nvshmem", "libnvshmem_host.so.3", "PENSTOCK_NVSHMEM_LIB",
                "pip install nvidia-nvshmem-cu13") {
    library.find(version, "nvshmemx_vendor_get_version_info");
    library.find(unique_id, "nvshmemx_get_uniqueid");
    library.find(set_args, "nvshmemx_set_attr_uniqueid_args");
    library.find(init, "nvshmemx_hostlib_init_attr");
    library.find(allocate, "nvshmem_malloc");
    library.find(put_signal, "nvshmemx_putmem_signal_on_stream");
    library.find(signal, "nvshmemx_signal_op_on_stream");
    library.find(wait_signal, "nvshmemx_signal_wait_until_on_stream");
    int major = 0, minor = 0, patch = 0;
    version(&major, &minor, &patch);
    if (major != 3)
      throw Error(Errc::not_accessible,
                  "NVSHMEM " + std::to_string(major) + "." + std::to_string(minor) +
                      " was found, version 3 is needed: pip install nvidia-nvshmem-cu13");
  }
  Library library;
  void (*version)(int*, int*, int*) = nullptr;
  int (*unique_id)(UniqueId*) = nullptr;
  int (*set_args)(int, int, const UniqueId*, InitAttr*) = nullptr;
  int (*init)(unsigned, InitAttr*) = nullptr;
  void* (*allocate)(std::size_t) = nullptr;
  void (*put_signal)(void*, const void*, std::size_t, std::uint64_t*, std::uint64_t, int, int,
                     void*) = nullptr;
  void (*signal)(std::uint64_t*, std::uint64_t, int, int, void*) = nullptr;
  void (*wait_signal)(std::uint64_t*, int, std::uint64_t, void*) = nullptr;
};

const Nvshmem& nvshmem() {
  static const Nvshmem* const library = [] {
    set_unless_set("NVSHMEM_DISABLE_NVLS", "1");  // multicast needs rights that containers often lack
    return new Nvshmem;
  }();
  return *library;
}

/// Symmetric memory that a halo has, or had. Numbers of exchanges go on where its last user stopped: signals are late, not
/// lost, when a halo ends.
struct Block {
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;
  bool taken = false;
};

/// What NVSHMEM is to this process: started once, for the ranks of one Comm and one GPU.
struct World {
  int rank = -1, ranks = 0, gpu = -1;
  std::vector<std::unique_ptr<Block>> blocks;  // in the same order on all ranks: made collectively
};
World& world() {
  static auto* const it = new World;
  return *it;
}

void start(const HaloContext& c) {
  auto& w = world();
  auto& comm = *c.comm;
  std::string why;
  if (w.ranks != 0 && (w.rank != comm.rank() || w.ranks != comm.size() || w.gpu != c.where.gpu))
    why = "NVSHMEM was started for other ranks or another GPU: one process uses it for one group of ranks";
  require_everywhere(comm, why, "halo=\"nvshmem\"");
  std::int64_t started[] = {w.ranks != 0};
  comm.all_reduce(started, Reduce::min);
  if (started[0]) return;
  if (on_one_machine(comm)) {
    set_unless_set("NVSHMEM_REMOTE_TRANSPORT", "none");  // without a network it would fail to find one
    set_unless_set("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo");
  }
  const UseDevice use(c.where);
  UniqueId id;
  int status = comm.rank() == 0 ? nvshmem().unique_id(&id) : 0;
  require_everywhere(comm, status ? "nvshmemx_get_uniqueid gives " + std::to_string(status) : "",
                     "halo=\"nvshmem\"");
  comm.broadcast(&id, sizeof id, 0);
  static InitAttr attr;  // NVSHMEM keeps a pointer to the id in it
  static UniqueId kept;
  kept = id;
  status = nvshmem().set_args(comm.rank(), comm.size(), &kept, &attr);
  if (status == 0) status = nvshmem().init(kWithUniqueId, &attr);
  require_everywhere(comm, status ? "nvshmemx_hostlib_init_attr gives " + std::to_string(status) : "",
                     "halo=\"nvshmem\"");
  w.rank = comm.rank(), w.ranks = comm.size(), w.gpu = c.where.gpu;
}

/// A block of at least this size on all ranks. Collective; `bytes` is the same everywhere.
Block& take(const HaloContext& c, std::int64_t bytes, Stream stream) {
  auto& blocks = world().blocks;
  std::vector<std::int64_t> free;
  for (const auto& b : blocks) free.push_back(!b->taken && b->bytes >= bytes);
  c.comm->all_reduce(free, Reduce::min);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (free[i]) return blocks[i]->taken = true, *blocks[i];
  const UseDevice use(c.where);
  auto& b = *blocks.emplace_back(std::make_unique<Block>());
  b.memory = static_cast<std::byte*>(nvshmem().allocate(static_cast<std::size_t>(bytes)));
  require_everywhere(
      *c.comm,
      b.memory ? ""
               : "nvshmem_malloc of " + std::to_string(bytes) + " bytes failed: raise NVSHMEM_SYMMETRIC_SIZE",
      "halo=\"nvshmem\"");
  b.bytes = bytes, b.taken = true;
  fill_async(b.memory, 0, bytes, stream);
  synchronize(stream);
  c.comm->barrier();  // no signal before they are all zero
  return b;
}

constexpr std::int64_t up(std::int64_t n) { return (n + 255) / 256 * 256; }

class NvshmemHalo final : public GpuHalo {
 public:
  explicit NvshmemHalo(const HaloContext& c) : GpuHalo(c), done_{OwnedEvent(c.where), OwnedEvent(c.where)} {
    std::array<std::int64_t, 2> most{plan().ghosts() * entry(), plan().sent() * entry()};
    comm().all_reduce(most, Reduce::max);
    buffer_bytes_ = up(most[0]);
    const auto signal_bytes = up(comm().size() * 8);
    block_ = &take(c, 2 * buffer_bytes_ + up(most[1]) + 2 * signal_bytes, mine_);
    packed_ = block_->memory + 2 * buffer_bytes_;
    // The signals lie at the end of the block, where they are for all of its users.
    emptied_ = reinterpret_cast<std::uint64_t*>(block_->memory + block_->bytes - signal_bytes);
    arrived_ = reinterpret_cast<std::uint64_t*>(block_->memory + block_->bytes - 2 * signal_bytes);
    indices_ = indices_in(device_place(c.where));
    first_ = places_at_others(comm(), plan(), true);
    base_ = block_->number;
    // Signals of a user before may lag behind: the buffers are empty only when all ranks have come by here.
    synchronize(Stream(mine_));
    comm().barrier();
  }
  ~NvshmemHalo() override { abandon(); }
  NvshmemHalo(const NvshmemHalo&) = delete;
  NvshmemHalo& operator=(const NvshmemHalo&) = delete;

  void begin(const void* x, Stream stream) override {
    const HostClock clock;
    if (!block_) throw Error(Errc::comm, "this exchange was given up after an error: make the matrix anew");
    const auto k = ++block_->number;
    const auto mine = k - base_;  // of this halo's exchanges
    if (mine > 2) synchronize_with(comm(), done_[k % 2], "an exchange of NVSHMEM");
    times_.wait += clock.seconds();
    follow(stream);
    gather(x, indices_.data, plan().sent(), entry(), packed_, mine_);
    const UseDevice use(where());
    void* queue = Stream(mine_).handle;
    const auto list = sends(packed_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto& m = list[i];
      if (mine > 2) nvshmem().wait_signal(emptied_ + m.rank, kGreaterEqual, k - 2, queue);
      nvshmem().put_signal(buffer(k) + first_[i] * entry(), m.data, static_cast<std::size_t>(m.bytes),
                           arrived_ + comm().rank(), k, kSignalSet, m.rank, queue);
    }
  }

  void end(Stream stream) override {
    const auto k = block_->number;
    void* queue = Stream(mine_).handle;
    {
      const UseDevice use(where());
      for (const int rank : plan().receive_ranks)
        nvshmem().wait_signal(arrived_ + rank, kGreaterEqual, k, queue);
      copy_async(ghosts_.data, buffer(k), ghosts_.size, mine_);
      for (const int rank : plan().receive_ranks)
        nvshmem().signal(emptied_ + comm().rank(), k, kSignalSet, rank, queue);
    }
    record(done_[k % 2], mine_);
    wait(stream, done_[k % 2]);
    count_exchange();
  }

  void abandon() noexcept override {
    if (!block_) return;
    const auto ended = [&] {
      try {
        return block_->number == base_ || is_done(done_[block_->number % 2]);
      } catch (const Error&) {
        return true;
      }
    };
    for (int i = 0; i < 1000 && !ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // An exchange that never ends keeps its block, so that no other writes there.
    if (ended()) drain(mine_), block_->taken = false;
    block_ = nullptr;
  }

 private:
  std::byte* buffer(std::uint64_t k) const {
    return block_->memory + static_cast<std::int64_t>(k % 2) * buffer_bytes_;
  }
  Block* block_ = nullptr;
  std::int64_t buffer_bytes_ = 0;
  std::byte* packed_ = nullptr;
  std::uint64_t *arrived_ = nullptr, *emptied_ = nullptr;
  std::uint64_t base_ = 0;
  std::vector<std::int64_t> first_;
  Array<const Index> indices_;
  OwnedEvent done_[2];
};

}  // namespace

std::unique_ptr<GpuHalo> halo_gpu_nvshmem(const HaloContext& c) {
  std::string why;
  try {
    if constexpr (!have_cuda)
      throw Error(Errc::not_compiled, "this build has no CUDA: build it with a toolkit, or choose sync");
    if (c.comm->one_process() && c.comm->size() > 1)
      throw Error(Errc::not_accessible,
                  "NVSHMEM has one process a GPU, and these ranks are threads of one: choose peer");
    nvshmem();
  } catch (const Error& e) {
    why = e.what();
  }
  require_everywhere(*c.comm, why, "halo=\"nvshmem\"");
  require_own_gpus(c, "nvshmem");
  start(c);
  return std::make_unique<NvshmemHalo>(c);
}

}  // namespace penstock
