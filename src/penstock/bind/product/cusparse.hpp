#pragma once
#include <nanobind/stl/optional.h>

#include "penstock/bind/product/product.hpp"

namespace penstock::bind {

/// Opens cuSPARSE from where the system looks, else from where pip put it.
void open_cusparse();

/// `product` and `product_columns` with algorithm="cusparse".
nb::object product_cusparse(const Matrix& a, const nb::object& x, const nb::object& y,
                            const std::optional<AnySchedule>& asked, const std::string& semiring,
                            const nb::object& alpha, const nb::object& beta, bool traced);

}  // namespace penstock::bind
