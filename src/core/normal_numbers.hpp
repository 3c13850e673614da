#pragma once

#include <cstddef>
#include <cstdint>

namespace qklab {

/// Box and Muller: words (w, w') of uniform bits become the standard normals (r cos phi, r sin phi), with
/// r^2 = -2 log u, phi = 2 pi u' and u the middle of the interval [k, k + 1) 2^-52 that the upper 52 bits k
/// of w name. `count` is even.
///
/// Additions, multiplications, divisions and square roots as IEEE 754 rounds them, none fused, in one order:
/// bitwise the same for any number of lanes and on any machine. Relative error below 1e-15 of r cos phi and
/// r sin phi, but near a zero of the cosine or sine the error is absolute: 1e-16 r.
void normal_numbers(const std::uint64_t* words, std::size_t count, double* normals);

}  // namespace qklab
