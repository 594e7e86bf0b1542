#pragma once
#include <compare>
#include <cstdint>
#include <string_view>

namespace penstock {

enum class Memory : std::uint8_t { host, mapped, pinned, managed, device, peer };
inline constexpr Memory kMemories[] = {Memory::host,    Memory::mapped, Memory::pinned,
                                       Memory::managed, Memory::device, Memory::peer};

/// Where bytes live. A value, not a type: one class of matrix, any memory.
struct Place {
  Memory memory = Memory::host;
  std::int16_t ordinal = 0;  // the GPU or the rank, where that means something
  auto operator<=>(const Place&) const = default;
};

/// Who computes: the CPU (gpu < 0) or one GPU.
struct Where {
  int gpu = -1;
  constexpr bool is_gpu() const { return gpu >= 0; }
  auto operator<=>(const Where&) const = default;
};

/// The one question asked of a place: can `who` dereference it?
constexpr bool can_read(Where who, Place from) {
  switch (from.memory) {
    case Memory::host:
    case Memory::mapped: return !who.is_gpu();
    case Memory::pinned:
    case Memory::managed: return true;
    case Memory::device: return who.gpu == from.ordinal;
    case Memory::peer: return who.is_gpu();
  }
  return false;
}

/// The memory that `who` computes in.
constexpr Place device_place(Where who) {
  if (!who.is_gpu()) return {};
  return {Memory::device, static_cast<std::int16_t>(who.gpu)};
}

constexpr std::string_view name(Memory memory) {
  constexpr std::string_view names[] = {"host", "mapped", "pinned", "managed", "device", "peer"};
  return names[static_cast<int>(memory)];
}

}  // namespace penstock
