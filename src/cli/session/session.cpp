#include <fmt/format.h>

#include "output.hpp"
#include "verb.hpp"

namespace qklab::cli {

void Session::print(const std::string& lines) {
  bar.clear();
  print_line(lines);
}

void Convergence::add(const Problem& problem, Outcome outcome) {
  ++points_;
  if (is_answer(outcome)) return;
  if (failed_ == 0) {
    first_ =
        fmt::format("alpha = {:.6g}, lambda = {:.6g}: {}", problem.alpha, problem.lambda, describe(outcome));
  }
  ++failed_;
}

Status Convergence::conclude(Session& session) const {
  if (failed_ == 0) return Status::done;
  session.bar.clear();
  complain(fmt::format("{} of {} points did not converge; the first: {}", failed_, points_, first_));
  return Status::not_converged;
}

}  // namespace qklab::cli
