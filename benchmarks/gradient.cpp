// The gradient pass of training against the machine's own matrix products, at d = p = 200, n = 40,000, T = 2.
// Both rates are the best of interleaved repetitions in this run.
#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <type_traits>
#include <vector>

#include "qklab/core/threads.hpp"
#include "qklab/lab/objective.hpp"
#include "qklab/lab/parameters.hpp"
#include "qklab/lab/teacher.hpp"

namespace {

using namespace qklab;
using namespace qklab::lab;

constexpr int repetitions = 7;
constexpr int product_size = 1024;

template <class Call>
double seconds(Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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

template <class Real>
void measure(const char* name, const Problem& problem, const Matrix& teacher) {
  const Dataset<Real> data = draw_dataset<Real>(problem, teacher, 1);
  const Matrix start = random_start(problem, 1);
  const std::span<const double> parameters(start.data(), static_cast<std::size_t>(start.size()));
  std::vector<double> gradient(parameters.size());
  constexpr std::size_t entries = std::size_t{product_size} * product_size;
  const std::vector<Real> a(entries, Real{1});
  const std::vector<Real> b(entries, Real{1});
  std::vector<Real> c(entries);
  const double product_flops = 2.0 * product_size * entries;
  const double pass_flops =
      4.0 * static_cast<double>(data.samples) * problem.tokens * static_cast<double>(start.size());
  for (int threads : {1, 2}) {
    Objective<Real> objective(data, problem);
    double pass = 1e9;
    double product = 1e9;
    for (int i = 0; i < repetitions; ++i) {
      set_thread_budget(threads);
      pass = std::min(pass, seconds([&] { objective(parameters, gradient); }));
      const WholeBudgetForBlas whole;
      product = std::min(product, seconds([&] { multiply(a, b, c); }));
    }
    fmt::print("{:>4} {:>8} {:>8} {:>14.1f} {:>14.1f} {:>8.2f}\n", name, to_string(problem.parametrization),
               threads, pass_flops / pass * 1e-9, product_flops / product * 1e-9,
               pass_flops / pass / (product_flops / product));
  }
}

}  // namespace

int main() {
  Problem problem;
  problem.alpha = 1;
  problem.dimension = 200;
  set_thread_budget(0);
  const Matrix teacher = draw_teacher(problem, 1);
  fmt::print("{:>4} {:>8} {:>8} {:>14} {:>14} {:>8}\n", "type", "student", "threads", "pass GFlop/s",
             "gemm GFlop/s", "ratio");
  for (Parametrization parametrization :
       {Parametrization::tied, Parametrization::direct, Parametrization::untied}) {
    problem.parametrization = parametrization;
    measure<float>("f32", problem, teacher);
    measure<double>("f64", problem, teacher);
  }
}
