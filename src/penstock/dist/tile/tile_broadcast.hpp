#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/comm/comm.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/dist/link/nccl.hpp"

// The broadcasts of SUMMA: tiles, along the rows and the columns of the grid at the same time.
namespace penstock {

/// A tile that all ranks of a row or column get from one of them.
struct BroadcastTile {
  std::byte* data = nullptr;  // on the device: at the root the tile, at the other ranks where it goes
  std::int64_t bytes = 0;
  int root = 0;
};

/// One object a rank, of the whole grid. In host memory by the Comm of a row or column; on GPUs by NCCL, which must be
/// there, unless two ranks share a GPU, which it cannot do: then through pinned host memory. Collective. Throws
/// Error{not_accessible} or Error{not_compiled} with the remedy on all ranks.
class TileBroadcasts {
 public:
  TileBroadcasts(std::shared_ptr<Comm> all, std::shared_ptr<Comm> row, std::shared_ptr<Comm> col,
                 Where where);
  ~TileBroadcasts();
  TileBroadcasts(const TileBroadcasts&) = delete;
  TileBroadcasts& operator=(const TileBroadcasts&) = delete;

  const std::string& by() const { return by_; }  // "threads", "MPI (...)", "nccl", "pinned"
  /// Broadcasts tiles. All ranks of a row give the same tiles, apart from `data`, and so do those of a column. All tiles have
  /// come on return. Collective over the grid. Throws Error{comm} where a rank fails or does not come.
  void run(std::span<const BroadcastTile> along_row, std::span<const BroadcastTile> along_col);

 private:
  struct Line;  // a row or column
  void by_comm(Line& line, std::span<const BroadcastTile> tiles);
  void by_nccl(Line& line, std::span<const BroadcastTile> tiles);
  void meet();

  std::shared_ptr<Comm> all_;
  std::vector<Line> lines_;
  Where where_;
  std::string by_;
  std::optional<OwnedStream> stream_;
  std::optional<OwnedEvent> done_;
  Array<std::byte> pinned_;
  bool under_way_ = false;
};

}  // namespace penstock
