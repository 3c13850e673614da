#pragma once

#include <string>

#include "qklab/core/problem.hpp"

namespace qklab {

/// Reads the eigenvalues of a teacher: one column or one row of numbers.
///
/// Text as numpy.savetxt and spreadsheets write it (UTF-8 with or without byte-order mark; any line ends;
/// blanks, tabs, commas or semicolons between numbers; # opens a comment), or one array of numpy.save: real
/// numbers of any width and byte order, at most one axis longer than 1.
///
/// A negative eigenvalue within the rounding of an eigensolver, >= -n eps max|s| with n numbers and eps of
/// the type that was stored (double for text), becomes 0 and is counted in `rounded_to_zero`.
///
/// Throws FileError with the place in the file when it cannot be read or holds no such list, or an entry that
/// is negative beyond rounding or not finite, or nothing above 0. The message holds no byte of the file that
/// a terminal could take for a command.
SpectrumTeacher read_spectrum(const std::string& path);

}  // namespace qklab
