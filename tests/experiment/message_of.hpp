#pragma once

#include <string>

#include "qklab/core/error.hpp"

namespace qklab::test {

/// The message of the qklab::Error that `action` throws; "(no error)" when it throws none.
template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace qklab::test
