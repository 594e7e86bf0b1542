#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/dist/halo/halo.hpp"

// What the strategies on the CPU share. Most of them pack entries side by side in the same way, and differ only in how the
// messages then travel.
namespace penstock::halo {

/// Makes an exchange of messages between fixed buffers, or from the base that rebase() sets. Collective.
using MakeExchange = std::unique_ptr<Exchange> (*)(std::shared_ptr<Comm>, std::vector<Message> sends,
                                                   std::vector<Message> receives);

// Each of these has a file of its own.
std::unique_ptr<Exchange> isend(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> persistent(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> neighborhood(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> put(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> gather(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> reduction(const HaloContext&, const std::byte* ghosts, std::byte* received);
std::unique_ptr<Halo> indexed(const HaloContext&);
std::unique_ptr<Halo> sync(const HaloContext&);

/// Gathers entries into one buffer, by rank, which the exchange of `make` sends. Entries that lie side by side are sent from
/// where they are.
std::unique_ptr<Halo> packed(const HaloContext&, MakeExchange make);
/// The exchange for the way back; isend for the strategies that do not pack.
MakeExchange way_back(std::string_view strategy);

/// One message for each rank with its part of the buffer; parts begin at `offsets` entries.
std::vector<Message> messages(const std::vector<int>& ranks, const std::vector<std::int64_t>& offsets,
                              std::byte* buffer, std::int64_t entry_bytes);
/// to[i] = from[indices[i]] for entries of any size.
void pack(std::span<const Index> indices, const void* from, void* to, std::int64_t entry_bytes);

}  // namespace penstock::halo
