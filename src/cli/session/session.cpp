#include <fmt/format.h>

#include <variant>

#include "output.hpp"
#include "verb.hpp"

namespace qklab::cli {

void Session::print(const std::string& lines) {
  bar.clear();
  print_line(lines);
}

experiment::Plan Session::plan() {
  experiment::Plan plan = experiment::plan(options);
  announce(plan.points.front().teacher);
  return plan;
}

void Session::announce(const Teacher& teacher) {
  const auto* spectrum = std::get_if<SpectrumTeacher>(&teacher);
  if (spectrum == nullptr || spectrum->rounded_to_zero == 0 || options.on("quiet")) return;
  bar.clear();
  complain(fmt::format("{}: {} of {} eigenvalues are negative by rounding and were set to 0",
                       spectrum->source, spectrum->rounded_to_zero, spectrum->eigenvalues.size()));
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
