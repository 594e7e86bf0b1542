// The CPU's twin of sorts on a GPU, and what fits.
#include "penstock/kernel/structure/steps.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

namespace penstock {

int bits_below(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1) - 1)));
}

void require_room(const std::string& what, std::int64_t bytes, Stream stream) {
  if (!stream.where.is_gpu()) return;
  const auto free = device_memory(stream.where).free;
  if (bytes > free)
    throw Error(Errc::out_of_memory,
                what + " takes " + std::to_string(bytes) + " bytes on GPU " +
                    std::to_string(stream.where.gpu) + ", and " + std::to_string(free) +
                    " are free there: free some, or do it on the host, with A.to(ps.host)");
}

namespace cpu {
namespace {

template <class K>
std::vector<std::int64_t> sorted_order(const K* keys, std::int64_t n, int bits) {
  const auto mask = bits == 8 * static_cast<int>(sizeof(K)) ? ~K{} : static_cast<K>((K{1} << bits) - 1);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t k) { return (keys[i] & mask) < (keys[k] & mask); });
  return order;
}

void put_in_order(void* to, const void* from, int bytes, const std::vector<std::int64_t>& order) {
  const auto size = static_cast<std::size_t>(bytes);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(static_cast<std::byte*>(to) + i * size,
                static_cast<const std::byte*>(from) + at(order[i]) * size, size);
}

}  // namespace

bool sort_pairs(void* keys, void* other_keys, int key_bytes, void* payload, void* other_payload,
                int payload_bytes, std::int64_t n, int bits) {
  const auto order = key_bytes == 4 ? sorted_order(static_cast<const std::uint32_t*>(keys), n, bits)
                                    : sorted_order(static_cast<const std::uint64_t*>(keys), n, bits);
  put_in_order(other_keys, keys, key_bytes, order);
  put_in_order(other_payload, payload, payload_bytes, order);
  return true;
}

}  // namespace cpu
}  // namespace penstock
