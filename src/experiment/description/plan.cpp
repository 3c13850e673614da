#include "qklab/experiment/description/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "qklab/core/error.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/core/spectrum_file.hpp"
#include "qklab/experiment/description/grid.hpp"

namespace qklab::experiment {
namespace {

/// A numeric option of a problem, and where the problem keeps it.
struct NumericOption {
  const char* name;
  bool whole;
  void (*set)(Problem&, double);
  double (*get)(const Problem&);
};

template <auto Member>
constexpr NumericOption field(const char* name) {
  using Value = std::remove_cvref_t<decltype(std::declval<Problem>().*Member)>;
  return {name, std::is_integral_v<Value>,
          [](Problem& problem, double value) { problem.*Member = static_cast<Value>(value); },
          [](const Problem& problem) { return static_cast<double>(problem.*Member); }};
}

template <class TeacherType, auto Member>
constexpr NumericOption teacher_field(const char* name) {
  using Value = std::remove_cvref_t<decltype(std::declval<TeacherType>().*Member)>;
  return {name, std::is_integral_v<Value>,
          [](Problem& problem, double value) {
            std::get<TeacherType>(problem.teacher).*Member = static_cast<Value>(value);
          },
          [](const Problem& problem) {
            return static_cast<double>(std::get<TeacherType>(problem.teacher).*Member);
          }};
}

/// Numbers of samples and width in plain numbers; d is set before them (see product).
void set_samples(Problem& problem, double samples) {
  problem.alpha = samples / problem.dimension / problem.dimension;
}
double get_samples(const Problem& problem) {
  return problem.alpha * problem.dimension * problem.dimension;
}
void set_width(Problem& problem, double width) {
  problem.kappa = width / problem.dimension;
}
double get_width(const Problem& problem) {
  return problem.kappa * problem.dimension;
}
void set_parametrization(Problem& problem, double index) {
  problem.parametrization = static_cast<Parametrization>(static_cast<int>(index));
}
double get_parametrization(const Problem& problem) {
  return static_cast<double>(problem.parametrization);
}

constexpr std::array numeric_options{
    field<&Problem::alpha>("alpha"),
    NumericOption{"samples", false, set_samples, get_samples},
    field<&Problem::tokens>("tokens"),
    field<&Problem::beta>("beta"),
    field<&Problem::noise_in>("noise_in"),
    field<&Problem::noise_out>("noise_out"),
    teacher_field<WishartTeacher, &WishartTeacher::kappa0>("kappa0"),
    teacher_field<PowerLawTeacher, &PowerLawTeacher::gamma>("gamma"),
    teacher_field<PowerLawTeacher, &PowerLawTeacher::modes>("modes"),
    field<&Problem::kappa>("kappa"),
    NumericOption{"width", true, set_width, get_width},
    NumericOption{"parametrization", true, set_parametrization, get_parametrization},
    field<&Problem::lambda>("lambda"),
    field<&Problem::dimension>("dimension"),
};

constexpr std::array<std::string_view, 3> options_of_a_teacher{"kappa0", "gamma", "modes"};

/// The word that asks for the best weight decay of each point in place of a number.
constexpr const char* best = "best";

const NumericOption& numeric_option(const std::string& name) {
  const auto* found =
      std::ranges::find_if(numeric_options, [&](const NumericOption& option) { return option.name == name; });
  if (found == numeric_options.end()) throw InvalidParameter("option", name, "must be a numeric option");
  return *found;
}

/// A numeric option with the values it takes in the grid.
struct Factor {
  const NumericOption* option;
  std::vector<double> values;
};

Problem common_part(const Description& description);
Teacher parse_teacher(const std::string& text);
bool applies(const NumericOption& option, const Problem& problem);
std::string teacher_name(const Teacher& teacher);
void refuse_options_without_effect(const Description& description, const Problem& problem);
void refuse_one_of_two(const Description& description, const std::string& ratio, const std::string& number);
std::vector<Factor> factors(const Description& description, const Problem& common);
std::vector<double> values(const Description& description, const NumericOption& option);
void require_room_for_teacher(const Problem& common, const std::vector<Factor>& factors);
std::vector<Problem> product(const Problem& common, const std::vector<Factor>& factors);

}  // namespace

Plan plan(const Description& description) {
  const Problem common = common_part(description);
  refuse_options_without_effect(description, common);
  refuse_one_of_two(description, "alpha", "samples");
  refuse_one_of_two(description, "kappa", "width");
  const std::vector<Factor> grid = factors(description, common);
  require_room_for_teacher(common, grid);
  Plan plan;
  plan.at_best_lambda = description.text("lambda") == best;
  for (const Problem& point : product(common, grid)) plan.points.push_back(checked(point));
  for (const Factor& factor : grid) {
    if (factor.values.size() > 1) plan.axes.push_back({factor.option->name, factor.values});
  }
  return plan;
}

bool Plan::starts_a_series(std::size_t point) const {
  return axes.empty() || point % axes.front().values.size() == 0;
}

std::vector<Axis> Plan::further_axes() const {
  return {axes.begin() + (axes.empty() ? 0 : 1), axes.end()};
}

Teacher teacher_of(const Description& description) {
  constexpr long most = std::numeric_limits<int>::max();
  Problem problem;
  problem.teacher = parse_teacher(description.text("teacher"));
  for (const NumericOption& option : numeric_options) {
    if (std::ranges::count(options_of_a_teacher, std::string_view(option.name)) == 0) continue;
    if (!applies(option, problem)) {
      description.refuse(option.name, "has no effect with teacher = " + teacher_name(problem.teacher));
    } else if (description.given(option.name)) {
      option.set(problem, option.whole ? static_cast<double>(description.whole_number(option.name, 1, most))
                                       : description.number(option.name));
    }
  }
  return problem.teacher;
}

double option_value(const Problem& problem, const std::string& option) {
  return numeric_option(option).get(problem);
}

Problem with_option(Problem problem, const std::string& option, double value) {
  numeric_option(option).set(problem, value);
  return checked(std::move(problem));
}

bool is_whole_option(const std::string& option) {
  return numeric_option(option).whole;
}

std::vector<Option> problem_options() {
  const Problem standard;
  const auto number = [](double value) { return fmt::format("{}", value); };
  return {
      {"alpha", "NUMBERS", "n/d^2, samples per squared dimension, > 0", ""},
      {"samples", "NUMBERS", "n, in place of alpha", ""},
      {"tokens", "NUMBERS", "T, tokens in a sample", number(standard.tokens)},
      {"activation", "softmax|identity|hermite2|hermite3|hardmax", "from scores to labels",
       to_string(standard.activation)},
      {"beta", "NUMBERS", "inverse temperature of the softmax", number(standard.beta)},
      {"task", "seq2lab|seq2seq", "label: the T x T attention matrix, or the T x d mixed tokens",
       to_string(standard.task)},
      {"noise_in", "NUMBERS", "variance of the noise on the scores", number(standard.noise_in)},
      {"noise_out", "NUMBERS", "variance of the noise on the labels", number(standard.noise_out)},
      {"teacher", "wishart|power-law|spectrum:FILE", "law of the target's eigenvalues",
       teacher_name(standard.teacher)},
      {"kappa0", "NUMBERS", "rank ratio p0/d of a Wishart teacher", number(WishartTeacher{}.kappa0)},
      {"gamma", "NUMBERS", "exponent of a power-law teacher, eigenvalue i^-gamma",
       number(PowerLawTeacher{}.gamma)},
      {"modes", "NUMBERS", "number of modes of a power-law teacher", "d"},
      {"kappa", "NUMBERS", "width ratio p/d of the student", number(standard.kappa)},
      {"width", "NUMBERS", "p, in place of kappa", ""},
      {"parametrization", "tied|direct|untied", "S = W W^T, S itself, or S = U V^T; or a list of them",
       to_string(standard.parametrization)},
      {"lambda", "NUMBERS|best", "weight decay, or the best one of each point", number(standard.lambda)},
      {"dimension", "NUMBERS", "d, for trained models and for teachers given mode by mode",
       number(standard.dimension)},
  };
}

namespace {

Problem common_part(const Description& description) {
  Problem problem;
  problem.activation = parse_activation(description.text("activation"));
  problem.task = parse_task(description.text("task"));
  problem.teacher = parse_teacher(description.text("teacher"));
  return problem;
}

Teacher parse_teacher(const std::string& text) {
  const std::string spectrum = "spectrum:";
  if (text == "wishart") return WishartTeacher{};
  if (text == "power-law") return PowerLawTeacher{};
  if (text.starts_with(spectrum) && text.size() > spectrum.size()) {
    return read_spectrum(text.substr(spectrum.size()));
  }
  throw InvalidParameter("teacher", text, "must be one of wishart, power-law, spectrum:FILE");
}

std::string teacher_name(const Teacher& teacher) {
  if (std::holds_alternative<WishartTeacher>(teacher)) return "wishart";
  if (std::holds_alternative<PowerLawTeacher>(teacher)) return "power-law";
  return "spectrum:" + std::get<SpectrumTeacher>(teacher).source;
}

/// Of a ratio and the plain number behind it, the one that was given.
bool is_chosen(const std::string& name, const Description& description) {
  if (name == "alpha") return !description.given("samples");
  if (name == "kappa") return !description.given("width");
  if (name == "samples" || name == "width") return description.given(name);
  return true;
}

bool applies(const NumericOption& option, const Problem& problem) {
  const std::string name = option.name;
  if (name == "kappa0") return std::holds_alternative<WishartTeacher>(problem.teacher);
  if (name == "gamma" || name == "modes") return std::holds_alternative<PowerLawTeacher>(problem.teacher);
  return true;
}

void refuse_options_without_effect(const Description& description, const Problem& problem) {
  for (const NumericOption& option : numeric_options) {
    if (!applies(option, problem)) {
      description.refuse(option.name, "has no effect with teacher = " + teacher_name(problem.teacher));
    }
  }
  if (problem.activation != Activation::softmax &&
      description.numbers("beta") != std::vector{Problem{}.beta}) {
    description.refuse("beta", "has no effect with activation = " + to_string(problem.activation));
  }
}

void refuse_one_of_two(const Description& description, const std::string& ratio, const std::string& number) {
  if (!description.given(ratio)) return;
  description.refuse(number, fmt::format("states the same as {}: give one of them", ratio));
}

std::vector<Factor> factors(const Description& description, const Problem& common) {
  std::vector<Factor> factors;
  for (const NumericOption& option : numeric_options) {
    if (!is_chosen(option.name, description)) continue;
    if (applies(option, common)) factors.push_back({&option, values(description, option)});
  }
  const auto* spectrum = std::get_if<SpectrumTeacher>(&common.teacher);
  if (spectrum != nullptr && !description.given("dimension")) {
    factors.back().values = {static_cast<double>(spectrum->eigenvalues.size())};
  }
  return factors;
}

/// The places of a comma list of parametrizations in their enumeration.
std::vector<double> parametrizations(const std::string& text) {
  std::vector<double> places;
  for (const std::string& name : parse_names(text)) {
    places.push_back(static_cast<double>(parse_parametrization(name)));
  }
  return places;
}

std::vector<double> values(const Description& description, const NumericOption& option) {
  const std::string name = option.name;
  if (name == "modes" && !description.given(name)) return {0};
  if (name == "lambda" && description.text(name) == best) return {Problem{}.lambda};
  if (name == "parametrization") return parametrizations(description.text(name));
  if (!option.whole) return description.numbers(name);
  std::vector<double> wholes = description.whole_numbers(name);
  for (double value : wholes) {
    if (value < 1 || value > std::numeric_limits<int>::max()) {
      throw InvalidParameter(name, value, fmt::format("must be in 1..{}", std::numeric_limits<int>::max()));
    }
  }
  return wholes;
}

/// A power law is a list of d eigenvalues, of which theory and lab hold a few copies; d is the last factor.
void require_room_for_teacher(const Problem& common, const std::vector<Factor>& factors) {
  constexpr double bytes_of_a_mode = 64;
  if (!std::holds_alternative<PowerLawTeacher>(common.teacher)) return;
  const double largest = std::ranges::max(factors.back().values);
  require_memory(bytes_of_a_mode * largest, fmt::format("dimension = {}", largest),
                 "a teacher of that many modes");
}

std::vector<Problem> product(const Problem& common, const std::vector<Factor>& factors) {
  constexpr double most_points = 1e5;
  double count = 1;
  for (const Factor& factor : factors) count *= static_cast<double>(factor.values.size());
  if (count > most_points) throw InvalidParameter("grid", count, "points; must be at most 100000");

  std::vector<Problem> points{common};
  // Each pass repeats the points so far for every value of a faster factor.
  const std::vector<Factor> slowest_first(factors.rbegin(), factors.rend());
  for (const Factor& factor : slowest_first) {
    std::vector<Problem> finer;
    finer.reserve(points.size() * factor.values.size());
    for (const Problem& point : points) {
      for (double value : factor.values) {
        finer.push_back(point);
        factor.option->set(finer.back(), value);
      }
    }
    points = std::move(finer);
  }
  return points;
}

}  // namespace
}  // namespace qklab::experiment
