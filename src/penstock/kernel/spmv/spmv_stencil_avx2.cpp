#include "penstock/kernel/spmv/spmv_blocked.hpp"
#include "penstock/kernel/spmv/spmv_stencil_loops.hpp"

namespace penstock::avx2 {
namespace {
struct Isa {};
}  // namespace

template <class T, class V>
void stencil(const StencilArgs<T, V>& p) {
  stencil_loops::stencil<Isa>(p);
}

#define X(T, V) template void stencil<T, V>(const StencilArgs<T, V>&);
PENSTOCK_FOR_EACH_PLANNED(X)
#undef X

}  // namespace penstock::avx2
