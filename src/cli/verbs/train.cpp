#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/presentation/point_printer.hpp"
#include "cli/session/trained_options.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/experiment/comparison/json.hpp"
#include "qklab/experiment/comparison/optimizer_choice.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

std::string_view penalty_formula(Parametrization parametrization) {
  switch (parametrization) {
    case Parametrization::tied:
      return "(lambda/d) |W|^2";
    case Parametrization::direct:
      return "(lambda/d) |S|^2";
    case Parametrization::untied:
      return "(lambda/2d) (|U|^2 + |V|^2)";
  }
  return "";
}

double largest(const std::vector<double>& ascending) {
  return ascending.empty() ? 0 : ascending.back();
}

std::string of_message_passing(const lab::TrainedRun& run) {
  return run.optimizer == lab::Optimizer::amp ? fmt::format(" ({} of message passing)", run.message_passes)
                                              : "";
}

std::string run_list(const lab::TrainedRun& run, bool with_eigenvalues) {
  const bool untied = run.problem.parametrization == Parametrization::untied;
  ListText list;
  list.add("test error", with_error(run.test_error), "on fresh samples, no label noise in it");
  list.add("training loss", number(run.train_loss), "(1/d^2) sum of losses");
  list.add("penalty", number(run.regularization), penalty_formula(run.problem.parametrization));
  list.add("overlap m", number(run.overlap), "Tr(S S0)/d");
  list.add("self-overlap q", number(run.self_overlap),
           untied ? "Tr(S^2)/d of the symmetric part" : "Tr(S^2)/d");
  if (untied) {
    list.add("antisymmetric part", number(run.antisymmetric_self_overlap), "its |S|^2/d");
    list.add("zero singular values", number(run.zero_fraction), "fraction of S below 1e-3 of the largest");
    list.add("top singular value", number(largest(run.singular_values)), "of S");
  } else {
    list.add("zero eigenvalues", number(run.zero_fraction), "fraction of S below 1e-3 of the largest");
    list.add("largest eigenvalue", number(largest(run.eigenvalues)), "of S");
  }
  list.add("outcome", std::string(describe(run.outcome)),
           fmt::format("{} epochs{}, {:.3g} s, |gradient| {:.2g}", run.epochs, of_message_passing(run),
                       run.seconds, run.gradient_norm));
  list.add("memory", fmt::format("{:.2g} GiB", run.memory.bytes / gibibyte),
           fmt::format("as predicted; tokens {}", lab::to_string(run.memory.storage)));
  if (with_eigenvalues) {
    list.add(untied ? "eigenvalues of the symmetric part" : "eigenvalues of S", "");
    for (double s : run.eigenvalues) list.add_line(number(s));
    if (untied) list.add("singular values of S", "");
    for (double s : run.singular_values) list.add_line(number(s));
  }
  return list.text();
}

PointForms forms(const lab::TrainedRun& run, const lab::TrainOptions& options, bool with_eigenvalues) {
  return {[&run, &options, with_eigenvalues] { return experiment::to_json(run, options, with_eigenvalues); },
          [&run, with_eigenvalues] { return run_list(run, with_eigenvalues); },
          [&run] {
            return std::vector{with_error(run.test_error), number(run.train_loss), number(run.overlap),
                               number(run.self_overlap)};
          },
          remark(run.outcome)};
}

Status train_points(Session& session) {
  const experiment::Plan plan = session.plan();
  if (plan.at_best_lambda) {
    throw InvalidParameter("lambda", "best",
                           "training knows no theory: compare trains at the best weight decay");
  }
  lab::TrainOptions options = experiment::train_options(session.options);
  options.stop = session.stop;
  options.progress = session.bar.piece();
  options.ranks = session.ranks.ranks();
  prepare_training(session, plan.points, options);

  const bool with_eigenvalues = session.options.on("spectrum");
  PointPrinter printer(session, plan,
                       {{"test error"}, {"train loss", 11}, {"overlap", 10}, {"self-overlap", 12}},
                       trained_words(plan));
  Convergence convergence;
  const ProgressCallback progress = session.bar.whole();
  const auto all = static_cast<double>(plan.points.size());
  double done = 0;
  for (const Problem& point : plan.points) {
    if (session.stop.requested()) break;
    progress({"runs", done++, all});
    const lab::TrainedRun run =
        lab::run(point, experiment::with_optimizer(options, point), experiment::seed(session.options));
    if (run.epochs == 0) break;  // stopped before there was anything to measure
    printer.print(point, forms(run, options, with_eigenvalues));
    convergence.add(point, run.outcome);
  }
  return convergence.conclude(session);
}

}  // namespace

Verb train_verb() {
  Verb::Group training{"Training", experiment::training_options()};
  training.options.push_back({"spectrum", "", "report the eigenvalues of S as well", ""});
  return {"train",
          "the same problem at finite dimension, trained and measured",
          {problem_group(), training, output_group(false)},
          train_points};
}

}  // namespace qklab::cli
