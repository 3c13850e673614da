#include "wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

namespace qklab::cli {
namespace {

/// A numeric option in plain and in mathematical text.
struct Symbol {
  const char* option;
  const char* plain;
  const char* math;
  const char* label;
};

constexpr std::array symbols{
    Symbol{"alpha", "alpha", R"(\alpha)", R"(samples per squared dimension, $\alpha = n/d^2$)"},
    Symbol{"samples", "n", "n", R"(samples $n$)"},
    Symbol{"tokens", "T", "T", R"(tokens $T$)"},
    Symbol{"beta", "beta", R"(\beta)", R"(inverse temperature $\beta$)"},
    Symbol{"noise_in", "noise_in", R"(\Delta_\mathrm{in})", R"(noise on the scores, $\Delta_\mathrm{in}$)"},
    Symbol{"noise_out", "noise_out", R"(\Delta_\mathrm{out})",
           R"(noise on the labels, $\Delta_\mathrm{out}$)"},
    Symbol{"kappa0", "kappa0", R"(\kappa_0)", R"(rank ratio of the teacher, $\kappa_0$)"},
    Symbol{"gamma", "gamma", R"(\gamma)", R"(power-law exponent $\gamma$)"},
    Symbol{"modes", "modes", R"(\mathrm{modes})", "modes of the teacher"},
    Symbol{"kappa", "kappa", R"(\kappa)", R"(width ratio of the student, $\kappa = p/d$)"},
    Symbol{"width", "p", "p", R"(width of the student, $p$)"},
    Symbol{"parametrization", "student", "student", "parametrization"},
    Symbol{"lambda", "lambda", R"(\lambda)", R"(weight decay $\lambda$)"},
    Symbol{"dimension", "d", "d", R"(dimension $d$)"},
};

const Symbol& symbol(const std::string& option) {
  return *std::ranges::find_if(symbols, [&](const Symbol& s) { return s.option == option; });
}

bool is_axis(const experiment::Plan& plan, const std::string& option) {
  return std::ranges::find(plan.axes, option, &experiment::Axis::option) != plan.axes.end();
}

/// A ratio also varies with the plain number that it is given by.
bool varies(const experiment::Plan& plan, const std::string& option) {
  return is_axis(plan, option) || (option == "alpha" && is_axis(plan, "samples")) ||
         (option == "kappa" && is_axis(plan, "width"));
}

/// Appends ", name = value" for the given options, those that vary over the plan left out.
class Phrase {
 public:
  Phrase(const experiment::Plan& plan, bool mathematical, std::vector<std::string> unsaid = {})
      : plan_(plan), mathematical_(mathematical), unsaid_(std::move(unsaid)) {}

  bool says(const std::string& option) const {
    return !varies(plan_, option) && std::ranges::find(unsaid_, option) == unsaid_.end();
  }

  Phrase& say(const std::string& words) {
    text_.append(text_.empty() ? "" : ", ").append(words);
    return *this;
  }

  Phrase& value(const std::string& option) {
    if (!says(option)) return *this;
    if (option == "lambda" && plan_.at_best_lambda) {
      return say(mathematical_ ? "best $\\lambda$" : "best lambda");
    }
    const double value = experiment::option_value(plan_.points.front(), option);
    return say(mathematical_ ? fmt::format("${} = {:.6g}$", symbol(option).math, value)
                             : fmt::format("{} = {:.6g}", symbol(option).plain, value));
  }

  Phrase& value_unless_zero(const std::string& option) {
    return experiment::option_value(plan_.points.front(), option) == 0 ? *this : value(option);
  }

  const std::string& text() const { return text_; }

