#include "trained_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "output.hpp"
#include "qklab/core/memory.hpp"
#include "qklab/experiment/description/run_options.hpp"

namespace qklab::cli {
namespace {

std::string flag(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

}  // namespace

Verb::Group training_on_request(const std::string& switch_name) {
  Verb::Group group{"Training, with " + flag(switch_name), experiment::training_options()};
  group.options.push_back(experiment::seeds_option());
  return group;
}

int seeds_on_request(const experiment::Description& options, const std::string& switch_name) {
  const bool asked =
      options.given(switch_name) && options.text(switch_name) != "false" && options.text(switch_name) != "0";
  if (asked) return experiment::seeds(options);
  const std::string reason = "has no effect without " + flag(switch_name);
  for (const experiment::Option& option : experiment::training_options()) options.refuse(option.name, reason);
  options.refuse(experiment::seeds_option().name, reason);
  return 0;
}

void prepare_training(Session& session, const std::vector<Problem>& points,
                      const lab::TrainOptions& options) {
  constexpr double worth_a_word = gibibyte / 4;
  const lab::MemoryNeed most = experiment::require_trainable(points, options);
  if (most.bytes < worth_a_word || session.options.on("quiet")) return;
  session.bar.clear();
  complain(fmt::format("training holds {:.3g} GiB of memory, tokens {}", most.bytes / gibibyte,
                       lab::to_string(most.storage)));
}

}  // namespace qklab::cli
