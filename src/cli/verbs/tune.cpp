#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/figures/generalization_documents.hpp"
#include "cli/presentation/point_printer.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/session/trained_options.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/experiment/generalization/generalization_json.hpp"

namespace qklab::cli {
namespace {

std::string range_words(double low, double high) {
  if (std::isnan(low) && std::isnan(high)) return "everywhere";
  return fmt::format("{} .. {}", std::isnan(low) ? "0" : fmt::format("{:.4g}", low),
                     std::isnan(high) ? "inf" : fmt::format("{:.4g}", high));
}

std::string gain_words(const TunedPoint& point) {
  const double gain = 1 - point.best.best.test_error.value / point.given.test_error.value;
  return is_answer(point.given.outcome) ? fmt::format("{:.3g} % lower at the best", 100 * gain)
                                        : remark(point.given);
}

std::string advice(const TunedPoint& point) {
  const theory::BestWeightDecay& best = point.best;
  const Problem& problem = best.best.problem;
  ListText list;
  list.add("setting", fmt::format("d = {}", problem.dimension),
           fmt::format("n = {} samples, width p = {}", sample_count(problem), student_width(problem)));
  list.add(
      "best lambda", with_error(best.lambda),
      best.vanishes ? "the smallest tried: no weight decay is best" : "in (lambda/d) |W|^2, loss sum / d^2");
  list.add("test error", with_error(best.best.test_error), "predicted at the best");
  list.add("within 1 %", range_words(best.flat_low, best.flat_high), "range of lambda");
  list.add(fmt::format("at {:.4g}", point.given.problem.lambda), with_error(point.given.test_error),
           gain_words(point));
  list.add("rank of S", fmt::format("{:.0f}", problem.dimension * (1 - best.best.zero_fraction.value)),
           "non-zero eigenvalues at the best");
  list.add("stability", with_error(best.best.stability), best.best.stable ? "< 1: stable" : "not stable");
  for (const experiment::Comparison& trained : point.trained) {
    const experiment::Deviation test = experiment::deviations(trained).front();
    list.add("trained", with_error(test.trained),
             fmt::format("at lambda = {:.4g}, predicted {}", trained.theory.problem.lambda,
                         with_error(test.theory)));
  }
  if (const std::string words = remark(best.best); !words.empty()) list.add("remark", words);
  return list.text();
}

std::vector<std::string> cells(const TunedPoint& point) {
  const theory::BestWeightDecay& best = point.best;
  return {with_error(best.lambda), with_error(best.best.test_error), number(best.flat_low),
          number(best.flat_high), with_error(point.given.test_error)};
}

/// Further points of the curve, so that a figure shows it a decade to both sides.
void complete_curve(theory::BestWeightDecay& best, theory::StateEvolution& evolution) {
  constexpr int points_a_decade = 8;
  Problem problem = best.best.problem;
  for (int k = -points_a_decade; k <= points_a_decade; ++k) {
    if (k == 0 || !is_answer(best.outcome)) continue;
    problem.lambda = best.lambda.value * std::pow(10, static_cast<double>(k) / points_a_decade);
    best.curve.push_back(evolution.solve(problem, best.best));
  }
  std::ranges::sort(best.curve, {}, [](const theory::Solution& point) { return point.problem.lambda; });
}

/// Models trained at the best weight decay and at a third and three times it.
std::vector<experiment::Comparison> train_around(const theory::BestWeightDecay& best,
                                                 theory::StateEvolution& evolution,
                                                 const experiment::CompareOptions& options) {
  std::vector<experiment::Comparison> trained;
  if (options.seeds == 0 || !is_answer(best.outcome)) return trained;
  for (double factor : {1.0 / 3, 1.0, 3.0}) {
    Problem problem = best.best.problem;
    problem.lambda *= factor;
    experiment::Comparison point{evolution.solve(problem, best.best), {}, Outcome::stagnated};
    if (!train_runs(point, options)) break;
    trained.push_back(std::move(point));
  }
  return trained;
}

Status tune_points(Session& session) {
  const experiment::Plan plan = session.plan();
  experiment::CompareOptions options = compare_options(session, seeds_on_request(session.options, "train"));
  if (options.seeds > 0) prepare_training(session, plan.points, options.train);
  const std::optional<Figure> figure = figure_of(session);
  PointPrinter printer(session, plan,
                       {{"best lambda"}, {"test error"}, {"1 %: from"}, {"to"}, {"error given"}}, "");
  Convergence convergence;
  std::vector<TunedPoint> finished;
  double done = 0;
  for (const Problem& problem : plan.points) {
    if (session.stop.requested()) break;
    options.progress({"points", done++, static_cast<double>(plan.points.size())});
    options.solve.qmc.log2_points = experiment::search_log2_points(session.options, problem);
    theory::StateEvolution evolution(options.solve);
    TunedPoint point{theory::best_weight_decay(problem, evolution), evolution.solve(problem), {}};
    if (figure) complete_curve(point.best, evolution);
    point.trained = train_around(point.best, evolution, options);
    printer.print(problem,
                  {[&] {
                     experiment::Json json =
                         experiment::weight_decay_json(point.best, point.given, options.solve);
                     for (const experiment::Comparison& trained : point.trained) {
                       json["train"].push_back(to_json(trained, options));
                     }
                     return json;
                   },
                   [&] { return advice(point); }, [&] { return cells(point); }, remark(point.best.best)});
    convergence.add(problem, point.best.outcome);
    finished.push_back(std::move(point));
  }
  session.bar.clear();
  if (figure && !finished.empty()) figure->draw(weight_decay_figure(plan, finished));
  return convergence.conclude(session);
}

}  // namespace

Verb tune_verb() {
  return {"tune",
          "the weight decay that minimises the predicted test error",
          {problem_group(),
           {"Theory", experiment::theory_options()},
           {"Tuning", {{"train", "", "train at a third, once and three times the best as well", ""}}},
           training_on_request("train"),
           output_group(true)},
          tune_points};
}

}  // namespace qklab::cli
