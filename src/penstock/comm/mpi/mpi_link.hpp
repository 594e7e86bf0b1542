#pragma once
#include <algorithm>
#include <atomic>
#include <cstring>

#include "penstock/comm/comm.hpp"

namespace penstock {

/// One end of a message of an exchange by put(). The receiver has a box: a line with a count of pieces that have come, and
/// two places for them, in turn. The sender has a line with a count of pieces that have been copied out.
struct MpiLink {
  static constexpr std::int64_t kLine = 64;  // of a cache
  /// Among ranks of a node a long message goes in pieces, so that both of its copies are made within caches. Time over
  /// that of MPI_Isend and MPI_Irecv of 1.28 and 4 MB, both ways between two cores of an EPYC with 1 MiB of L2 each, by
  /// pieces of 128, 256, 512, 1024 KiB: 0.52, 0.52, 0.50, 1.5 and 0.83, 0.82, 0.71 to 1.07, 2.2; in one piece 0.51, 1.03.
  static constexpr std::int64_t kPiece = 256 << 10;

  MpiLink(const Message& m, bool shared, bool answered)
      : message(m),
        near(shared),
        most(near ? std::min(m.bytes, kPiece) : m.bytes),
        pieces((m.bytes + most - 1) / most),
        told(pieces > 1 || !answered) {}

  Message message;
  bool near;            // the other rank shares memory with this one
  std::int64_t most;    // bytes of a piece
  std::int64_t pieces;  // of a message
  /// The sender is told what has been copied out. It need not be where each message is one piece and the other rank sends
  /// one as well: with that it says that it had finished the exchange before.
  bool told;
  std::int64_t here = 0;               // line or box: where in this rank's part of the window,
  std::byte* mine = nullptr;           // and where in this process
  std::int64_t there = 0;              // of the other rank
  std::byte* theirs = nullptr;         // of a near one
  std::int64_t moved = 0;              // pieces written or copied out, of all exchanges
  void* request = nullptr;             // of a count on its way to a far one,
  std::int64_t count = 0, before = 0;  // it, and what it takes the place of

  std::int64_t room() const { return (most + kLine - 1) / kLine * kLine; }
  std::int64_t box_bytes() const { return kLine + 2 * room(); }
  std::int64_t place() const { return kLine + moved % 2 * room(); }  // of the next piece, in the box
  std::int64_t offset() const { return moved % pieces * most; }      // and in the message
  std::size_t bytes() const { return static_cast<std::size_t>(std::min(most, message.bytes - offset())); }

  static std::atomic_ref<std::int64_t> word(std::byte* at) {
    return std::atomic_ref(*reinterpret_cast<std::int64_t*>(at));
  }
  /// What the other rank has written here.
  std::int64_t counted() const { return word(mine).load(std::memory_order_acquire); }
};

}  // namespace penstock
