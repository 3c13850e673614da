#define QKLAB_INSTANTIATE template
#include "qklab/core/dense_kernels.hpp"
