#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/figures/dynamics_document.hpp"
#include "cli/figures/figure.hpp"
#include "cli/session/output.hpp"
#include "cli/session/verb.hpp"
#include "cli/words/wording.hpp"
#include "qklab/cli/words/table.hpp"
#include "qklab/experiment/description/run_options.hpp"
#include "truncation_error.hpp"
#include "weak_recovery.hpp"

namespace qklab::cli {
namespace {

using experiment::DynamicsCase;
using experiment::DynamicsOptions;
using experiment::DynamicsPlan;
using experiment::DynamicsPoint;
using experiment::MeanEscape;
using experiment::Method;
using experiment::MethodRun;

constexpr int rows_of_a_table = 12;

std::string time_rows(const MethodRun& run) {
  TableText table({{"tau", 8}, {"overlap"}, {"self-overlap"}, {"alignment"}, {"loss"}}, 5);
  const auto last = static_cast<int>(run.points.size()) - 1;
  const int apart = std::max(1, (last + rows_of_a_table - 1) / rows_of_a_table);
  for (int i = 0; i <= last; ++i) {
    if (i % apart != 0 && i != last) continue;
    const DynamicsPoint& point = run.points[static_cast<std::size_t>(i)];
    table.add({fmt::format("{:.4g}", point.time), with_error(point.overlap), with_error(point.self_overlap),
               with_error(point.alignment), with_error(point.loss)},
              point.time > run.trusted_until ? "not trusted" : "");
  }
  return table.text();
}

std::string escape_words(const MethodRun& run) {
  std::string text;
  for (const MeanEscape& escape : run.escapes) {
    if (escape.escaped == 0) continue;
    text += fmt::format("\nescape: {:g} of full alignment at tau = {}, n = {:.3g}", escape.threshold,
                        with_error(escape.time), escape.samples.value);
    if (escape.escaped < 1) text += fmt::format(" ({:.0f} % of the seeds)", 100 * escape.escaped);
  }
  return text.empty() ? "\nno escape" : text;
}

std::string run_text(const MethodRun& run) {
  std::string text = method_words(run, false);
  if (run.seeds > 0) text += fmt::format(", {} seed{}", run.seeds, run.seeds == 1 ? "" : "s");
  if (run.diverged > 0) text += fmt::format(", {} more diverged", run.diverged);
  text.append("\n").append(time_rows(run)).append(escape_words(run));
  if (!is_answer(run.outcome)) text.append("\nremark: ").append(describe(run.outcome));
  return text;
}

/// Keeps count of what was followed to its end.
class Ends {
 public:
  void add(const std::string& name, const MethodRun& run) {
    ++all_;
    if (is_answer(run.outcome)) return;
    if (failed_++ == 0) first_ = name + ": " + std::string(describe(run.outcome));
  }
  Status conclude(Session& session) const {
    if (failed_ == 0) return Status::done;
    session.bar.clear();
    complain(
        fmt::format("{} of {} trajectories did not reach their end; the first: {}", failed_, all_, first_));
    return Status::not_converged;
  }

 private:
  int all_ = 0;
  int failed_ = 0;
  std::string first_;
};

/// Theories that answer in a second, whose lines can be drawn smooth.
bool is_quick(Method method) {
  return method == Method::exact || method == Method::truncated || method == Method::words ||
         method == Method::direct;
}

/// The times and enough between them for a line that looks smooth.
std::vector<double> with_times_between(std::vector<double> times) {
  constexpr int line_points = 200;
  const double end = times.back();
  for (int i = 0; i <= line_points; ++i) times.push_back(end * i / line_points);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// The run without the points that were only drawn.
MethodRun at_times(MethodRun run, const std::vector<double>& times) {
  if (run.method == Method::sgd) return run;
  std::erase_if(run.points,
                [&](const DynamicsPoint& point) { return std::ranges::count(times, point.time) == 0; });
  return run;
}

DynamicsOptions options_of(const DynamicsPlan& plan, const DynamicsCase::Step& step, Session& session) {
  DynamicsOptions options = plan.options;
  options.order = std::max(1, step.order);
  options.progress = session.bar.piece();
  options.stop = session.stop;
  return options;
}

Status follow_cases(Session& session, const DynamicsPlan& plan) {
  const std::vector<std::string> quantities = dynamics_quantities(session.options);
  const std::optional<Figure> figure = figure_of(session);
  const bool json = session.options.on("json");
  const ProgressCallback progress = session.bar.whole();
  double all = 0;
  for (const DynamicsCase& one : plan.cases) all += static_cast<double>(one.steps.size());
  double done = 0;
  std::vector<FollowedCase> finished;
  Ends ends;
  if (!json) session.print(dynamics_title(plan, false));
  for (const DynamicsCase& one : plan.cases) {
    if (session.stop.requested()) break;
    finished.push_back({one, {}});
    const std::string name = case_words(plan, one.problem, false);
    if (!json && !name.empty()) session.print("\n" + name);
    for (const DynamicsCase::Step& step : one.steps) {
      progress({"trajectories", done++, all});
      const DynamicsOptions options = options_of(plan, step, session);
      DynamicsOptions of_line = options;
      if (figure && is_quick(step.method)) of_line.times = with_times_between(options.times);
      follow(one.problem, {step.method}, of_line, [&](const MethodRun& line) {
        const MethodRun run = at_times(line, options.times);
        session.print(json ? to_json(one.problem, options, run).dump() : fmt::format("\n{}", run_text(run)));
        ends.add(fmt::format("{}{}{}", name, name.empty() ? "" : ", ", method_words(run, false)), run);
        finished.back().runs.push_back(line);
      });
      if (session.stop.requested()) break;
    }
  }
  session.bar.clear();
  if (figure && !finished.front().runs.empty()) figure->draw(dynamics_figure(plan, finished, quantities));
  return ends.conclude(session);
}

Status follow_learning(Session& session) {
  const DynamicsPlan plan = experiment::dynamics_plan(session.options);
  session.announce(plan.cases.front().problem.teacher);
  if (session.options.on("weak_recovery")) return study_weak_recovery(session, plan);
  if (session.options.on("truncation_error")) return measure_truncation_error(session, plan);
  return follow_cases(session, plan);
}

}  // namespace

Verb dynamics_verb() {
  Verb::Group learning{"Learning", experiment::dynamics_options()};
  learning.options.push_back(dynamics_quantity_option());
  learning.options.push_back({"truncation_error", "",
                              "in place of trajectories: how far truncations stray from the exact flow", ""});
  return {"dynamics",
          "learning in time: online descent and its theories on one clock",
          {{"Problem", experiment::dynamics_problem_options()},
           learning,
           {"Weak recovery", experiment::weak_recovery_options()},
           output_group(true)},
          follow_learning};
}

}  // namespace qklab::cli
