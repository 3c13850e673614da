#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/figures/figure_documents.hpp"
#include "cli/presentation/point_printer.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/theory_words.hpp"
#include "cli/words/wording.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/comparison/theory_line.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/theory/bayes/bayes_optimal.hpp"

namespace qklab::cli {
namespace {

/// Enough for a line that looks smooth.
constexpr int line_points = 200;

std::vector<std::string> cells(const theory::BayesSolution& solution) {
  return {with_error(solution.test_error), with_error({solution.squared_error, solution.squared_error_se}),
          with_error({solution.overlap, solution.squared_error_se}),
          with_error({solution.overlap_hat, solution.overlap_hat_se})};
}

}  // namespace

Status solve_bayes_points(Session& session) {
  refuse_options_of_a_student(session.options);
  session.options.refuse("tolerance", "has no effect with estimator = bayes");
  const experiment::Plan plan = session.plan();
  wants_reference(session.options, plan);
  const theory::SolveOptions options = experiment::solve_options(session.options);
  const std::optional<Figure> figure = figure_of(session);

  PointPrinter printer(session, plan, {{"test error"}, {"Q0 - q"}, {"overlap"}, {"conjugate"}},
                       "Bayes-optimal: the posterior mean of the target", options_of_a_student());
  Convergence convergence;
  theory::BayesSolver solver(options);
  const ProgressCallback progress = session.bar.whole();
  const auto all = static_cast<double>(plan.points.size());
  for (std::size_t i = 0; i < plan.points.size() && !session.stop.requested(); ++i) {
    progress({"points", static_cast<double>(i), all});
    const theory::BayesSolution point = solver.solve(plan.points[i]);
    printer.print(point.problem,
                  {[&] { return experiment::to_json(point, options); }, [&] { return bayes_list(point); },
                   [&] { return cells(point); }, remark(point.outcome)});
    convergence.add(point.problem, point.outcome);
  }
  session.bar.clear();
  if (figure && !session.stop.requested()) {
    figure->draw(bayes_curve(experiment::with_values_between(plan, line_points), options));
  }
  return convergence.conclude(session);
}

}  // namespace qklab::cli
