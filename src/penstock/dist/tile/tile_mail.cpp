#include "penstock/dist/tile/tile_mail.hpp"

#include <algorithm>
#include <utility>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/transport_gpu.hpp"
#include "penstock/dist/tile/one_sided.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Bytes of a slot of a queue. Its three words are where a piece lies, the number of its tile, and its number of products.
constexpr std::int64_t kSlot = 24;
/// The states of a place for a piece.
constexpr std::int64_t kFree = 0, kTaken = 1;
/// The bits of a slot's first word that hold the bytes of the piece and its place; the rest is the sender's rank plus one.
constexpr int kBytesBits = 34, kPlaceBits = 8;
/// An arena has at least so many bytes of words: a later product may need more of them than this one, and finds them there.
constexpr std::int64_t kLeastWords = 16 << 10;
std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

TileMail::TileMail(std::shared_ptr<Comm> comm, const MakeTransport& make, Options options, Take take,
                   std::shared_ptr<TileMailbox> box)
    : comm_(std::move(comm)), options_(options), take_(std::move(take)), box_(std::move(box)) {
  require(options.piece_bytes >= 1024 && options.piece_bytes < (std::int64_t{1} << 33),
          "pieces of tiles have 1024 to 2^33 bytes, not " + std::to_string(options.piece_bytes));
  require(options.pieces >= 1 && options.pieces < (1 << kPlaceBits),
          "a rank has 1 to 255 places for pieces, not " + std::to_string(options.pieces));
  require(comm_->size() < (1 << 20), "tiles are multiplied by fewer than 2^20 ranks");
  words_ = std::int64_t{comm_->size()} * options.pieces;
  tail_ = options.counters * 8;
  queue_ = tail_ + 8;
  states_ = queue_ + words_ * kSlot;
  places_ = whole_lines(states_ + options.pieces * 8);
  place_bytes_ = whole_lines(options.piece_bytes);
  const bool places = options.sends && comm_->size() > 1;
  if (!places && options.counters == 0) return;
  const int wanted = places ? options.pieces : 0;
  if (!box_->transport || box_->words < places_ || box_->places < wanted ||
      (places && box_->place_bytes < place_bytes_)) {
    *box_ = {};  // frees its memory before more is taken
    const auto words = std::max(places_, kLeastWords);
    *box_ = {make(comm_, words + wanted * place_bytes_, words), words, place_bytes_, wanted};
  }
  transport_ = std::exchange(box_->transport, nullptr);  // a product that fails leaves no transport
  require(!on_device(*transport_) || places_ <= kWordBytes, [&] {
    return "claims of " + std::to_string(options.counters) + " products a rank, and a queue of " +
           std::to_string(words_) + " pieces, take " + std::to_string(places_) +
           " bytes: between devices there are " + std::to_string(kWordBytes) +
           ": cut larger tiles, or do not steal";
  });
  used_ = places_, places_ = box_->words;
}

void TileMail::leave() {
  if (!transport_) return;
  transport_->clear(used_);
  box_->transport = std::move(transport_);
}

int TileMail::free_place() {
  int found = -1;
  const auto look_for = [&] {
    for (int p = 0; p < options_.pieces && found < 0; ++p)
      if (transport_->load({comm_->rank(), state_at(p)}) == kFree) found = p;
    if (found < 0) look();
    return found >= 0;
  };
  wait_until(*comm_, look_for, "a rank to take in a part of one of its tiles");
  return found;
}

void TileMail::send(int owner, std::int64_t number, std::int64_t products, TileSum& sum) {
  const auto me = comm_->rank();
  sum.pieces(options_.piece_bytes, [&](std::int64_t bytes, const TileSum::Write& write, bool last) {
    const auto place = free_place();
    write(transport_->arena() + place_at(place));
    transport_->store({me, state_at(place)}, kTaken);
    const auto slot = queue_ + transport_->fetch_add({owner, tail_}, 1) % words_ * kSlot;
    const auto word =
        ((std::int64_t{me} + 1) << (kPlaceBits + kBytesBits)) | (std::int64_t{place} << kBytesBits) | bytes;
    transport_->store({owner, slot + 8}, number);
    transport_->store({owner, slot + 16}, last ? products : 0);
    transport_->store({owner, slot}, word);
    sent_ += bytes;
  });
}

void TileMail::look() {
  if (!transport_) return;
  const auto me = comm_->rank();
  LapClock clock;
  while (true) {
    const RemotePtr at{me, queue_ + head_ % words_ * kSlot};
    const auto word = transport_->load(at);
    if (word == 0) return;
    const auto number = transport_->load({me, at.offset + 8}),
               products = transport_->load({me, at.offset + 16});
    transport_->store(at, 0);
    ++head_;
    const auto from = static_cast<int>((word >> (kPlaceBits + kBytesBits)) - 1);
    const auto place = static_cast<int>(word >> kBytesBits & ((1 << kPlaceBits) - 1));
    const auto bytes = word & ((std::int64_t{1} << kBytesBits) - 1);
    if (incoming_.size < bytes) {
      const auto place = device_place(transport_->where());
      incoming_ = {};
      const auto memory = reuse_bytes(bytes, place);
      incoming_ = {static_cast<std::byte*>(memory.get()), bytes, place, memory};
    }
    transport_->wait(transport_->get(incoming_.data, {from, place_at(place)}, bytes));
    transport_->store({from, state_at(place)}, kFree);
    take_(number, products, incoming_.data, bytes);
    received_ += bytes;
    looking_ += clock.lap();
  }
}

}  // namespace penstock
