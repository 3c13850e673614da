// The flows know nothing of samples, online descent nothing of the flows, and
// their overlaps agree at every time. A run at dimension d deviates by c/d with
// an unknown c; two sizes in the ratio 1:2 determine it, so that 2 D(2d) - D(d)
// of the deviations D is zero within standard errors. Theories take the noise
// of finite steps along. docs/validation-dynamics.md has the same at larger
// dimensions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "qklab/core/threads.hpp"
#include "qklab/experiment/learning/dynamics.hpp"

namespace qklab::experiment {
namespace {

struct Case {
  const char* name;
  Architecture architecture;
  Parametrization parametrization;
  double step_noise;  ///< nu
  double end;         ///< tau
};

class DynamicsAgainstDescent : public testing::TestWithParam<Case> {};

TEST_P(DynamicsAgainstDescent, AgreeBeyondATermOfOrderOneOverDimension) {
  set_thread_budget(0);
  constexpr int seeds = 8;
  DynamicsProblem problem;
  problem.model = attention_indexed_model(GetParam().architecture);
  problem.parametrization = GetParam().parametrization;
  DynamicsOptions options;
  options.seeds = seeds;
  options.step_noise = true;
  options.thresholds = {};
  options.direct_start = lab::DirectStart::gaussian;
  options.times = {GetParam().end / 4, GetParam().end / 2, GetParam().end};
  const auto follow_by = [&](Method method, int dimension) {
    problem.dimension = dimension;
    options.batch = dimension / 2;
    options.step = GetParam().step_noise * options.batch / dimension;
    MethodRun found;
    follow(problem, {method}, options, [&](const MethodRun& run) { found = run; });
    return found;
  };
  // The limit: the same at every dimension.
  const MethodRun theory =
      follow_by(problem.parametrization == Parametrization::tied ? Method::exact : Method::direct, 100);
  const auto deviations = [&](int dimension) {
    const MethodRun descent = follow_by(Method::sgd, dimension);
    EXPECT_EQ(descent.diverged, 0);
    std::vector<Estimate> result;
    for (std::size_t i = 0; i < options.times.size(); ++i) {
      for (Estimate DynamicsPoint::*quantity : {&DynamicsPoint::overlap, &DynamicsPoint::self_overlap}) {
        const Estimate measured = descent.points[i].*quantity;
        const Estimate predicted = theory.points[i].*quantity;
        result.push_back({measured.value - predicted.value, std::hypot(measured.se, predicted.se)});
      }
    }
    return result;
  };
  const std::vector<Estimate> small = deviations(50);
  const std::vector<Estimate> large = deviations(100);
  for (std::size_t i = 0; i < small.size(); ++i) {
    const double extrapolated = 2 * large[i].value - small[i].value;
    const double se = std::hypot(2 * large[i].se, small[i].se);
    std::printf(
        "%-16s tau %.3f %s  d %+.4f(%.4f)  2d %+.4f(%.4f)  "
        "extrapolated %+.4f(%.4f)\n",
        GetParam().name, options.times[i / 2], i % 2 == 0 ? "m" : "q", small[i].value, small[i].se,
        large[i].value, large[i].se, extrapolated, se);
    EXPECT_NEAR(extrapolated, 0, 3 * se);
  }
}

INSTANTIATE_TEST_SUITE_P(
    FiveProblems, DynamicsAgainstDescent,
    testing::Values(Case{"tied_softmax", Architecture::softmax, Parametrization::tied, 0.4, 0.6},
                    Case{"tied_linear", Architecture::linear, Parametrization::tied, 0.05, 0.06},
                    Case{"direct_softmax", Architecture::softmax, Parametrization::direct, 0.4, 0.6},
                    Case{"direct_linear", Architecture::linear, Parametrization::direct, 0.05, 0.1},
                    Case{"direct_h2", Architecture::h2, Parametrization::direct, 0.02, 0.08}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace qklab::experiment
