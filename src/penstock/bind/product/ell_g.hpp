#pragma once
#include <variant>

#include "penstock/bind/bind.hpp"
#include "penstock/format/ell_g.hpp"

namespace penstock::bind {

/// An ELL-G matrix as Python holds it.
class EllGMatrix
    : public Guarded<std::variant<EllG<One>, EllG<float>, EllG<double>, EllG<Complex64>, EllG<Complex128>>> {
 public:
  template <class V>
  EllGMatrix(EllG<V> a) : Guarded(std::move(a), {}) {}
};

}  // namespace penstock::bind
