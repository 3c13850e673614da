#include "qklab/cli/command.hpp"

#include <exception>
#include <new>
#include <vector>

#include "arguments.hpp"
#include "output.hpp"
#include "qklab/core/error.hpp"
#include "qklab/core/threads.hpp"
#include "signals.hpp"

namespace qklab::cli {
namespace {

constexpr long most_threads = 4096;
constexpr int failed = 1;
constexpr int bad_input = 2;
constexpr int closed_output = 141;  // what a shell reports of a process that wrote to a closed pipe

int run_verb(const Arguments& arguments) {
  const experiment::Description& options = arguments.options;
  set_thread_budget(static_cast<int>(options.whole_number("threads", 0, most_threads)));
  watch_signals();
  ProgressBar bar(options.on("quiet"));
  Session session{options, bar, stop_token()};
  const Status status = arguments.verb->run(session);
  return signal_status() != 0 ? signal_status() : static_cast<int>(status);
}

}  // namespace

int run(int argc, char** argv) {
  try {
    const std::vector<Verb> verbs{theory_verb(),    train_verb(),      compare_verb(), spectrum_verb(),
                                  decompose_verb(), thresholds_verb(), tune_verb(),    scaling_verb(),
                                  amp_verb(),       dynamics_verb()};
    const Arguments arguments = parse_arguments(argc, argv, verbs);
    if (!arguments.help.empty()) {
      print_line(arguments.help);
      return 0;
    }
    return run_verb(arguments);
  } catch (const ClosedOutput&) {
    return closed_output;
  } catch (const Error& error) {
    complain(error.what());
    return bad_input;
  } catch (const std::bad_alloc&) {
    complain("memory ran out; a smaller dimension or fewer samples need less");
    return failed;
  } catch (const std::exception& error) {
    complain(error.what());
    return failed;
  }
}

}  // namespace qklab::cli
