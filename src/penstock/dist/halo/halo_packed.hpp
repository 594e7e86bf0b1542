#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/dist/halo/halo.hpp"

// What the strategies on the CPU share: most differ only in how messages travel whose entries lie side by side.
namespace penstock::halo {

/// Messages between fixed buffers, or out of what rebase() gives. Collective.
using MakeExchange = std::unique_ptr<Exchange> (*)(std::shared_ptr<Comm>, std::vector<Message> sends,
                                                   std::vector<Message> receives);

// One file each.
std::unique_ptr<Exchange> isend(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> persistent(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> neighborhood(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> put(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> gather(std::shared_ptr<Comm>, std::vector<Message>, std::vector<Message>);
std::unique_ptr<Exchange> reduction(const HaloContext&, const std::byte* ghosts, std::byte* received);
std::unique_ptr<Halo> indexed(const HaloContext&);
std::unique_ptr<Halo> sync(const HaloContext&);

/// Gathers entries into one buffer, by rank, and lets `make`'s exchange carry it; what lies side by side is not gathered.
std::unique_ptr<Halo> packed(const HaloContext&, MakeExchange make);
/// The exchange that values go back by; isend for the strategies that do not pack.
MakeExchange way_back(std::string_view strategy);

/// One message a rank over the buffer's parts, which begin at `offsets` entries.
std::vector<Message> messages(const std::vector<int>& ranks, const std::vector<std::int64_t>& offsets,
                              std::byte* buffer, std::int64_t entry_bytes);
/// to[i] = from[indices[i]] for entries of any size.
void pack(std::span<const Index> indices, const void* from, void* to, std::int64_t entry_bytes);

}  // namespace penstock::halo
