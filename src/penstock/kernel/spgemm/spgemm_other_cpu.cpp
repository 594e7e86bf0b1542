// The rarer instances of the product. They are a file of their own so that two compilers share the work.
#include "penstock/kernel/spgemm/spgemm_cpu.hpp"

namespace penstock {

#define X(S, V)                                                                                \
  template Csr<ProductValue<S>> spgemm<S, V>(const CsrView<S::value_type>&, const CsrView<V>&, \
                                             const SpgemmOptions&);
PENSTOCK_FOR_EACH_SPGEMM_OTHER(X)
#undef X

}  // namespace penstock
