#pragma once
#include <string>
#include <string_view>

namespace penstock {

/// Says where the file of a library is, "nccl" or "nvshmem". It is used when the library is first needed.
void offer_library(std::string_view library, std::string path);

/// A library that is opened when it is first needed, and stays open.
class Library {
 public:
  /// `name`: as offer_library() knows it; `file`: its name for the loader; `variable`: of the environment, a path that goes
  /// before all else; `remedy`: what to install. Throws Error{not_accessible}.
  Library(std::string_view name, std::string_view file, const char* variable, std::string_view remedy);
  template <class F>
  void find(F*& to, const char* symbol) const {
    to = reinterpret_cast<F*>(look_up(symbol));
  }

 private:
  void* look_up(const char* symbol) const;
  void* opened_ = nullptr;
  std::string remedy_, file_;
};

/// Sets a variable of the environment unless the user has set it.
void set_unless_set(const char* variable, const char* value);

}  // namespace penstock
