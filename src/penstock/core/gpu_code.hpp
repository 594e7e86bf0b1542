#pragma once
#include <string>
#include <string_view>
#include <vector>

// Which GPUs this build's kernels run on. Here are the rules alone, on text and numbers; device_cuda_code.cpp asks the
// driver.
namespace penstock {

struct Capability {  // compute capability: 9.0 is {9, 0}
  int major = 0, minor = 0;
  friend auto operator<=>(const Capability&, const Capability&) = default;
};
std::string name(Capability);

/// How a GPU gets its kernels: not at all, from PTX that its driver compiles at first use, or as machine code.
enum class GpuCode { none, ptx, machine };
std::string_view name(GpuCode);

/// How `gpu` gets kernels of a build. `architectures` is a list as CMake names them (config.hpp): "75-real;90" holds machine
/// code for 7.5 and 9.0, and PTX for 9.0. Machine code runs on GPUs of the same major version and the same or a later minor
/// version; PTX runs on everything that came later, and 90a on 9.0 alone.
GpuCode gpu_code(std::string_view architectures, Capability gpu);

/// The same list in words, such as "machine code for 7.5 and 9.0, PTX for 9.0".
std::string architectures_in_words(std::string_view architectures);

/// The message where a GPU has no kernels: what was built, and how to build for this GPU. `why` is what the driver says.
std::string no_kernels_for(std::string_view gpu, Capability, std::string_view architectures,
                           std::string_view why = {});

/// A GPU that the driver shows to this process, and how it gets its kernels. `why` is the reason where it gets none.
struct GpuSeen {
  std::string name;
  Capability capability;
  GpuCode code = GpuCode::none;
  std::string why;
};
/// All GPUs that the driver shows. Starts work on none.
std::vector<GpuSeen> gpus_seen();

/// The sentence that says why a build has no CUDA, and the remedy.
std::string why_no_cuda();
std::string why_no_cuda(std::string_view missing);

/// "`what`: this build has no CUDA. ...": what no_cuda() of device.hpp says.
std::string no_cuda_for(std::string_view what);

}  // namespace penstock
