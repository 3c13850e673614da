#pragma once

#include <string>
#include <vector>

#include "qklab/cli/session/progress_bar.hpp"
#include "qklab/core/outcome.hpp"
#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/experiment/description/description.hpp"
#include "qklab/experiment/description/plan.hpp"
#include "qklab/experiment/ranks/rank_session.hpp"

namespace qklab::cli {

/// Exit statuses of a verb that ran to its end.
enum class Status { done = 0, not_converged = 3 };

/// What a verb works with.
struct Session {
  const experiment::Description& options;
  ProgressBar& bar;
  StopToken stop;
  experiment::RankSession& ranks;

  /// One line, or several, of results on standard output.
  void print(const std::string& lines);

  /// The plan that the options state; says what `announce` says.
  experiment::Plan plan();

  /// Says on standard error, unless --quiet was given, what was changed in a teacher that came from a file.
  void announce(const Teacher& teacher);
};

/// Keeps count of points that did not converge.
class Convergence {
 public:
  void add(const Problem& problem, Outcome outcome);
  /// The exit status; says on standard error how many points did not converge, and which was the first.
  Status conclude(Session& session) const;

 private:
  int points_ = 0;
  int failed_ = 0;
  std::string first_;
};

/// One verb of the command: its options in groups for the help, and what it does.
struct Verb {
  struct Group {
    std::string title;
    std::vector<experiment::Option> options;
  };
  std::string name;
  std::string meaning;
  std::vector<Group> groups;
  Status (*run)(Session&);
};

Verb theory_verb();
Verb train_verb();
Verb compare_verb();
Verb spectrum_verb();
Verb thresholds_verb();
Verb decompose_verb();
Verb tune_verb();
Verb scaling_verb();
Verb amp_verb();
Verb dynamics_verb();

/// The groups that several verbs share: the problem; seed, threads, output.
Verb::Group problem_group();
Verb::Group output_group(bool draws);

/// Whose numbers theory and compare show.
enum class Estimator { erm, bayes };
std::string to_string(Estimator estimator);
/// --estimator, and --bayes for the reference beside the minimiser's numbers.
std::vector<experiment::Option> estimator_options();
Estimator estimator_of(const experiment::Description& options);
/// The Bayes-optimal reference has no student: throws InvalidParameter for an option that describes one.
void refuse_options_of_a_student(const experiment::Description& options);
/// Whether the Bayes-optimal reference is asked for at all. Throws InvalidParameter when a point of the plan
/// has none.
bool wants_reference(const experiment::Description& options, const experiment::Plan& plan);

/// `theory --estimator bayes`
Status solve_bayes_points(Session& session);

}  // namespace qklab::cli
