#include "qklab/experiment/comparison/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/figures/spectrum_document.hpp"
#include "cli/presentation/presentation.hpp"
#include "cli/session/trained_options.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/theory_words.hpp"
#include "cli/words/wording.hpp"
#include "qklab/core/error.hpp"
#include "qklab/experiment/comparison/spectral_parts.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "qklab/theory/untied/untied.hpp"

namespace qklab::cli {
namespace {

using experiment::Comparison;

SpectrumOf spectrum_to_show(const experiment::Description& options) {
  const std::string name = options.text("show");
  if (name == "eigenvalues") return SpectrumOf::student;
  if (name == "singular-values") return SpectrumOf::weights;
  throw InvalidParameter("show", name, "must be one of eigenvalues, singular-values");
}

/// Adds a line for each of the first isolated modes, and how many there are.
void add_modes(const Comparison& point, ListText& list) {
  constexpr int most_shown = 8;
  const auto modes = experiment::compare_modes(point, std::numeric_limits<int>::max());
  for (int k = 0; k < std::min<int>(most_shown, static_cast<int>(modes.size())); ++k) {
    const theory::TeacherMode& mode = modes[k].predicted;
    std::string meaning = fmt::format("alignment {:.3g}, learned {:.4g}", mode.alignment, mode.learned);
    if (!mode.recovered) meaning += ", not recovered";
    if (!point.runs.empty()) {
      meaning +=
          fmt::format("; trained {}, {}", with_error(modes[k].alignment), with_error(modes[k].learned));
    }
    list.add(fmt::format("mode {}", modes[k].rank), fmt::format("s = {:.4g}", mode.teacher), meaning);
  }
  if (modes.size() > most_shown) list.add("", fmt::format("{} isolated", modes.size()), "modes in all");
}

double largest_eigenvalue(const theory::Solution& solution) {
  return solution.edges.empty() ? 0 : solution.edges.back().hi;
}

std::string spectrum_list(const Comparison& point) {
  ListText list;
  list.add("spectrum of S", spectrum_words(point.theory));
  list.add("mean square of S", with_error(point.theory.self_overlap), "Tr(S^2)/d");
  add_modes(point, list);
  for (const lab::TrainedRun& run : point.runs) {
    list.add(fmt::format("trained, seed {}", run.seed), fmt::format("{:.6g} at 0", run.zero_fraction),
             fmt::format("largest eigenvalue {:.4g}", run.eigenvalues.back()));
  }
  if (const std::string words = remark(point); !words.empty()) list.add("remark", words);
  return list.text();
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
  const experiment::Plan plan = session.plan();
  require_known_law(plan);
  const experiment::CompareOptions options =
      compare_options(session, seeds_on_request(session.options, "train"));
  const int points = static_cast<int>(session.options.whole_number("points", 16, 1'000'000));
  const SpectrumOf shown = spectrum_to_show(session.options);
  const Presentation presentation{
      .columns = {{"theory:\nat 0"}, {"\nlargest", 10}, {"trained:\nat 0", 10}, {"\nlargest", 10}},
      .note = options.seeds > 0 ? fmt::format("{}: {} seeds", trained_words(plan), options.seeds) : "",
      .forms =
          [&options, points](const Comparison& point) {
            return PointForms{[&options, &point, points] { return spectrum_json(point, options, points); },
                              [&] { return spectrum_list(point); }, [&] { return cells(point); },
                              remark(point)};
          },
      .figure = [&plan, points,
                 shown](const auto& finished) { return spectra(plan, finished, points, shown); },
  };
  return present(session, plan, options, presentation);
}

}  // namespace

Verb spectrum_verb() {
  Verb::Group density{"Spectrum",
                      {{"points", "NUMBER", "points of the density", "400"},
                       {"show", "eigenvalues|singular-values", "of S, or of W, in the figure", "eigenvalues"},
                       {"train", "", "train models as well, for a histogram", ""}}};
  return {"spectrum",
          "predicted density of the eigenvalues of S",
          {problem_group(),
           {"Theory", experiment::theory_options()},
           density,
           training_on_request("train"),
           output_group(true)},
          predict_spectra};
}

}  // namespace qklab::cli
