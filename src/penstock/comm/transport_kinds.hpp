#pragma once
#include "penstock/comm/transport.hpp"

// What the kinds of transport share, and how each is made. Nobody but transports includes this.
namespace penstock {

/// Throws Error{invalid_argument} unless these bytes lie in that rank's arena and start at a multiple of `alignment`.
void require_in_arena(const Transport& transport, RemotePtr at, std::int64_t bytes, std::int64_t alignment,
                      const char* verb);
/// The same for `count` numbers of `each` bytes; returns their bytes.
std::int64_t require_numbers(const Transport& transport, RemotePtr at, std::int64_t count, std::int64_t each,
                             const char* verb);
/// The same for single rows of `row_bytes`, which ascend; returns the bytes of all.
std::int64_t require_rows(const Transport& transport, RemotePtr at, std::int64_t row_bytes,
                          std::span<const std::int32_t> rows, const char* verb);
/// The same for ranges of bytes behind `at`.
void require_ranges(const Transport& transport, RemotePtr at, std::span<const ByteRange> ranges,
                    const char* verb);
/// Throws Error{invalid_argument} for a ticket that was never given out; `given` is the last one that was.
void require_ticket(Transport::Ticket ticket, Transport::Ticket given);

/// Throws Error{invalid_argument} where ranks give different sizes: offsets are checked against the size here, which must be
/// that of every rank.
void require_equal_arenas(std::int64_t least, std::int64_t most);
/// Throws on all ranks unless arenas can have this size; returns it in whole words. Collective.
std::int64_t require_arena_bytes(Comm& comm, std::int64_t bytes);

// Collective; 0 <= zeroed <= arena_bytes.
std::shared_ptr<Transport> make_local_transport(std::shared_ptr<Comm> comm, std::int64_t arena_bytes,
                                                std::int64_t zeroed);
std::shared_ptr<Transport> make_mpi_transport(std::shared_ptr<Comm> comm, std::int64_t arena_bytes,
                                              std::int64_t zeroed);

}  // namespace penstock
