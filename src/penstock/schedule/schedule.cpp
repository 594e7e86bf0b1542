#include "penstock/schedule/schedule.hpp"

#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

[[noreturn]] void refuse(std::string_view schedule, Where who, Place from, std::string_view remedy) {
  const auto device = who.is_gpu() ? "GPU " + std::to_string(who.gpu) : std::string("the CPU");
  throw Error(Errc::not_accessible, std::string(schedule) + " on " + device + " cannot read a matrix in " +
                                        std::string(name(from.memory)) + " memory: " + std::string(remedy));
}

void check_one(const InCore& in_core, Place from) {
  const Where where = in_core.where;
  if (can_read(where, from)) return;
  if (!where.is_gpu())
    refuse("InCore", where, from, "move it to the host with A.to(ps.host), or compute on that GPU");
  refuse("InCore", where, from, "move it to that GPU, or use Streamed");
}

void check_one(const Streamed& settings, Place from) {
  require(!settings.devices.empty(), "Streamed: no device is named; give at least one");
  require(settings.slots >= 1, "Streamed: slots = " + std::to_string(settings.slots) + "; give at least 1");
  require(settings.block_bytes >= 0,
          "Streamed: block_bytes = " + std::to_string(settings.block_bytes) + " is negative");
  require(settings.ring_bytes >= 0,
          "Streamed: ring_bytes = " + std::to_string(settings.ring_bytes) + " is negative");
  if (from.memory == Memory::device)
    refuse("Streamed", settings.devices.front(), from, "it is on a GPU already, use InCore");
}

void check_one(const ZeroCopy& zero_copy, Place from) {
  if (!can_read(zero_copy.where, from))
    refuse("ZeroCopy", zero_copy.where, from, "place it in pinned or managed memory, or use Streamed");
}

}  // namespace

std::string_view name(const Schedule& schedule) {
  constexpr std::string_view names[] = {"in_core", "streamed", "zero_copy"};
  return names[schedule.index()];
}

Where first_device(const Schedule& schedule) {
  if (const auto* in_core = std::get_if<InCore>(&schedule)) return in_core->where;
  if (const auto* zero_copy = std::get_if<ZeroCopy>(&schedule)) return zero_copy->where;
  return std::get<Streamed>(schedule).devices.front();
}

void check(const Schedule& schedule, Place matrix) {
  std::visit([&](const auto& one) { check_one(one, matrix); }, schedule);
}

}  // namespace penstock
