// NVSHMEM without its headers: the library is opened when it is first needed, and started once for the ranks of one Comm. All
// symmetric memory is taken and freed by all ranks together, so blocks are kept, and later users take over blocks that all
// ranks have done with.
#include "penstock/dist/link/nvshmem.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/peer.hpp"

namespace penstock {
namespace {

// The part of the headers of NVSHMEM 3 that is used here; the sizes are part of its interface.
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

/// NVSHMEM in this process: it is started once, for the ranks of one Comm and one GPU.
struct World {
  int rank = -1, ranks = 0, gpu = -1;
  std::vector<std::unique_ptr<SymmetricBlock>> blocks;  // in the same order on all ranks: made collectively
};
World& world() {
  static auto* const one = new World;
  return *one;
}

}  // namespace

Nvshmem::Nvshmem()
    : library("nvshmem", "libnvshmem_host.so.3", "PENSTOCK_NVSHMEM_LIB", "pip install nvidia-nvshmem-cu13") {
  library.find(version, "nvshmemx_vendor_get_version_info");
  library.find(unique_id, "nvshmemx_get_uniqueid");
  library.find(set_args, "nvshmemx_set_attr_uniqueid_args");
  library.find(init, "nvshmemx_hostlib_init_attr");
  library.find(allocate, "nvshmem_malloc");
  library.find(free, "nvshmem_free");
  library.find(pointer, "nvshmem_ptr");
  library.find(get, "nvshmemx_getmem_on_stream");
  library.find(put, "nvshmemx_putmem_on_stream");
  library.find(quiet, "nvshmemx_quiet_on_stream");
  library.find(put_signal, "nvshmemx_putmem_signal_on_stream");
  library.find(signal, "nvshmemx_signal_op_on_stream");
  library.find(wait_signal, "nvshmemx_signal_wait_until_on_stream");
  int major = 0, minor = 0, patch = 0;
  version(&major, &minor, &patch);
  if (major != 3)
    throw Error(Errc::not_accessible, "NVSHMEM " + std::to_string(major) + "." + std::to_string(minor) +
                                          " was found, version 3 is needed: pip install "
                                          "nvidia-nvshmem-cu13");
}

const Nvshmem& nvshmem() {
  static const Nvshmem* const library = [] {
    set_unless_set("NVSHMEM_DISABLE_NVLS", "1");  // multicast needs rights that containers often lack
    return new Nvshmem;
  }();
  return *library;
}

void start_nvshmem(Comm& comm, Where where, std::string_view task) {
  std::string why;
  try {
    if constexpr (!have_cuda) no_cuda("NVSHMEM");
    if (comm.one_process() && comm.size() > 1)
      throw Error(Errc::not_accessible,
                  "NVSHMEM has one process a GPU, and these ranks are threads of one: choose peer");
    nvshmem();
  } catch (const Error& e) {
    why = e.what();
  }
  require_everywhere(comm, why, task);
  require_own_gpus(comm, where, task);
  auto& w = world();
  if (w.ranks != 0 && (w.rank != comm.rank() || w.ranks != comm.size() || w.gpu != where.gpu))
    why = "NVSHMEM was started for other ranks or another GPU: one process uses it for one group of ranks";
  require_everywhere(comm, why, task);
  std::int64_t started[] = {w.ranks != 0};
  comm.all_reduce(started, Reduce::min);
  if (started[0]) return;
  if (on_one_machine(comm)) {
    // Else it would look for a network and fail where there is none.
    set_unless_set("NVSHMEM_REMOTE_TRANSPORT", "none");
    set_unless_set("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo");
  }
  const UseDevice use(where);
  UniqueId id;
  int status = comm.rank() == 0 ? nvshmem().unique_id(&id) : 0;
  require_everywhere(comm, status ? "nvshmemx_get_uniqueid gives " + std::to_string(status) : "", task);
  comm.broadcast(&id, sizeof id, 0);
  static InitAttr attr;  // NVSHMEM keeps a pointer to the id in it
  static UniqueId kept;
  kept = id;
  status = nvshmem().set_args(comm.rank(), comm.size(), &kept, &attr);
  if (status == 0) status = nvshmem().init(kWithUniqueId, &attr);
  require_everywhere(comm, status ? "nvshmemx_hostlib_init_attr gives " + std::to_string(status) : "", task);
  w.rank = comm.rank(), w.ranks = comm.size(), w.gpu = where.gpu;
}

SymmetricBlock& take_symmetric(Comm& comm, std::int64_t bytes, SymmetricUse use, Stream stream,
                               std::string_view task) {
  auto& blocks = world().blocks;
  std::vector<std::int64_t> free;
  for (const auto& b : blocks) free.push_back(!b->taken && b->use == use);
  if (!free.empty()) comm.all_reduce(free, Reduce::min);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (free[i] && blocks[i]->bytes >= bytes && (use == SymmetricUse::halo || blocks[i]->bytes <= 2 * bytes))
      return blocks[i]->taken = true, *blocks[i];
  const UseDevice current(stream.where);
  if (use == SymmetricUse::arena) {
    std::vector<std::unique_ptr<SymmetricBlock>> kept;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (free[i]) nvshmem().free(blocks[i]->memory);
      else kept.push_back(std::move(blocks[i]));
    }
    blocks = std::move(kept);
  }
  auto b = std::make_unique<SymmetricBlock>();
  b->memory = static_cast<std::byte*>(nvshmem().allocate(static_cast<std::size_t>(bytes)));
  require_everywhere(comm,
                     b->memory ? ""
                               : "nvshmem_malloc of " + std::to_string(bytes) +
                                     " bytes failed: raise NVSHMEM_SYMMETRIC_SIZE",
                     task, Errc::out_of_memory);
  b->bytes = bytes, b->use = use, b->taken = true;
  fill_async(b->memory, 0, bytes, stream);
  synchronize(stream);
  comm.barrier();  // no rank signals before all signals are zero
  return *blocks.emplace_back(std::move(b));
}

}  // namespace penstock
