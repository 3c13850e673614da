#include "qklab/core/error.hpp"
#include "qklab/experiment/plan.hpp"
#include "qklab/experiment/run_options.hpp"
#include "verb.hpp"

namespace qklab::cli {

Verb::Group problem_group() {
  return {"Problem", experiment::problem_options()};
}

Verb::Group output_group(bool draws) {
  Verb::Group group{"Output",
                    {experiment::seed_option(),
                     {"threads", "NUMBER", "threads to use; 0: one for each core", "0"},
                     {"json", "", "one JSON object a point, one a line, on standard output", ""},
                     {"quiet", "", "no progress on standard error", ""}}};
  if (draws) group.options.push_back({"plot", "FILE.svg|.pdf|.png", "draw a figure", ""});
  return group;
}

experiment::Option estimator_option() {
  return {"estimator", "erm", "what is solved: empirical risk minimisation", "erm"};
}

void require_known_estimator(const experiment::Description& options) {
  const std::string estimator = options.text("estimator");
  if (estimator != "erm") throw InvalidParameter("estimator", estimator, "must be erm");
}

}  // namespace qklab::cli
