#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kWord = 8;

/// "16384 bytes at 128 of rank 3".
std::string place(RemotePtr at, std::int64_t bytes) {
  return std::to_string(bytes) + " bytes at " + std::to_string(at.offset) + " of rank " +
         std::to_string(at.rank);
}

}  // namespace

void require_in_arena(const Transport& t, RemotePtr at, std::int64_t bytes, std::int64_t alignment,
                      const char* verb) {
  require(at.rank >= 0 && at.rank < t.size(), [&] {
    return std::string(verb) + ": there is no rank " + std::to_string(at.rank) + " among " +
           std::to_string(t.size());
  });
  // The bytes are compared with what is left of the arena: offset + bytes might exceed 64 bits.
  require(
      bytes >= 0 && at.offset >= 0 && at.offset <= t.arena_bytes() && bytes <= t.arena_bytes() - at.offset,
      [&] {
        return std::string(verb) + ": " + place(at, bytes) + " lie outside its arena of " +
               std::to_string(t.arena_bytes()) + " bytes";
      });
  require(at.offset % alignment == 0, [&] {
    return std::string(verb) + ": " + place(at, bytes) + " must start at a multiple of " +
           std::to_string(alignment);
  });
}

std::int64_t require_numbers(const Transport& t, RemotePtr at, std::int64_t count, std::int64_t each,
                             const char* verb) {
  require(count >= 0 && count <= t.arena_bytes() / each, [&] {
    return std::string(verb) + ": " + std::to_string(count) + " numbers of " + std::to_string(each) +
           " bytes do not fit an arena of " + std::to_string(t.arena_bytes());
  });
  require_in_arena(t, at, count * each, each, verb);
  return count * each;
}

std::int64_t require_rows(const Transport& t, RemotePtr at, std::int64_t row_bytes,
                          std::span<const std::int32_t> rows, const char* verb) {
  require(row_bytes > 0 && row_bytes <= std::max<std::int64_t>(t.arena_bytes(), 1) &&
              std::ranges::is_sorted(rows, std::less_equal<>()) && (rows.empty() || rows[0] >= 0),
          [&] {
            return std::string(verb) + ": " + std::to_string(rows.size()) + " rows of " +
                   std::to_string(row_bytes) + " bytes: numbers from 0 on that ascend, of rows with bytes";
          });
  require_in_arena(t, at, rows.empty() ? 0 : (std::int64_t{rows.back()} + 1) * row_bytes, 1, verb);
  return std::ssize(rows) * row_bytes;
}

void require_ranges(const Transport& t, RemotePtr at, std::span<const ByteRange> ranges, const char* verb) {
  require_in_arena(t, at, 0, 1, verb);
  for (const auto& r : ranges) {
    require(r.here >= 0 && r.there >= 0 && r.there <= t.arena_bytes(), [&] {
      return std::string(verb) + ": bytes from " + std::to_string(r.there) + " to " + std::to_string(r.here) +
             ": ranges begin at 0 or later, within the arena";
    });
    require_in_arena(t, {at.rank, at.offset + r.there}, r.bytes, 1, verb);
  }
}

Transport::Ticket Transport::get_ranges(void*, RemotePtr, std::span<const ByteRange>) {
  throw Error(Errc::not_accessible,
              "transport '" + name() + "' fetches no ranges of bytes in one message: fetch each");
}

Transport::Ticket Transport::get_rows(void*, RemotePtr, std::int64_t, std::span<const std::int32_t>) {
  throw Error(Errc::not_accessible,
              "transport '" + name() + "' fetches no single rows: fetch all between them");
}

const std::byte* Transport::reached(RemotePtr) {
  throw Error(Errc::not_accessible, "transport '" + name() + "' has no arenas that a device reads by itself");
}

Transport::Ticket Transport::get_by(std::int64_t, const std::function<void(Stream)>&) {
  throw Error(Errc::not_accessible, "transport '" + name() + "' has no streams for copies of a device");
}

void require_ticket(Transport::Ticket ticket, Transport::Ticket given) {
  require(ticket >= 1 && ticket <= given, [&] {
    return "ticket " + std::to_string(ticket) + " is none of this transport: it gave 1 to " +
           std::to_string(given);
  });
}

void require_equal_arenas(std::int64_t least, std::int64_t most) {
  require(least == most, [&] {
    return "arenas of " + std::to_string(least) + " to " + std::to_string(most) +
           " bytes: they must be equal on all ranks";
  });
}

namespace {

std::int64_t whole_words(std::int64_t bytes) {
  require(bytes >= 0, [&] { return "an arena of " + std::to_string(bytes) + " bytes"; });
  return (bytes + kWord - 1) / kWord * kWord;
}

}  // namespace

std::int64_t require_arena_bytes(Comm& comm, std::int64_t bytes) {
  const auto whole = whole_words(bytes);
  std::array<std::int64_t, 2> least_most{bytes, -bytes};
  comm.all_reduce(least_most, Reduce::min);
  require_equal_arenas(least_most[0], -least_most[1]);
  return whole;
}

std::shared_ptr<Transport> make_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                          std::int64_t arena_bytes, std::int64_t zeroed) {
  require(comm != nullptr, "a transport needs a Comm");
  require(kind == "auto" || kind == "local" || kind == "mpi_rma",
          [&] { return "transport '" + std::string(kind) + "' is not one of auto, local, mpi_rma"; });
  const bool local = kind == "local" || (kind == "auto" && comm->one_process());
  const auto bytes = local ? whole_words(arena_bytes) : require_arena_bytes(*comm, arena_bytes);
  zeroed = zeroed < 0 ? bytes : std::min(zeroed, bytes);
  return local ? make_local_transport(std::move(comm), bytes, zeroed)
               : make_mpi_transport(std::move(comm), bytes, zeroed);
}

}  // namespace penstock
