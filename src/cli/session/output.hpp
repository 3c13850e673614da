#pragma once

#include <exception>
#include <string>

namespace qklab::cli {

/// Nobody reads standard output any more.
class ClosedOutput : public std::exception {
 public:
  const char* what() const noexcept override { return "standard output was closed"; }
};

/// Writes `line` and a line break to standard output at once, so that a pipe can use it. Throws ClosedOutput
/// when the reader has gone, std::system_error when the write fails otherwise.
void print_line(std::string line);

/// Writes "qklab: " and `message`, made one line, to standard error.
void complain(std::string message);

/// Only the first of several ranks speaks: from now on what this process writes is lost, but for what it says
/// of an error of its own.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int standard_error_;
};

}  // namespace qklab::cli
