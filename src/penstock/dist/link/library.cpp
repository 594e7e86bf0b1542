#include "penstock/dist/link/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

std::mutex lock;
std::map<std::string, std::string, std::less<>>& offered() {
  static std::map<std::string, std::string, std::less<>> paths;
  return paths;
}

}  // namespace

void offer_library(std::string_view library, std::string path) {
  const std::lock_guard guard(lock);
  offered()[std::string(library)] = std::move(path);
}

Library::Library(std::string_view name, std::string_view file, const char* variable, std::string_view remedy)
    : remedy_(remedy), file_(file) {
  std::vector<std::string> paths;
  if (const char* own = std::getenv(variable)) {
    paths.emplace_back(own);
  } else {
    const std::lock_guard guard(lock);
    if (const auto found = offered().find(name); found != offered().end()) paths.push_back(found->second);
    paths.emplace_back(file);
  }
  std::string why;
  for (const auto& path : paths) {
    opened_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened_) return;
    if (const char* error = dlerror(); why.empty() && error) why = error;
  }
  throw Error(Errc::not_accessible, file_ + " cannot be opened (" + why + "): " + remedy_ + ", or set " +
                                        variable + " to its path");
}

void* Library::look_up(const char* symbol) const {
  if (void* found = dlsym(opened_, symbol)) return found;
  throw Error(Errc::not_accessible, "this " + file_ + " has no " + symbol + ": " + remedy_);
}

void set_unless_set(const char* variable, const char* value) { setenv(variable, value, 0); }

}  // namespace penstock
