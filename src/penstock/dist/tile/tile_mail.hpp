#pragma once
#include <memory>
#include <vector>

#include "penstock/dist/tile/tile_sum.hpp"

namespace penstock {

/// Partial tiles on their way to who owns the tile: a queue on each rank, into which others write where a piece lies in
/// their arena (Brock et al., section 3.1.2). The owner is never interrupted: it looks into its queue when it has time. A
/// sender has a few places for pieces. While it waits for a free one it looks into its own queue, so that ranks cannot wait
/// for one another in a circle. A queue has as many slots as all ranks have places, and a place is free again only after its
/// slot has been cleared. So no slot is overwritten, no piece is lost or added twice, and a queue is never full. Slots are
/// words in host memory; the pieces may be in the memory of GPUs.
class TileMail {
 public:
  struct Options {
    std::int64_t piece_bytes = 4 << 20;
    int pieces = 4;
    bool sends = true;  // whether any rank sends pieces: otherwise there are no places
    /// Words of the arena for claims of work. Without counters and sends there is no arena.
    std::int64_t counters = 0;
  };
  /// Takes in a piece: of tile `number`, made of `products` products (where these are cut, parts) that no other piece speaks of.
  using Take =
      std::function<void(std::int64_t number, std::int64_t products, const std::byte*, std::int64_t bytes)>;
  /// `box` is what an earlier product left, the same on all ranks, or empty. Its transport is used if it is large enough, else
  /// given up. Collective where a transport is made.
  TileMail(std::shared_ptr<Comm> comm, const MakeTransport& make, Options options, Take take,
           std::shared_ptr<TileMailbox> box);
  /// Leaves the transport in the box, after a meeting of all ranks at which everything sent had been taken in. Before it is
  /// used again all meet once more.
  void leave();

  /// Sends a sum of `products` products of tile `number` to its owner.
  void send(int owner, std::int64_t number, std::int64_t products, TileSum& sum);
  /// Takes in the pieces that have come.
  void look();
  /// Claims by a counter of a rank: adds to it, and returns its value before.
  std::int64_t claim(int rank, std::int64_t counter, std::int64_t count) {
    return transport_->fetch_add({rank, counter * 8}, count);
  }
  std::int64_t read(int rank, std::int64_t counter) { return transport_->load({rank, counter * 8}); }

  std::int64_t sent() const { return sent_; }          // bytes
  std::int64_t received() const { return received_; }  // bytes
  double looking() const { return looking_; }          // seconds in look() where there was something

 private:
  std::int64_t state_at(int place) const { return states_ + place * 8; }
  std::int64_t place_at(int place) const { return places_ + place * place_bytes_; }
  int free_place();

  std::shared_ptr<Comm> comm_;
  Options options_;
  Take take_;
  /// The arena, in this order: counters of claims; the queue's tail; the queue; the states of places; the places. Where
  /// each begins, how many slots the queue has, the bytes of a place, and the bytes that words take.
  std::int64_t tail_ = 0, queue_ = 0, states_ = 0, places_ = 0;
  std::int64_t words_ = 0, place_bytes_ = 0, used_ = 0;
  std::shared_ptr<TileMailbox> box_;
  std::shared_ptr<Transport> transport_;
  std::int64_t head_ = 0;
  Array<std::byte> incoming_;
  std::int64_t sent_ = 0, received_ = 0;
  double looking_ = 0;
};

}  // namespace penstock
