#include <exception>
#include <mutex>
#include <numeric>

#include "qklab/core/error.hpp"
#include "qklab/lab/online/online_sgd.hpp"

namespace qklab::lab {

std::vector<OnlineRun> online_sgd_runs(const AttentionIndexedModel& model,
                                       const std::function<std::vector<Matrix>(std::uint64_t seed)>& teachers,
                                       const OnlineSgdOptions& options, std::uint64_t first_seed, int seeds) {
  if (seeds < 1) throw InvalidParameter("seeds", seeds, "must be >= 1");
  std::vector<OnlineRun> runs(static_cast<std::size_t>(seeds));
  std::exception_ptr failure;
  std::mutex one_at_a_time;
  std::vector<double> done(runs.size(), 0.0);
#pragma omp parallel for schedule(dynamic) if (seeds > 1)
  for (int k = 0; k < seeds; ++k) {
    try {
      OnlineSgdOptions of_run = options;
      if (options.progress) {
        of_run.progress = [&, k](const Progress& progress) {
          const std::scoped_lock lock(one_at_a_time);
          done[k] = progress.done / progress.total;
          options.progress({"runs", std::accumulate(done.begin(), done.end(), 0.0), 1.0 * seeds});
        };
      }
      const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(k);
      runs[k] = online_sgd(model, teachers(seed), of_run, seed);
    } catch (...) {
      const std::scoped_lock lock(one_at_a_time);
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return runs;
}

}  // namespace qklab::lab
