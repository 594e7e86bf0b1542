#include "penstock/dist/link/bounded_wait.hpp"

#include <array>

namespace penstock {

void require_everywhere(Comm& comm, const std::string& why, std::string_view task, Errc code) {
  std::array<std::int64_t, 1> first{why.empty() ? comm.size() : comm.rank()};
  comm.all_reduce(first, Reduce::min);
  if (first[0] == comm.size()) return;
  constexpr std::size_t kMost = 400;
  std::array<char, kMost> text{};
  if (first[0] == comm.rank()) why.copy(text.data(), kMost - 1);
  comm.broadcast(text.data(), kMost, static_cast<int>(first[0]));
  comm.broadcast(&code, sizeof code, static_cast<int>(first[0]));
  throw Error(code, std::string(task) + ": rank " + std::to_string(first[0]) + ": " + text.data());
}

}  // namespace penstock
