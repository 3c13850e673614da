#include "qklab/cli/program/command.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "cli/session/output.hpp"
#include "cli/session/signals.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/threads.hpp"
#include "qklab/experiment/ranks/rank_session.hpp"

namespace qklab::cli {
namespace {

constexpr long most_threads = 4096;
constexpr int failed = 1;
constexpr int bad_input = 2;
constexpr int closed_output = 141;  // what a shell reports of a process that wrote to a closed pipe

int run_verb(const Arguments& arguments, experiment::RankSession& ranks) {
  const experiment::Description& options = arguments.options;
  const auto threads = static_cast<int>(options.whole_number("threads", 0, most_threads));
  set_thread_budget(options.given("threads") ? threads : ranks.threads());
  watch_signals();
  ProgressBar bar(options.on("quiet"));
  Session session{options, bar, ranks.agreed(stop_token()), ranks};
  const Status status = arguments.verb->run(session);
  return signal_status() != 0 ? signal_status() : static_cast<int>(status);
}

int run_on_this_rank(int argc, char** argv, experiment::RankSession& ranks) {
  const std::vector<Verb> verbs{theory_verb(),    train_verb(),      compare_verb(), spectrum_verb(),
                                decompose_verb(), thresholds_verb(), tune_verb(),    scaling_verb(),
                                amp_verb(),       dynamics_verb()};
  const Arguments arguments = parse_arguments(argc, argv, verbs);
  if (!arguments.help.empty()) {
    print_line(arguments.help);
    return 0;
  }
  return run_verb(arguments, ranks);
}

/// What went wrong, and the exit status that tells it.
struct Failure {
  int status = failed;
  std::string message;
};

Failure failure_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ClosedOutput&) {
    return {closed_output, ""};
  } catch (const Error& error) {
    return {bad_input, error.what()};
  } catch (const std::bad_alloc&) {
    return {failed, "memory ran out; a smaller dimension or fewer samples need less"};
  } catch (const std::exception& error) {
    return {failed, error.what()};
  }
}

}  // namespace

int run(int argc, char** argv) {
  experiment::RankSession ranks;
  std::optional<Silence> silence;
  if (ranks.rank() > 0) silence.emplace();
  try {
    return run_on_this_rank(argc, argv, ranks);
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    // Of an error that all ranks have the first speaks for all.
    if (!failure.message.empty()) complain(failure.message);
    if (ranks.all_are_here()) return failure.status;
    if (silence) {
      silence.reset();
      complain(fmt::format("rank {}: {}", ranks.rank(), failure.message));
    }
    ranks.abandon(failure.status);
    return failure.status;
  }
}

}  // namespace qklab::cli