 private:
  const experiment::Plan& plan_;
  bool mathematical_;
  std::vector<std::string> unsaid_;
  std::string text_;
};

void describe_channel(Phrase& phrase, const Problem& problem) {
  phrase.say(to_string(problem.activation) + " " + to_string(problem.task)).value("tokens");
  if (problem.activation == Activation::softmax) phrase.value("beta");
}

void describe_teacher(Phrase& phrase, const Problem& problem) {
  if (std::holds_alternative<WishartTeacher>(problem.teacher)) {
    phrase.value("kappa0");
  } else if (const auto* power_law = std::get_if<PowerLawTeacher>(&problem.teacher)) {
    phrase.value("gamma");
    if (power_law->modes != 0) phrase.value("modes");
    phrase.value("dimension");
  } else {
    phrase.value("dimension");
  }
}

std::string teacher_words(const Problem& problem) {
  if (std::holds_alternative<WishartTeacher>(problem.teacher)) return "Wishart teacher";
  if (std::holds_alternative<PowerLawTeacher>(problem.teacher)) return "power-law teacher";
  const std::filesystem::path source = std::get<SpectrumTeacher>(problem.teacher).source;
  return "teacher " + source.filename().string();
}

std::string values_of(const Problem& problem, const std::vector<experiment::Axis>& axes, bool mathematical) {
  std::string text;
  for (const experiment::Axis& axis : axes) {
    text += text.empty() ? "" : ", ";
    const double value = experiment::option_value(problem, axis.option);
    if (axis.option == "parametrization") {
      text += to_string(problem.parametrization);
    } else {
      text += mathematical ? fmt::format("${} = {:.4g}$", symbol(axis.option).math, value)
                           : fmt::format("{} = {:.4g}", symbol(axis.option).plain, value);
    }
  }
  return text;
}

}  // namespace

std::string plain_heading(const experiment::Plan& plan, const std::vector<std::string>& unsaid) {
  const Problem& problem = plan.points.front();
  Phrase channel(plan, false, unsaid);
  describe_channel(channel, problem);
  channel.value("alpha").value("noise_in").value("noise_out");
  Phrase matrices(plan, false, unsaid);
  matrices.say(teacher_words(problem));
  describe_teacher(matrices, problem);
  if (matrices.says("parametrization")) matrices.say(to_string(problem.parametrization) + " student");
  matrices.value("kappa").value("lambda");
  return channel.text() + "\n" + matrices.text();
}

std::string trained_words(const experiment::Plan& plan) {
  Phrase phrase(plan, false);
  return phrase.say("trained").value("dimension").text();
}

std::string figure_title(const experiment::Plan& plan, const std::vector<std::string>& unsaid) {
  const Problem& problem = plan.points.front();
  Phrase phrase(plan, true, unsaid);
  describe_channel(phrase, problem);
  phrase.value("alpha").value_unless_zero("noise_in").value_unless_zero("noise_out");
  if (std::holds_alternative<SpectrumTeacher>(problem.teacher)) phrase.say("teacher from a list");
  describe_teacher(phrase, problem);
  phrase.value("kappa").value("lambda");
  return phrase.text();
}

std::vector<std::string> options_of_a_student() {
  return {"parametrization", "kappa", "width", "lambda"};
}

std::string axis_values(const Problem& problem, const std::vector<experiment::Axis>& axes) {
  return values_of(problem, axes, true);
}

std::string plain_values(const Problem& problem, const std::vector<experiment::Axis>& axes) {
  return values_of(problem, axes, false);
}

std::string plain_symbol(const std::string& option) {
  return symbol(option).plain;
}

std::string axis_label(const std::string& option) {
  return symbol(option).label;
}

std::string deviation_words(double in_errors) {
  return std::isnan(in_errors) ? "-" : fmt::format("{:+.1f}", in_errors);
}

bool has_few_modes(const Problem& problem) {
  constexpr double few = 30;  // an excess kurtosis of the scores of 0.2
  return problem.activation == Activation::softmax && effective_modes(problem) < few;
}

std::string remark(Outcome outcome) {
  return outcome == Outcome::converged ? std::string() : std::string(describe(outcome));
}

std::string remark(const theory::Solution& solution) {
  if (solution.outcome != Outcome::converged) return remark(solution.outcome);
  if (std::isnan(solution.stability.value)) return "stability: -";
  if (!solution.stable) return "not stable";
  return has_few_modes(solution.problem) ? "few modes" : "";
}

std::string remark(const experiment::Comparison& comparison) {
  const std::string of_theory = remark(comparison.theory);
  return of_theory.empty() ? remark(comparison.outcome) : of_theory;
}

}  // namespace qklab::cli
