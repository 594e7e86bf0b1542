#pragma once

namespace penstock::cuda {

/// A kernel that does nothing: a GPU that can load it can load the others, which were compiled for the same GPUs.
const void* any_kernel_address();

}  // namespace penstock::cuda
