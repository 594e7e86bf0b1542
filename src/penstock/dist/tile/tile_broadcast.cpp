#include "penstock/dist/tile/tile_broadcast.hpp"

#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/peer.hpp"

namespace penstock {
namespace {

constexpr std::string_view kBroadcast = "SUMMA on GPUs";

}  // namespace

struct TileBroadcasts::Line {
  std::shared_ptr<Comm> ranks;
  std::shared_ptr<NcclTeam> team;  // NCCL alone, and where there is more than one rank
};

TileBroadcasts::TileBroadcasts(std::shared_ptr<Comm> all, std::shared_ptr<Comm> row,
                               std::shared_ptr<Comm> col, Where where)
    : all_(std::move(all)), where_(where), by_(all_->name()) {
  lines_.push_back({std::move(row), nullptr});
  lines_.push_back({std::move(col), nullptr});
  if (!where_.is_gpu()) return;
  stream_.emplace(where_);
  done_.emplace(where_);
  if (gpu_owners(*all_, where_, kBroadcast).shared) {
    by_ = "pinned";
    return;
  }
  by_ = "nccl";
  if (all_->size() == 1) return;
  require_nccl(*all_, kBroadcast);
  for (auto& line : lines_) {
    const auto owners = gpu_owners(*line.ranks, where_, kBroadcast);
    if (line.ranks->size() > 1) line.team = nccl_team(*line.ranks, where_, owners.members, kBroadcast);
  }
}

TileBroadcasts::~TileBroadcasts() {
  if (!stream_) return;
  if (under_way_)
    for (auto& line : lines_)
      if (line.team) end_or_abort(*line.team, *stream_);
  drain(*stream_);
}

/// Where ranks are threads and one of them allocates or frees memory of its GPU, the driver also waits for the kernels of the
/// others, and these may wait for a broadcast that this rank has not queued yet. So no rank queues a broadcast before all have
/// come, and no rank goes on before all broadcasts are done.
void TileBroadcasts::meet() {
  if (by_ == "nccl" && all_->one_process()) all_->barrier();
}

void TileBroadcasts::run(std::span<const BroadcastTile> along_row, std::span<const BroadcastTile> along_col) {
  const std::span<const BroadcastTile> tiles[] = {along_row, along_col};
  for (std::size_t n = 0; n < lines_.size(); ++n) {
    auto& line = lines_[n];
    if (line.ranks->size() == 1) continue;  // on all ranks
    meet();
    if (by_ != "nccl") {
      by_comm(line, tiles[n]);
    } else if (!tiles[n].empty()) {
      under_way_ = true;
      by_nccl(line, tiles[n]);
      record(*done_, *stream_);
      synchronize_with(*all_, *done_, "broadcasts of tiles");
      under_way_ = false;
    }
  }
  if (all_->size() > 1) meet();
}

void TileBroadcasts::by_comm(Line& line, std::span<const BroadcastTile> tiles) {
  auto& ranks = *line.ranks;
  for (const auto& tile : tiles) {
    if (!where_.is_gpu()) {
      ranks.broadcast(tile.data, tile.bytes, tile.root);
      continue;
    }
    if (pinned_.size < tile.bytes) pinned_ = allocate<std::byte>(tile.bytes, {Memory::pinned});
    const bool mine = ranks.rank() == tile.root;
    if (mine) {
      copy_async(pinned_.data, tile.data, tile.bytes, *stream_);
      synchronize(*stream_);
    }
    ranks.broadcast(pinned_.data, tile.bytes, tile.root);
    if (mine) continue;
    copy_async(tile.data, pinned_.data, tile.bytes, *stream_);
    synchronize(*stream_);
  }
}

void TileBroadcasts::by_nccl(Line& line, std::span<const BroadcastTile> tiles) {
  if (!line.team || !line.team->handle)
    throw Error(Errc::comm, "NCCL was given up after an error: make the tiles and the product anew");
  line.team->require_well();
  const UseDevice use(where_);
  nccl().check(nccl().group_start(), "ncclGroupStart");
  int status = Nccl::kSuccess;
  const auto note = [&](int s) { status = status == Nccl::kSuccess ? s : status; };
  for (const auto& tile : tiles)
    note(nccl().broadcast(tile.data, tile.data, static_cast<std::size_t>(tile.bytes), Nccl::kBytes, tile.root,
                          line.team->handle, Stream(*stream_).handle));
  note(nccl().group_end());
  nccl().check(status, "ncclBroadcast");
}

}  // namespace penstock
