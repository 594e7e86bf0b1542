#include "penstock/core/gpu_code.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "penstock/core/config.hpp"

namespace penstock {
namespace {

constexpr Capability kOldest{7, 5};  // the oldest capability that nvcc 13 compiles for

struct Built {
  Capability made_for;
  char only = 0;  // the suffix: 'a' runs on that capability alone, 'f' on its family
  bool machine = true, ptx = true;
};

std::vector<Built> parse(std::string_view list) {
  std::vector<Built> all;
  while (!list.empty()) {
    const auto end = std::min(list.find(';'), list.size());
    auto word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    int number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{}) continue;
    word.remove_prefix(static_cast<std::size_t>(rest - word.data()));
    Built b{.made_for = {number / 10, number % 10}};
    if (!word.empty() && word.front() != '-') b.only = word.front(), word.remove_prefix(1);
    b.machine = word != "-virtual";
    b.ptx = word != "-real";
    all.push_back(b);
  }
  return all;
}

std::string listed(const std::vector<Built>& all, bool Built::*kind) {
  std::vector<Built> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const Built& b) { return b.*kind; });
  std::string out;
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (i > 0) out += i + 1 == some.size() ? " and " : ", ";
    out += name(some[i].made_for);
    if (some[i].only) out += some[i].only;
  }
  return out;
}

}  // namespace

std::string name(Capability c) { return std::to_string(c.major) + "." + std::to_string(c.minor); }

std::string_view name(GpuCode code) {
  return code == GpuCode::machine ? "machine code" : code == GpuCode::ptx ? "PTX" : "none";
}

GpuCode gpu_code(std::string_view architectures, Capability gpu) {
  auto best = GpuCode::none;
  for (const auto& b : parse(architectures)) {
    const bool family = b.made_for.major == gpu.major && b.made_for.minor <= gpu.minor;
    const bool fits = b.only == 'a' ? b.made_for == gpu : family;
    if (b.machine && fits) best = GpuCode::machine;
    if (b.ptx && (b.only ? fits : b.made_for <= gpu)) best = std::max(best, GpuCode::ptx);
  }
  return best;
}

std::string architectures_in_words(std::string_view architectures) {
  const auto all = parse(architectures);
  const auto machine = listed(all, &Built::machine), ptx = listed(all, &Built::ptx);
  if (machine.empty() && ptx.empty()) return "no kernels";
  if (machine.empty()) return "PTX for " + ptx;
  return "machine code for " + machine + (ptx.empty() ? "" : ", PTX for " + ptx);
}

std::string no_kernels_for(std::string_view gpu, Capability c, std::string_view architectures,
                           std::string_view why) {
  auto text = std::string(gpu) + " of compute capability " + name(c) +
              " cannot run the kernels of this build, which has " + architectures_in_words(architectures);
  if (!why.empty()) text += "; " + std::string(why);
  if (c < kOldest)
    return text + ". GPUs before " + name(kOldest) +
           " are not supported: compute on the CPU (ps.options(gpus=0))";
  return text + ". Build for it in the sources: pip install . -C cmake.define.CMAKE_CUDA_ARCHITECTURES=" +
         std::to_string(c.major * 10 + c.minor) + "; or compute on the CPU (ps.options(gpus=0))";
}

std::string why_no_cuda(std::string_view missing) {
  if (missing.empty()) return "";
  if (missing == "off")
    return "CUDA was left out of this build (PENSTOCK_CUDA=OFF); to use GPUs, build again without that "
           "option";
  const std::string remedy =
      ": install a CUDA toolkit, 13.0 or newer (or the wheels of penstock-sparse[cuda]), and build again";
  return (missing == "too_old"
              ? "the nvcc found by this build is too old, or does not go with its C++ compiler"
              : "no nvcc was found when this was built") +
         remedy;
}

std::string why_no_cuda() { return why_no_cuda(kCudaMissing); }

std::string no_cuda_for(std::string_view what) {
  if (std::string_view(kCudaMissing) == "off")
    return std::string(what) +
           ": this build has no CUDA, which was left out (PENSTOCK_CUDA=OFF): build again without that "
           "option";
  return std::string(what) + ": this build has no CUDA; " + why_no_cuda();
}

}  // namespace penstock
