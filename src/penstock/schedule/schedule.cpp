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

void check_one(const InCore& how, Place from) {
  if (can_read(how.where, from)) return;
  if (!how.where.is_gpu()) refuse("InCore", how.where, from, "move it to the host, or compute on that GPU");
  refuse("InCore", how.where, from, "move it to that GPU, or use Streamed");
}

void check_one(const Streamed& how, Place from) {
  require(!how.devices.empty(), "Streamed: no device is named; give at least one");
  require(how.slots >= 1, "Streamed: slots = " + std::to_string(how.slots) + "; give at least 1");
  require(how.block_bytes >= 0,
          "Streamed: block_bytes = " + std::to_string(how.block_bytes) + " is negative");
  require(how.ring_bytes >= 0, "Streamed: ring_bytes = " + std::to_string(how.ring_bytes) + " is negative");
  if (from.memory == Memory::device)
    refuse("Streamed", how.devices.front(), from, "it is on a GPU already, use InCore");
}

void check_one(const ZeroCopy& how, Place from) {
  if (!can_read(how.where, from))
    refuse("ZeroCopy", how.where, from, "place it in pinned or managed memory, or use Streamed");
}

}  // namespace

std::string_view name(const Schedule& how) {
  constexpr std::string_view names[] = {"in_core", "streamed", "zero_copy"};
  return names[how.index()];
}

void check(const Schedule& how, Place matrix) {
  std::visit([&](const auto& h) { check_one(h, matrix); }, how);
}

}  // namespace penstock
