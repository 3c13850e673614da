#include "qklab/theory/erm/iterates.hpp"

#include <cmath>
#include <optional>

#include "error_propagation.hpp"
#include "qklab/core/error.hpp"
#include "state_evolution_map.hpp"

namespace qklab::theory {
namespace {

void require_start(const OrderParameters& start, int iterations);
Iterate iterate_of(const StateEvolutionMap& map, const OrderParameters& order,
                   const std::vector<Observation>& observations);
bool is_settled(const OrderParameters& before, const OrderParameters& after);

}  // namespace

std::vector<Iterate> iterates(const Problem& problem, const OrderParameters& start, int iterations,
                              const SolveOptions& options) {
  require_start(start, iterations);
  StateEvolutionMap map(checked(problem), options.qmc);
  std::vector<Iterate> path;
  OrderParameters order = start;
  bool settled = false;
  while (std::ssize(path) <= iterations && !options.stop.requested()) {
    if (settled) {
      path.push_back(path.back());
      continue;
    }
    const Eigen::VectorXd x = map.coordinates(order);
    map.choose_estimator(x);
    const std::optional<std::vector<Observation>> observations = map.observe(x);
    if (!observations) break;
    path.push_back(iterate_of(map, order, *observations));
    const OrderParameters next = observations->front().student.order;
    settled = is_settled(order, next);
    order = next;
  }
  return path;
}

namespace {

Iterate iterate_of(const StateEvolutionMap& map, const OrderParameters& order,
                   const std::vector<Observation>& observations) {
  const Eigen::VectorXd& mean = observations.front().values;
  Eigen::VectorXd errors(static_cast<Eigen::Index>(observations.size()) - 1);
  for (Eigen::Index s = 0; s < errors.size(); ++s) errors[s] = observations[s + 1].values[test_error];
  return {order.overlap,
          map.self_overlap(order),
          order.susceptibility,
          {mean[overlap_hat], mean[self_overlap_hat], mean[susceptibility_hat]},
          {mean[test_error], standard_error(errors)}};
}

/// Further iterations would repeat themselves.
bool is_settled(const OrderParameters& before, const OrderParameters& after) {
  constexpr double digits = 1e-9;
  const auto agree = [](double a, double b) { return std::abs(a - b) <= digits * std::abs(b); };
  return agree(before.overlap, after.overlap) && agree(before.orthogonal, after.orthogonal) &&
         agree(before.susceptibility, after.susceptibility);
}

void require_start(const OrderParameters& start, int iterations) {
  if (iterations < 0) throw InvalidParameter("iterations", iterations, "must be >= 0");
  if (!(start.susceptibility > 0) || !std::isfinite(start.susceptibility)) {
    throw InvalidParameter("susceptibility", start.susceptibility, "must be > 0 and finite");
  }
  if (!(start.orthogonal >= 0) || !std::isfinite(start.orthogonal)) {
    throw InvalidParameter("orthogonal", start.orthogonal, "must be >= 0 and finite");
  }
  if (!std::isfinite(start.overlap)) throw InvalidParameter("overlap", start.overlap, "must be finite");
}

}  // namespace
}  // namespace qklab::theory
