#include <cblas.h>

#include <cmath>
#include <string>
#include <vector>

#include "qklab/core/threads.hpp"
#include "qklab/theory/erm/state_evolution.hpp"
#include "requests.hpp"

namespace qklab::side_by_side {
namespace {

template <class Real>
void multiply(int n, const std::vector<Real>& a, const std::vector<Real>& b, std::vector<Real>& c) {
  if constexpr (std::is_same_v<Real, float>) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(),
                n);
  } else {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(),
                n);
  }
}

template <class Real>
std::vector<double> products(int size, int repeats) {
  const std::vector<Real> a(static_cast<std::size_t>(size) * size, Real{1});
  std::vector<Real> c(a.size());
  const WholeBudgetForBlas whole;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(seconds([&] { multiply(size, a, a, c); }));
  return times;
}

}  // namespace

Problem problem_of(const Json& request) {
  Problem problem;
  problem.tokens = request.value("tokens", problem.tokens);
  problem.activation = parse_activation(request.value("activation", to_string(problem.activation)));
  problem.alpha = request.value("alpha", problem.alpha);
  problem.noise_in = request.value("noise_in", problem.noise_in);
  problem.noise_out = request.value("noise_out", problem.noise_out);
  problem.lambda = request.value("lambda", problem.lambda);
  problem.dimension = request.value("dimension", problem.dimension);
  if (request.contains("gamma")) {
    problem.teacher = PowerLawTeacher{request["gamma"], request.value("modes", 0)};
  } else {
    problem.teacher = WishartTeacher{request.value("kappa0", 0.5)};
  }
  return problem;
}

Json gemm(const Json& request) {
  const int size = request.value("size", 1024);
  const int repeats = request.value("repeats", 1);
  return {{"seconds", request.at("precision") == "f32" ? products<float>(size, repeats)
                                                       : products<double>(size, repeats)}};
}

Json theory(const Json& request) {
  const Problem problem = problem_of(request);
  qklab::theory::SolveOptions options;
  options.tolerance = request.value("tolerance", options.tolerance);
  options.qmc.log2_points = request.value("log2_points", options.qmc.log2_points);
  std::vector<double> times;
  qklab::theory::Solution solution;
  for (int i = request.value("repeats", 1); i > 0; --i) {
    times.push_back(seconds([&] { solution = qklab::theory::solve(problem, options); }));
  }
  const double mhat = solution.overlap_hat.value;
  return {{"seconds", times},
          {"error", teacher_self_overlap(problem) - 2 * solution.overlap.value + solution.self_overlap.value},
          {"noise_level", std::sqrt(solution.self_overlap_hat.value) / mhat},
          {"cut", 2 * problem.lambda / mhat},
          {"iterations", solution.iterations},
          {"outcome", describe(solution.outcome)}};
}

}  // namespace qklab::side_by_side
