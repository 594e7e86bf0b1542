#include "penstock/dist/product/device_stage.hpp"

#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {

bool DeviceStage::holds(const void* data) const {
  if (staging_ == Staging::always) return false;
  const auto place = place_of(data);
  return where_.is_gpu() ? place == device_place(where_) : can_read(where_, place);
}

std::byte* DeviceStage::place_for(Array<std::byte>& area, void* data, std::int64_t bytes) {
  if (holds(data)) return static_cast<std::byte*>(data);
  if (area.size < bytes || !area.data) area = allocate<std::byte>(bytes, device_place(where_));
  return area.data;
}

std::byte* DeviceStage::place_for_x(const void* data, std::int64_t bytes) {
  return place_for(x_, const_cast<void*>(data), bytes);
}

std::byte* DeviceStage::place_for_y(void* data, std::int64_t bytes) { return place_for(y_, data, bytes); }

void DeviceStage::copy(void* to, const void* from, std::int64_t bytes) const {
  if (to != from) copy_async(to, from, bytes, stream_);
}

void DeviceStage::run(Comm& comm, std::string_view waited_for, const std::function<void()>& queue,
                      const std::function<void()>& bring_back, const std::function<void()>& give_up) const {
  try {
    queue();
    record(done_, stream_);
    synchronize_with(comm, done_, waited_for);
    bring_back();
    synchronize(Stream(stream_));
  } catch (...) {
    give_up();
    drain(stream_);
    throw;
  }
}

}  // namespace penstock
