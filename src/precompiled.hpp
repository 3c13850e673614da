#pragma once

// What nearly every file includes, read once by the compiler and kept (cmake/floors.cmake). Each file still
// includes what it uses, so that it compiles without this one too, as the static analysis does.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qklab/core/dense_kernels.hpp"
