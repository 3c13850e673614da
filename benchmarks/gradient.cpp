// The gradient pass of training against the machine's own matrix products, T = 2, with stored and with
// regenerated tokens. All rates are the best of interleaved repetitions in this run. With --json one object a
// line.
#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "qklab/core/threads.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/student/parameters.hpp"
#include "qklab/lab/training/train.hpp"

namespace {

using namespace qklab;
using namespace qklab::lab;

constexpr int repetitions = 5;
constexpr int product_size = 1024;
constexpr double never = std::numeric_limits<double>::infinity();

template <class Call>
void keep_best(double& best, Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

/// c = a b, all product_size^2.
template <class Real>
void multiply(const std::vector<Real>& a, const std::vector<Real>& b, std::vector<Real>& c) {
  constexpr int n = product_size;
  if constexpr (std::is_same_v<Real, float>) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(),
                n);
  } else {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(),
                n);
  }
}

/// Rates in GFlop/s.
struct Rates {
  Problem problem;
  Precision precision = Precision::f64;
  int threads = 1;
  double gemm = 0;
  double stored = 0;
  double regenerated = 0;
};

template <class Real>
Rates measure(const Problem& problem, const Matrix& teacher, int threads) {
  set_thread_budget(0);
  const auto draw = [&](TokenStorage storage) {
    return draw_dataset<Real>(problem, teacher, 1, {.storage = storage, .progress = {}, .stop = {}});
  };
  const Dataset<Real> kept = draw(TokenStorage::stored);
  const Dataset<Real> labels = draw(TokenStorage::regenerated);
  const Matrix start = random_start(problem, 1);
  const std::span<const double> parameters(start.data(), static_cast<std::size_t>(start.size()));
  std::vector<double> gradient(parameters.size());
  constexpr std::size_t entries = std::size_t{product_size} * product_size;
  const std::vector<Real> a(entries, Real{1});
  const std::vector<Real> b(entries, Real{1});
  std::vector<Real> c(entries);
  Objective<Real> stored(kept, problem);
  Objective<Real> regenerated(labels, problem);
  double gemm_seconds = never;
  double stored_seconds = never;
  double regenerated_seconds = never;
  for (int i = 0; i < repetitions; ++i) {
    set_thread_budget(threads);
    keep_best(stored_seconds, [&] { stored(parameters, gradient); });
    keep_best(regenerated_seconds, [&] { regenerated(parameters, gradient); });
    const WholeBudgetForBlas whole;
    keep_best(gemm_seconds, [&] { multiply(a, b, c); });
  }
  const double pass_flops =
      4.0 * static_cast<double>(kept.samples) * problem.tokens * static_cast<double>(start.size());
  return {problem,
          std::is_same_v<Real, float> ? Precision::f32 : Precision::f64,
          threads,
          2e-9 * product_size * entries / gemm_seconds,
          1e-9 * pass_flops / stored_seconds,
          1e-9 * pass_flops / regenerated_seconds};
}

void print_heading() {
  fmt::print("{:>4} {:>4} {:>8} {:>8} {:>13} {:>15} {:>8} {:>18} {:>8}\n", "d", "type", "student", "threads",
             "gemm GFlop/s", "stored GFlop/s", "of gemm", "regenerated", "of gemm");
}

void print(const Rates& rates, bool as_json) {
  const Problem& problem = rates.problem;
  if (as_json) {
    const nlohmann::json line{{"dimension", problem.dimension},
                              {"precision", to_string(rates.precision)},
                              {"parametrization", to_string(problem.parametrization)},
                              {"threads", rates.threads},
                              {"gemm_gflops", rates.gemm},
                              {"stored_gflops", rates.stored},
                              {"stored_ratio", rates.stored / rates.gemm},
                              {"regenerated_gflops", rates.regenerated},
                              {"regenerated_ratio", rates.regenerated / rates.gemm}};
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print("{:>4} {:>4} {:>8} {:>8} {:>13.1f} {:>15.1f} {:>8.2f} {:>18.1f} {:>8.2f}\n", problem.dimension,
             to_string(rates.precision), to_string(problem.parametrization), rates.threads, rates.gemm,
             rates.stored, rates.stored / rates.gemm, rates.regenerated, rates.regenerated / rates.gemm);
}

void measure_all(bool as_json) {
  if (!as_json) print_heading();
  const auto measure_at = [&](int dimension, double alpha, Parametrization parametrization) {
    Problem problem;
    problem.dimension = dimension;
    problem.alpha = alpha;
    problem.parametrization = parametrization;
    const Matrix teacher = draw_teacher(problem, 1);
    for (int threads : {1, 2}) {
      print(measure<float>(problem, teacher, threads), as_json);
      print(measure<double>(problem, teacher, threads), as_json);
    }
  };
  // 13 GFlop a pass, 16, 40.
  measure_at(200, 1, Parametrization::tied);
  measure_at(400, 0.08, Parametrization::tied);
  measure_at(1000, 0.005, Parametrization::tied);
  measure_at(200, 0.5, Parametrization::direct);
  measure_at(200, 0.5, Parametrization::untied);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure_all(argc > 1 && std::string_view(argv[1]) == "--json");
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
