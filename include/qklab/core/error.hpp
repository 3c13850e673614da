#pragma once

#include <stdexcept>
#include <string>

namespace qklab {

/// Root of every exception that qklab throws on purpose; `what()` is one line meant for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A parameter outside its domain: "kappa0 = -0.1: the target's rank ratio must be > 0".
class InvalidParameter : public Error {
 public:
  InvalidParameter(const std::string& name, const std::string& value, const std::string& allowed)
      : Error(name + " = " + value + ": " + allowed) {}
  InvalidParameter(const std::string& name, double value, const std::string& allowed);
};

/// A file that cannot be read, written or understood; names the path and the reason.
class FileError : public Error {
 public:
  FileError(const std::string& path, const std::string& reason) : Error(path + ": " + reason) {}
};

/// More memory is needed than the machine has; thrown before anything is allocated.
class ResourceError : public Error {
 public:
  using Error::Error;
};

}  // namespace qklab
