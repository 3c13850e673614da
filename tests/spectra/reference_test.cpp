#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>

#include "qklab/spectra/free_convolution.hpp"

namespace qklab {
namespace {

using Json = nlohmann::json;

struct Reference {
  std::string name;
  FreeConvolution mu;
  double tolerance;  ///< relative
  double cut;
  Json values;
};

Law law_of(const Json& record) {
  if (record["law"] == "wishart") return WishartLaw{record["kappa0"]};
  if (record["law"] == "atoms") return DiscreteLaw{record["locations"], record["masses"]};
  return empirical_law(power_law_eigenvalues(PowerLawTeacher{record["gamma"], 0}, record["modes"]));
}

/// Values in 17 digits by an independent program, tests/data/generate_spectra_reference.py.
std::vector<Reference> references() {
  std::ifstream file(QKLAB_TEST_DATA "/spectra-reference.json");
  std::vector<Reference> all;
  const Json data = Json::parse(file);
  for (const Json& record : data["records"]) {
    const double delta = record["delta"];
    const double cut = record["cut"];
    const FreeConvolution mu(law_of(record), delta);
    std::string name = record["law"].get<std::string>() + " delta " + std::to_string(delta) + " cut " +
                       std::to_string(cut) +
                       (record.contains("kappa0") ? " kappa0 " + record["kappa0"].dump() : "");
    // Rounding of the cut and of the modes against the width of a mode's interval.
    const double rounding = 1e-15 * (std::abs(cut) + delta) * (mu.density(cut) + 1 / delta);
    all.push_back({std::move(name), mu, 2e-12 + 4 * rounding, cut, record});
  }
  return all;
}

void expect_near(const Reference& reference, const char* key, double value) {
  if (!reference.values.contains(key)) return;
  const double truth = reference.values[key];
  EXPECT_NEAR(value, truth, reference.tolerance * std::abs(truth)) << reference.name << " " << key;
}

TEST(Reference, CoversEveryKindOfLaw) {
  std::map<std::string, int> count;
  for (const Reference& reference : references()) ++count[reference.values["law"]];
  EXPECT_GE(count["wishart"], 80);
  EXPECT_GE(count["atoms"], 18);
  EXPECT_GE(count["power"], 12);
}

TEST(Reference, ContourMatches) {
  for (const Reference& reference : references()) {
    const double cut = reference.cut;
    std::complex<double> mass = 0;
    std::complex<double> linear = 0;
    std::complex<double> square = 0;
    std::complex<double> mixed = 0;
    std::complex<double> response = 0;
    for (const auto& [z, g, dz] : reference.mu.contour_above(cut)) {
      mass += g * dz;
      linear += (z - cut) * g * dz;
      square += (z - cut) * (z - cut) * g * dz;
      mixed += z * (z - cut) * g * dz;
      response += (z - cut) * g * g * dz;
    }
    const double factor = -1 / std::numbers::pi;
    expect_near(reference, "mass", factor * mass.imag());
    expect_near(reference, "linear", factor * linear.imag());
    expect_near(reference, "square", factor * square.imag());
    expect_near(reference, "mixed", factor * mixed.imag());
    expect_near(reference, "response", factor * reference.mu.delta() * response.imag());
  }
}

TEST(Reference, NodesMatch) {
  for (const Reference& reference : references()) {
    const double cut = reference.cut;
    double mean = 0;
    double second = 0;
    double mass = 0;
    double linear = 0;
    double square = 0;
    double mixed = 0;
    double response = 0;
    for (const SpectralNode& node : reference.mu.nodes(std::vector<double>{cut})) {
      mean += node.weight * node.x;
      second += node.weight * node.x * node.x;
      if (node.x <= cut) continue;
      const double above = node.x - cut;
      mass += node.weight;
      linear += node.weight * above;
      square += node.weight * above * above;
      mixed += node.weight * above * node.x;
      response += node.weight * above * node.hilbert;
    }
    expect_near(reference, "mean", mean);
    expect_near(reference, "second", second);
    expect_near(reference, "mass", mass);
    expect_near(reference, "linear", linear);
    expect_near(reference, "square", square);
    expect_near(reference, "mixed", mixed);
    expect_near(reference, "response", 2 * reference.mu.delta() * response);
  }
}

TEST(Reference, ClosedFormMassMatches) {
  for (const Reference& reference : references()) {
    expect_near(reference, "mass", reference.mu.mass_above(reference.cut));
  }
}

TEST(Reference, EdgesMatch) {
  for (const Reference& reference : references()) {
    if (!reference.values.contains("edges")) continue;
    const std::vector<double> truth = reference.values["edges"];
    const std::vector<Interval> support = reference.mu.support();
    ASSERT_EQ(2 * support.size(), truth.size()) << reference.name;
    const double size = std::max(std::abs(truth.front()), std::abs(truth.back()));
    for (size_t i = 0; i < support.size(); ++i) {
      EXPECT_NEAR(support[i].lo, truth[2 * i], 1e-14 * size) << reference.name;
      EXPECT_NEAR(support[i].hi, truth[2 * i + 1], 1e-14 * size) << reference.name;
    }
  }
}

}  // namespace
}  // namespace qklab
