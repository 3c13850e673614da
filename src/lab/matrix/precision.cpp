#include "qklab/lab/matrix/precision.hpp"

#include "qklab/core/choice.hpp"

namespace qklab::lab {

std::string to_string(Precision precision) {
  return precision == Precision::f32 ? "f32" : "f64";
}

Precision parse_precision(const std::string& name) {
  return parse_choice("precision", name, {Precision::f32, Precision::f64});
}

}  // namespace qklab::lab
