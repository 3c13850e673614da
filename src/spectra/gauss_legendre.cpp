#include "gauss_legendre.hpp"

#include <array>
#include <boost/math/special_functions/legendre.hpp>

namespace qklab::spectra {
namespace {

constexpr std::array kSizes = {16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};

GaussLegendreRule make_rule(int size) {
  const std::vector<double> positive = boost::math::legendre_p_zeros<double>(size);
  GaussLegendreRule rule{std::vector<double>(size), std::vector<double>(size)};
  for (int i = 0; i < size / 2; ++i) {
    const double x = positive[i];
    const double slope = boost::math::legendre_p_prime(size, x);
    const double weight = 2 / ((1 - x) * (1 + x) * slope * slope);
    rule.nodes[size / 2 + i] = x;
    rule.nodes[size / 2 - 1 - i] = -x;
    rule.weights[size / 2 + i] = weight;
    rule.weights[size / 2 - 1 - i] = weight;
  }
  return rule;
}

std::array<GaussLegendreRule, kSizes.size()> make_rules() {
  std::array<GaussLegendreRule, kSizes.size()> rules;
  for (size_t i = 0; i < kSizes.size(); ++i) rules[i] = make_rule(kSizes[i]);
  return rules;
}

}  // namespace

const GaussLegendreRule& gauss_legendre(double count) {
  static const std::array<GaussLegendreRule, kSizes.size()> rules = make_rules();
  for (size_t i = 0; i < kSizes.size(); ++i) {
    if (kSizes[i] >= count) return rules[i];
  }
  return rules.back();
}

}  // namespace qklab::spectra
