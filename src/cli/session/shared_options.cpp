#include "cli/words/wording.hpp"
#include "qklab/core/choice.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"
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

std::string to_string(Estimator estimator) {
  return estimator == Estimator::erm ? "erm" : "bayes";
}

std::vector<experiment::Option> estimator_options() {
  return {{"estimator", "erm|bayes", "empirical risk minimisation, or the Bayes-optimal reference", "erm"},
          {"bayes", "", "the Bayes-optimal reference beside each point", ""}};
}

Estimator estimator_of(const experiment::Description& options) {
  const Estimator estimator =
      parse_choice("estimator", options.text("estimator"), {Estimator::erm, Estimator::bayes});
  if (estimator == Estimator::bayes) options.refuse("bayes", "has no effect with estimator = bayes");
  return estimator;
}

void refuse_options_of_a_student(const experiment::Description& options) {
  for (const std::string& name : options_of_a_student()) {
    options.refuse(name, "has no effect with estimator = bayes");
  }
}

bool wants_reference(const experiment::Description& options, const experiment::Plan& plan) {
  if (estimator_of(options) == Estimator::erm && !options.on("bayes")) return false;
  for (const Problem& point : plan.points) theory::require_bayes_reference(point);
  return true;
}

}  // namespace qklab::cli
