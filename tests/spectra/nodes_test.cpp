#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <random>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab {
namespace {

using Complex = std::complex<double>;

struct Case {
  std::string name;
  Law law;
  double delta;
};

std::vector<Case> cases() {
  std::vector<std::pair<std::string, Law>> laws = {
      {"semicircle", SemicircleLaw{2}},
      {"one atom", DiscreteLaw{{0}, {1}}},
      {"three atoms", DiscreteLaw{{-1, 0, 1.5}, {0.2, 0.5, 0.3}}}};
  for (double kappa0 : {0.01, 0.3, 0.99, 1.0, 1.01, 10.0}) {
    laws.emplace_back("wishart " + std::to_string(kappa0), WishartLaw{kappa0});
  }
  for (double gamma : {0.75, 1.25}) {
    const std::vector<double> modes = power_law_eigenvalues(PowerLawTeacher{gamma, 0}, 400);
    laws.emplace_back("power law " + std::to_string(gamma), empirical_law(modes));
  }
  std::vector<Case> all;
  for (const auto& [name, law] : laws) {
    for (double delta : {1e-4, 1e-3, 1e-2, 0.1, 1.0, 30.0}) {
      all.push_back({name + ", delta = " + std::to_string(delta), law, delta});
    }
  }
  return all;
}

double power_sum(const std::vector<SpectralNode>& nodes, int k) {
  double sum = 0;
  for (const SpectralNode& node : nodes) sum += node.weight * std::pow(node.x, k);
  return sum;
}

TEST(Nodes, CarryMassMeanAndSecondMoment) {
  for (const Case& c : cases()) {
    const std::vector<SpectralNode> nodes = FreeConvolution(c.law, c.delta).nodes();
    const double second = moment(c.law, 2) + c.delta * c.delta;
    EXPECT_NEAR(power_sum(nodes, 0), 1, 1e-12) << c.name;
    EXPECT_NEAR(power_sum(nodes, 1), moment(c.law, 1), 1e-12 * std::sqrt(second)) << c.name;
    EXPECT_NEAR(power_sum(nodes, 2), second, 1e-12 * second) << c.name;
  }
}

TEST(Nodes, HilbertTransformGivesHalfTheLawOfItself) {
  // int H dmu = 0, int x H dmu = 1/2 by symmetry of 1/(x - s), and int (pi p)^2 - 3 H^2 dmu = 0.
  for (const Case& c : cases()) {
    double mean = 0;
    double first = 0;
    double squares = 0;
    double scale = 0;
    for (const SpectralNode& node : FreeConvolution(c.law, c.delta).nodes()) {
      const double imaginary = std::numbers::pi * node.density;
      mean += node.weight * node.hilbert;
      first += node.weight * node.x * node.hilbert;
      squares += node.weight * (imaginary * imaginary - 3 * node.hilbert * node.hilbert);
      scale += node.weight * (imaginary * imaginary + 3 * node.hilbert * node.hilbert);
    }
    const double size = std::sqrt((moment(c.law, 2) + c.delta * c.delta) * scale);
    EXPECT_NEAR(mean, 0, 1e-11 * std::sqrt(scale)) << c.name;
    EXPECT_NEAR(first, 0.5, 1e-12 * (1 + size)) << c.name;
    EXPECT_NEAR(squares, 0, 1e-11 * scale) << c.name;
  }
}

TEST(Nodes, MeanTeacherLevelFollowsFromTheHilbertTransform) {
  // E[S0 | x] = x - 2 delta^2 H(x): its mean against x is the second moment of the law itself.
  for (const Case& c : cases()) {
    double sum = 0;
    for (const SpectralNode& node : FreeConvolution(c.law, c.delta).nodes()) {
      sum += node.weight * node.x * (node.x - 2 * c.delta * c.delta * node.hilbert);
    }
    EXPECT_NEAR(sum, moment(c.law, 2), 1e-12 * (moment(c.law, 2) + c.delta * c.delta)) << c.name;
  }
}

TEST(Nodes, LieOnTheSupportInOrderWithTheDensityOfTheConvolution) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const std::vector<SpectralNode> nodes = mu.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_GT(nodes[i].density, 0) << c.name;
      ASSERT_GT(nodes[i].weight, 0) << c.name;
      if (i > 0) {
        ASSERT_LT(nodes[i - 1].x, nodes[i].x) << c.name;
      }
    }
    for (size_t i = 0; i < nodes.size(); i += 1 + nodes.size() / 20) {
      const double rounding = std::sqrt(1e-15 * (std::abs(nodes[i].x) + c.delta) / c.delta);
      EXPECT_NEAR(mu.density(nodes[i].x) / nodes[i].density, 1, 1e-9 + 10 * rounding) << c.name;
    }
  }
}

