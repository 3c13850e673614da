#include <nlohmann/json.hpp>

#include "figure_documents.hpp"
#include "presentation.hpp"
#include "qklab/experiment/run_options.hpp"
#include "theory_words.hpp"
#include "verb.hpp"
#include "wording.hpp"

namespace qklab::cli {
namespace {

std::vector<std::string> cells(const theory::Solution& solution) {
  return {with_error(solution.test_error), with_error(solution.train_loss), with_error(solution.overlap),
          with_error(solution.self_overlap)};
}

Status solve_points(Session& session) {
  require_known_estimator(session.options);
  const experiment::Plan plan = experiment::plan(session.options);
  const experiment::CompareOptions options = compare_options(session, 0);
  const Presentation presentation{
      .columns = {{"test error"}, {"train loss"}, {"overlap"}, {"self-overlap"}},
      .note = "",
      .forms =
          [&options](const experiment::Comparison& point) {
            return PointForms{[&] { return experiment::to_json(point.theory, options.solve); },
                              [&] { return solution_list(point.theory); },
                              [&] { return cells(point.theory); }, remark(point.theory)};
          },
      .figure = [&plan](const auto& points) { return learning_curve(plan, points); },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb theory_verb() {
  Verb::Group theory{"Theory", experiment::theory_options()};
  theory.options.push_back(estimator_option());
  return {"theory",
          "exact high-dimensional theory: state evolution at each point",
          {problem_group(), theory, output_group(true)},
          solve_points};
}

}  // namespace qklab::cli
