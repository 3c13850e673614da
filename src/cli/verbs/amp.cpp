#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/figure.hpp"
#include "cli/figures/message_passing_document.hpp"
#include "cli/presentation/point_printer.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/comparison/message_passing_json.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

using experiment::ComparedIterate;
using experiment::Deviation;
using experiment::MessagePassing;
using experiment::MessagePassingOptions;

/// Iterates 0, 1, 2, 3, then ever further apart, and the last.
std::vector<std::size_t> iterates_to_show(std::size_t count) {
  std::vector<std::size_t> shown;
  for (std::size_t t = 0; t + 1 < count; t += 1 + t / 4) shown.push_back(t);
  if (count > 0) shown.push_back(count - 1);
  return shown;
}

/// A single point: what each iterate measured and what was predicted of it, then the fixed point.
std::string iterate_rows(const MessagePassing& point) {
  TableText table({{"t", 4},
                   {"overlap"},
                   {"predicted", 10},
                   {"self-overlap"},
                   {"predicted", 10},
                   {"residual", 9},
                   {"damping", 7}},
                  7);
  const auto predicted = [](const ComparedIterate& iterate, double theory::Iterate::*member) {
    return iterate.predicted ? fmt::format("{:.4g}", (*iterate.predicted).*member) : "-";
  };
  for (const std::size_t t : iterates_to_show(point.iterates.size())) {
    const ComparedIterate& iterate = point.iterates[t];
    table.add({std::to_string(iterate.iteration), with_error(iterate.overlap),
               predicted(iterate, &theory::Iterate::overlap), with_error(iterate.self_overlap),
               predicted(iterate, &theory::Iterate::self_overlap), fmt::format("{:.2g}", iterate.residual),
               iterate.damping > 0 ? fmt::format("{:.2g}", iterate.damping) : "-"});
  }
  TableText ends({{"at the end", 14}, {"predicted"}, {"measured"}, {"deviation", 10}}, 4);
  for (const Deviation& quantity : experiment::deviations(point)) {
    ends.add({quantity.quantity, with_error(quantity.theory), with_error(quantity.trained),
              deviation_words(quantity.in_errors)});
  }
  return table.text() + "\n\n" + ends.text();
}

std::string remark_of(const MessagePassing& point) {
  const std::string words = remark(point.fixed_point);
  return words.empty() ? remark(point.outcome) : words;
}

PointForms forms(const MessagePassing& point) {
  return {[] { return experiment::Json(); },
          [&point] {
            const std::string words = remark_of(point);
            return iterate_rows(point) + (words.empty() ? "" : "\nremark: " + words);
          },
          [&point] {
            const std::vector<Deviation> all = experiment::deviations(point);
            double damping = 0;
            for (const lab::AmpRun& run : point.runs) damping = std::max(damping, run.largest_damping);
            return std::vector{with_error(all[0].theory),
                               with_error(all[0].trained),
                               deviation_words(all[0].in_errors),
                               deviation_words(all[2].in_errors),
                               deviation_words(all[3].in_errors),
                               std::to_string(point.iterates.empty() ? 0 : point.iterates.back().iteration),
                               damping > 0 ? fmt::format("{:.2g}", damping) : "-"};
          },
          remark_of(point)};
}

std::vector<Column> columns() {
  return {{"test error:\npredicted"}, {"\nmeasured"}, {"\ndev", 6}, {"m\ndev", 6}, {"q\ndev", 6},
          {"itera-\ntions", 6},       {"\ndamp", 5}};
}

std::vector<experiment::Option> iteration_options() {
  const lab::AmpOptions standard;
  return {estimator_options().front(),
          {"seeds", "NUMBER", "runs of each point, with seeds seed, seed + 1, ...", "1"},
          {"precision", "f32|f64", "of the matrix products", to_string(standard.precision)},
          {"max_iterations", "NUMBER", "most iterations", fmt::format("{}", standard.max_iterations)},
          {"iterate_tolerance", "NUMBER", "on the relative change of S in an undamped step",
           fmt::format("{}", standard.tolerance)},
          {"no_damping", "", "never damp: the state evolution then holds to the end, or it diverges", ""},
          {"test_samples", "NUMBER", "fresh samples for the test error of the last iterate",
           fmt::format("{}", standard.test_samples)},
          {"iterate_samples", "NUMBER", "fresh samples for the test error of every iterate", "2000"}};
}

MessagePassingOptions options_of(Session& session) {
  constexpr long most_samples = 1'000'000'000;
  const experiment::Description& given = session.options;
  MessagePassingOptions options;
  options.solve = experiment::solve_options(given);
  options.solve.stop = session.stop;
  if (estimator_of(given) == Estimator::bayes) options.amp.estimator = lab::AmpEstimator::bayes;
  options.amp.precision = lab::parse_precision(given.text("precision"));
  options.amp.max_iterations = static_cast<int>(given.whole_number("max_iterations", 1, 1'000'000));
  options.amp.tolerance = given.number("iterate_tolerance");
  if (!(options.amp.tolerance > 0)) {
    throw InvalidParameter("iterate_tolerance", options.amp.tolerance, "must be > 0");
  }
  options.amp.damp_when_needed = !given.on("no_damping");
  options.amp.test_samples = given.whole_number("test_samples", 2, most_samples);
  options.amp.iterate_samples = given.whole_number("iterate_samples", 2, most_samples);
  options.amp.progress = session.bar.piece();
  options.amp.stop = session.stop;
  options.amp = checked(options.amp);
  options.seeds = experiment::seeds(given);
  options.first_seed = experiment::seed(given);
  options.progress = session.bar.whole();
  return options;
}

Status pass_messages(Session& session) {
  const bool is_bayes = estimator_of(session.options) == Estimator::bayes;
  if (is_bayes) refuse_options_of_a_student(session.options);
  const experiment::Plan plan = session.plan();
  const MessagePassingOptions options = options_of(session);
  for (const Problem& point : plan.points) lab::require_message_passing(point, options.amp.estimator);
  const std::optional<Figure> figure = figure_of(session);

  PointPrinter printer(
      session, plan, columns(),
      fmt::format("message passing to {}, d = {}, {} seed{}; errors over seeds",
                  is_bayes ? "the posterior mean" : "the minimiser", plan.points.front().dimension,
                  options.seeds, options.seeds == 1 ? "" : "s"),
      is_bayes ? options_of_a_student() : std::vector<std::string>{});
  Convergence convergence;
  std::vector<MessagePassing> finished;
  experiment::pass_messages(plan, options, [&](const MessagePassing& point) {
    if (session.options.on("json")) {
      for (const experiment::Json& line : experiment::to_json_lines(point, options, plan.axes)) {
        session.print(line.dump());
      }
    } else {
      printer.print(point.fixed_point.problem, forms(point));
    }
    convergence.add(point.fixed_point.problem, point.outcome);
    finished.push_back(point);
  });
  session.bar.clear();
  if (figure && !finished.empty()) figure->draw(message_passing_figure(plan, finished));
  return convergence.conclude(session);
}

}  // namespace

Verb amp_verb() {
  return {"amp",
          "message passing at finite dimension, its state evolution beside it",
          {problem_group(),
           {"Theory", experiment::theory_options()},
           {"Message passing", iteration_options()},
           output_group(true)},
          pass_messages};
}

}  // namespace qklab::cli