TEST(Nodes, AgreeWithTheContourAboveACut) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    for (double fraction : {0.9013, 0.4987, 0.0513}) {
      const double cut = mu.upper_quantile(fraction);
      double square = 0;
      double response = 0;
      for (const SpectralNode& node : mu.nodes(std::vector<double>{cut})) {
        if (node.x <= cut) continue;
        square += node.weight * (node.x - cut) * (node.x - cut);
        response += node.weight * (node.x - cut) * node.hilbert;
      }
      Complex contour_square = 0;
      Complex contour_response = 0;
      for (const ContourNode& node : mu.contour_above(cut)) {
        contour_square += (node.z - cut) * (node.z - cut) * node.g * node.dz;
        contour_response += (node.z - cut) * node.g * node.g * node.dz;
      }
      EXPECT_NEAR(-contour_square.imag() / std::numbers::pi / square, 1, 1e-10)
          << c.name << " above " << fraction;
      EXPECT_NEAR(-contour_response.imag() / (2 * std::numbers::pi) / response, 1, 1e-10)
          << c.name << " above " << fraction;
    }
  }
}

TEST(Nodes, TakeJumpsAtBreakpoints) {
  for (const Case& c : cases()) {
    const FreeConvolution mu(c.law, c.delta);
    const double low = mu.upper_quantile(0.7011);
    const double high = mu.upper_quantile(0.2017);
    const auto window = [&](double x) { return low < x && x < high ? 1.0 : 0.0; };
    const std::vector<double> breakpoints = {high, low};
    const double sensitivity =
        (mu.density(low) + mu.density(high)) * (std::abs(low) + std::abs(high)) * 1e-15;
    EXPECT_NEAR(mu.integrate(window, breakpoints), 0.4994, 1e-12 + sensitivity) << c.name;
  }
}

/// Up to 60 atoms, scattered or in tight groups, of equal or very unequal masses.
DiscreteLaw random_law(std::mt19937_64& engine) {
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  const int count = 1 + static_cast<int>(60 * uniform(engine) * uniform(engine));
  const bool grouped = uniform(engine) < 0.5;
  const double unevenness = uniform(engine) < 0.5 ? 3 : 0;
  std::map<double, double> masses;
  double total = 0;
  for (int i = 0; i < count; ++i) {
    const double location = grouped ? std::round(3 * normal(engine)) + 1e-3 * std::round(3 * normal(engine))
                                    : std::pow(10, -6 * uniform(engine)) * normal(engine);
    const double mass = std::pow(10, -unevenness * uniform(engine));
    masses[location] += mass;
    total += mass;
  }
  DiscreteLaw law;
  for (const auto& [location, mass] : masses) {
    law.locations.push_back(location);
    law.masses.push_back(mass / total);
  }
  return law;
}

TEST(Nodes, CarryTheMassOfRandomLaws) {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> exponent(-5, 1);
  for (int i = 0; i < 400; ++i) {
    const DiscreteLaw law = random_law(engine);
    const double delta = std::pow(10, exponent(engine));
    const std::vector<SpectralNode> nodes = FreeConvolution(law, delta).nodes();
    const double second = moment(law, 2) + delta * delta;
    EXPECT_NEAR(power_sum(nodes, 0), 1, 1e-12) << "law " << i << " delta " << delta;
    EXPECT_NEAR(power_sum(nodes, 2), second, 1e-12 * second) << "law " << i << " delta " << delta;
  }
}

TEST(Nodes, SurviveTheClosingOfAGap) {
  // Two equal atoms at -1 and 1 merge at delta = 1.
  const double cut = 1e-3;
  for (int digits = 1; digits <= 15; ++digits) {
    for (int sign : {-1, 1}) {
      const double delta = 1 + sign * std::pow(10.0, -digits);
      const FreeConvolution mu(DiscreteLaw{{-1, 1}, {0.5, 0.5}}, delta);
      EXPECT_EQ(mu.support().size(), delta < 1 ? 2 : 1) << delta - 1;
      EXPECT_NEAR(power_sum(mu.nodes(), 0), 1, 1e-13) << delta - 1;
      EXPECT_NEAR(mu.mass_above(0), 0.5, 1e-15) << delta - 1;
      Complex mass = 0;
      for (const ContourNode& node : mu.contour_above(cut)) mass += node.g * node.dz;
      EXPECT_NEAR(-mass.imag() / std::numbers::pi, mu.mass_above(cut), 1e-14) << delta - 1;
    }
  }
}

TEST(Nodes, SurviveTheNeighbourhoodOfAClosingGap) {
  // Widths at which plain steps towards the subordination creep and Newton's gain little.
  const std::vector<std::pair<double, double>> cases{
      {0.02, 4.3969345395361632}, {0.1, 1.240366419360186}, {0.5, 0.13247990255574491}};
  for (const auto& [kappa0, delta] : cases) {
    EXPECT_NEAR(power_sum(FreeConvolution(WishartLaw{kappa0}, delta).nodes(), 0), 1, 1e-13) << kappa0;
  }
}

TEST(Nodes, IgnoreBreakpointsOffTheSupport) {
  const FreeConvolution mu(WishartLaw{0.3}, 0.01);
  const double gap = mu.upper_quantile(0.3);
  const std::vector<double> breakpoints = {-50, gap, 50};
  EXPECT_EQ(mu.nodes(breakpoints).size(), mu.nodes().size());
}

}  // namespace
}  // namespace qklab
