#include "presentation.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/session/trained_options.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {

experiment::CompareOptions compare_options(Session& session, int seeds) {
  experiment::CompareOptions options;
  options.solve = experiment::solve_options(session.options);
  options.solve.stop = session.stop;
  if (seeds > 0) {
    options.train = experiment::train_options(session.options);
    options.train.stop = session.stop;
    options.train.progress = session.bar.piece();
    options.train.ranks = session.ranks.ranks();
  }
  options.seeds = seeds;
  options.first_seed = experiment::seed(session.options);
  options.progress = session.bar.whole();
  return options;
}

Status present(Session& session, const experiment::Plan& plan, const experiment::CompareOptions& options,
               const Presentation& presentation) {
  if (options.seeds > 0) prepare_training(session, plan.points, options.train);
  const std::optional<Figure> figure = figure_of(session);

  PointPrinter printer(session, plan, presentation.columns, presentation.note);
  Convergence convergence;
  std::vector<experiment::Comparison> finished;
  experiment::compare(plan, options, [&](const experiment::Comparison& point) {
    printer.print(point.theory.problem, presentation.forms(point));
    convergence.add(point.theory.problem, point.outcome);
    finished.push_back(point);
  });
  session.bar.clear();
  if (figure && !finished.empty()) figure->draw(presentation.figure(finished));
  return convergence.conclude(session);
}

}  // namespace qklab::cli
