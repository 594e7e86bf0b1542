#pragma once
#include <concepts>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace penstock {

enum class Errc { invalid_argument, out_of_memory, not_accessible, not_compiled, cuda, interrupted, comm };

/// The library's only exception. `what()` states the problem, the numbers and the remedy; `where()` is for
/// developers. Python sees ValueError, MemoryError, PlacementError, NotCompiledError, RuntimeError.
class Error : public std::runtime_error {
 public:
  Error(Errc code, std::string_view what, std::source_location at = std::source_location::current())
      : std::runtime_error(std::string(what)), code_(code), at_(at) {}
  Errc code() const noexcept { return code_; }
  std::source_location where() const noexcept { return at_; }

 private:
  Errc code_;
  std::source_location at_;
};

inline void require(bool ok, std::string_view what,
                    std::source_location at = std::source_location::current()) {
  if (!ok) throw Error(Errc::invalid_argument, what, at);
}

/// For checks in loops: `text()` is called only if the check fails.
template <std::invocable F>
void require(bool ok, F&& text, std::source_location at = std::source_location::current()) {
  if (!ok) [[unlikely]]
    throw Error(Errc::invalid_argument, text(), at);
}

}  // namespace penstock
