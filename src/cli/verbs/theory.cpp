#include <nlohmann/json.hpp>

#include "cli/figures/figure_documents.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/presentation/reference.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/theory_words.hpp"
#include "cli/words/wording.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

std::vector<std::string> cells(const theory::Solution& solution) {
  return {with_error(solution.test_error), with_error(solution.train_loss), with_error(solution.overlap),
          with_error(solution.self_overlap)};
}

Status solve_points(Session& session) {
  if (estimator_of(session.options) == Estimator::bayes) return solve_bayes_points(session);
  const experiment::Plan plan = session.plan();
  const bool with_reference = wants_reference(session.options, plan);
  const std::vector<std::string> quantities = quantities_to_show(session.options);
  const experiment::CompareOptions options = compare_options(session, 0);
  const Presentation presentation{
      .columns = with_reference_column({{"test error"}, {"train loss"}, {"overlap"}, {"self-overlap"}},
                                       with_reference),
      .note = "",
      .forms =
          [&](const experiment::Comparison& point) {
            const auto reference = reference_of(point.theory.problem, options.solve, with_reference);
            return PointForms{
                [&point, &options, reference] {
                  return with_reference_json(experiment::to_json(point.theory, options.solve), reference,
                                             options.solve);
                },
                [&point, reference] { return with_reference_list(solution_list(point.theory), reference); },
                [&point, reference] { return with_reference_cell(cells(point.theory), reference); },
                remark(point.theory)};
          },
      .figure =
          [&](const auto& points) {
            return curve_with_reference(plan, points, options.solve, with_reference, quantities);
          },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb theory_verb() {
  return {"theory",
          "exact high-dimensional theory: state evolution at each point",
          {problem_group(), theory_and_reference_group(), output_group(true)},
          solve_points};
}

}  // namespace qklab::cli
