#pragma once

#include <initializer_list>
#include <string>

#include "qklab/core/error.hpp"

namespace qklab {

/// The choice whose to_string is `name`; throws InvalidParameter that lists the allowed names of `option`.
template <class Enum>
Enum parse_choice(const char* option, const std::string& name, std::initializer_list<Enum> choices) {
  std::string allowed = "must be one of";
  for (Enum choice : choices) {
    if (to_string(choice) == name) return choice;
    allowed += (choice == *choices.begin() ? " " : ", ") + to_string(choice);
  }
  throw InvalidParameter(option, name, allowed);
}

}  // namespace qklab
