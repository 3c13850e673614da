#include "qklab/experiment/spectrum.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "figure_documents.hpp"
#include "presentation.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/run_options.hpp"
#include "qklab/theory/untied.hpp"
#include "theory_words.hpp"
#include "verb.hpp"
#include "wording.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;

/// Trained runs of each point. Options of training are a mistake without --train.
int trained_runs(const experiment::Description& options) {
  if (options.on("train")) return experiment::seeds(options);
  for (const experiment::Option& option : experiment::training_options()) {
    options.refuse(option.name, "has no effect without --train");
  }
  options.refuse(experiment::seeds_option().name, "has no effect without --train");
  return 0;
}

double largest_eigenvalue(const theory::Solution& solution) {
  return solution.edges.empty() ? 0 : solution.edges.back().hi;
}

std::string spectrum_list(const Comparison& point) {
  std::string text = list_line("spectrum of S", spectrum_words(point.theory));
  text.append("\n").append(list_line("mean square of S", with_error(point.theory.self_overlap), "Tr(S^2)/d"));
  for (const lab::TrainedRun& run : point.runs) {
    text.append("\n").append(list_line(fmt::format("trained, seed {}", run.seed),
                                       fmt::format("{:.6g} at 0", run.zero_fraction),
                                       fmt::format("largest eigenvalue {:.4g}", run.eigenvalues.back())));
  }
  if (const std::string words = remark(point); !words.empty()) {
    text.append("\n").append(list_line("remark", words));
  }
  return text;
}

std::vector<std::string> cells(const Comparison& point) {
  double zeros = 0;
  double largest = 0;
  for (const lab::TrainedRun& run : point.runs) {
    zeros += run.zero_fraction / static_cast<double>(point.runs.size());
    largest = std::max(largest, run.eigenvalues.back());
  }
  const bool trained = !point.runs.empty();
  return {with_error(point.theory.zero_fraction), number(largest_eigenvalue(point.theory)),
          trained ? number(zeros) : "-", trained ? number(largest) : "-"};
}

void require_known_law(const experiment::Plan& plan) {
  for (const Problem& problem : plan.points) {
    if (!theory::is_sampled(problem)) continue;
    throw InvalidParameter("parametrization", to_string(problem.parametrization),
                           "the spectrum of untied weights of several tokens has no known law; theory and "
                           "compare predict its moments");
  }
}

Status predict_spectra(Session& session) {
  const experiment::Plan plan = experiment::plan(session.options);
  require_known_law(plan);
  const experiment::CompareOptions options = compare_options(session, trained_runs(session.options));
  const int points = static_cast<int>(session.options.whole_number("points", 16, 1'000'000));
  const Presentation presentation{
      .columns = {{"theory:\nat 0"}, {"\nlargest", 10}, {"trained:\nat 0", 10}, {"\nlargest", 10}},
      .note = options.seeds > 0 ? fmt::format("{}: {} seeds", trained_words(plan), options.seeds) : "",
      .forms =
          [&options, points](const Comparison& point) {
            return PointForms{[&options, &point, points] { return spectrum_json(point, options, points); },
                              [&] { return spectrum_list(point); }, [&] { return cells(point); },
                              remark(point)};
          },
      .figure = [&plan, points](const auto& finished) { return spectra(plan, finished, points); },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb spectrum_verb() {
  Verb::Group density{"Spectrum",
                      {{"points", "NUMBER", "points of the density", "400"},
                       {"train", "", "train models as well, for a histogram", ""}}};
  Verb::Group models{"Training, with --train", experiment::training_options()};
  models.options.push_back(experiment::seeds_option());
  return {"spectrum",
          "predicted density of the eigenvalues of S",
          {problem_group(), {"Theory", experiment::theory_options()}, density, models, output_group(true)},
          predict_spectra};
}

}  // namespace qklab::cli
