#include "qklab/dynamics/tied/tied_truncated.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dynamics/matrix_truth.hpp"
#include "qklab/core/error.hpp"
#include "qklab/dynamics/tied/tied_flow.hpp"

namespace qklab::dynamics {
namespace {

double power_mean(const DiscreteLaw& law, int power) {
  double sum = 0;
  for (std::size_t i = 0; i < law.locations.size(); ++i) {
    sum += law.masses[i] * std::pow(law.locations[i], power);
  }
  return sum;
}

TEST(TiedTruncated, GaussRuleHasTheMoments) {
  const DiscreteLaw full = empirical_law(wishart_eigenvalues(80, 40, 3));
  for (const int nodes : {1, 2, 5, 9}) {
    const DiscreteLaw rule = truncated_law(full, nodes);
    ASSERT_EQ(std::ssize(rule.locations), nodes);
    for (int power = 0; power < 2 * nodes; ++power) {
      EXPECT_NEAR(power_mean(rule, power) / power_mean(full, power), 1, 1e-10);
    }
  }
}

// Moments of the free Poisson law of rate kappa0 and jump 1/sqrt(kappa0): Narayana polynomials.
TEST(TiedTruncated, WishartCoefficientsAreThoseOfItsMoments) {
  const double kappa0 = 0.4;
  const DiscreteLaw rule = truncated_law(WishartLaw{kappa0}, 3);
  const double jump = 1 / std::sqrt(kappa0);
  EXPECT_NEAR(power_mean(rule, 1), kappa0 * jump, 1e-12);
  EXPECT_NEAR(power_mean(rule, 2), 1 + kappa0, 1e-12);
  EXPECT_NEAR(power_mean(rule, 3), std::pow(jump, 3) * (kappa0 + 3 * kappa0 * kappa0 + std::pow(kappa0, 3)),
              1e-12);
  EXPECT_NEAR(
      power_mean(rule, 4),
      std::pow(jump, 4) * (kappa0 + 6 * std::pow(kappa0, 2) + 6 * std::pow(kappa0, 3) + std::pow(kappa0, 4)),
      1e-11);
}

TEST(TiedTruncated, FewAtomsAreKeptAsTheyAre) {
  const DiscreteLaw law{{0.0, 1.0, 3.0}, {0.5, 0.25, 0.25}};
  const DiscreteLaw rule = truncated_law(law, 7);
  ASSERT_EQ(rule.locations.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(rule.locations[i], law.locations[i], 1e-13);
    EXPECT_NEAR(rule.masses[i], law.masses[i], 1e-13);
  }
}

// d = 150, T = 2 softmax, kappa0 = 1/2, start Tr S/d = 0.3: the largest error of m on [0, 4].
TEST(TiedTruncated, ErrorFallsExponentiallyWithTheOrder) {
  const DiscreteLaw full = empirical_law(wishart_eigenvalues(150, 75, 1));
  const SymmetricLoss loss({Activation::softmax, 2, 1.0, SampleLoss::Entries::all}, moment(full, 2));
  const std::vector<double> times = times_to(4, 80);
  const Trajectory exact = tied_flow(loss, full, {0.3, 1}, times);
  const auto error = [&](int nodes) {
    const Trajectory flow = tied_flow(loss, truncated_law(full, nodes), {0.3, 1}, times);
    double worst = 0;
    for (std::size_t k = 0; k < times.size(); ++k) {
      worst = std::max(worst, std::abs(flow.points[k].overlap.value - exact.points[k].overlap.value));
    }
    return worst;
  };
  const std::vector<double> most = {7e-2, 2e-2, 7e-3, 1e-3, 2e-4, 3e-5, 4e-6};
  const std::vector<int> orders = {2, 3, 4, 6, 8, 10, 12};
  double before = 1;
  for (std::size_t k = 0; k < orders.size(); ++k) {
    const double found = error(orders[k]);
    RecordProperty("error_" + std::to_string(orders[k]), std::to_string(found * 1e6));
    EXPECT_LT(found, 1.6 * most[k]) << orders[k];
    const int gained = k == 0 ? 1 : orders[k] - orders[k - 1];
    EXPECT_LT(found, before / std::pow(2, gained)) << orders[k];
    before = found;
  }
}

TEST(TiedTruncated, RefusesNoNodes) {
  EXPECT_THROW(truncated_law(WishartLaw{0.5}, 0), InvalidParameter);
  EXPECT_THROW(truncated_law(SemicircleLaw{}, 4), InvalidParameter);
}

}  // namespace
}  // namespace qklab::dynamics
