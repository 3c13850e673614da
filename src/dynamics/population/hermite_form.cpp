#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "gaussian_grid.hpp"
#include "loss_form.hpp"

namespace qklab::dynamics {
namespace {

/// Entries with one law: scores of variance `variance` q.
struct EntryClass {
  double variance = 1;
  double entries = 1;  ///< of the label that count
  double noise = 8;    ///< kN = noise E (s - s0)^2 s'^2, summed over the class
};

/// E He_k(x) He_k(y) for Gaussian x, y of variances v, w and covariance c, with its slopes in v and c.
struct Correlation {
  double value = 0;
  double variance_slope = 0;
  double covariance_slope = 0;
};

std::vector<EntryClass> entry_classes(const SampleLoss& loss);
Correlation correlation(int degree, double v, double w, double c);
double hermite(int degree, double x);

class HermiteForm final : public SymmetricLoss::Form {
 public:
  explicit HermiteForm(const SampleLoss& loss)
      : degree_(loss.activation == Activation::identity   ? 1
                : loss.activation == Activation::hermite2 ? 2
                                                          : 3),
        square_beta_(degree_ == 1 ? 1 : loss.beta * loss.beta),
        classes_(entry_classes(loss)) {}

  LossSlopes slopes(const PairOverlaps& overlaps) const override;
  double noise_strength(const PairOverlaps& overlaps) const override;

 private:
  int degree_;
  double square_beta_;
  std::vector<EntryClass> classes_;
};

}  // namespace

std::unique_ptr<SymmetricLoss::Form> hermite_form(const SampleLoss& loss) {
  return std::make_unique<HermiteForm>(loss);
}

namespace {

LossSlopes HermiteForm::slopes(const PairOverlaps& overlaps) const {
  LossSlopes sum;
  for (const EntryClass& one : classes_) {
    const double k = one.variance * square_beta_;
    const double v = k * overlaps.student;
    const double v0 = k * overlaps.teacher;
    const double c = k * overlaps.overlap;
    const Correlation own = correlation(degree_, v, v, v);
    const Correlation teacher = correlation(degree_, v0, v0, v0);
    const Correlation cross = correlation(degree_, v, v0, c);
    sum.loss.value += one.entries * (own.value + teacher.value - 2 * cross.value);
    // Both arguments and their covariance move with v in the first term.
    sum.self_overlap +=
        one.entries * k * (2 * own.variance_slope + own.covariance_slope - 2 * cross.variance_slope);
    sum.overlap -= one.entries * k * 2 * cross.covariance_slope;
  }
  return sum;
}

/// Of a polynomial of degree 10 a grid makes no error.
double HermiteForm::noise_strength(const PairOverlaps& overlaps) const {
  const GaussianGrid grid(0.4, 12);
  double sum = 0;
  for (const EntryClass& one : classes_) {
    const double k = one.variance * square_beta_;
    const double width0 = std::sqrt(k * overlaps.teacher);
    const double slope = std::sqrt(k / overlaps.teacher) * overlaps.overlap;
    const double rest = std::sqrt(k * overlaps.orthogonal);
    double mean = 0;
    for (Eigen::Index i = 0; i < grid.nodes.size(); ++i) {
      const double s0 = hermite(degree_, width0 * grid.nodes[i]);
      for (Eigen::Index j = 0; j < grid.nodes.size(); ++j) {
        const double x = slope * grid.nodes[i] + rest * grid.nodes[j];
        const double force = (hermite(degree_, x) - s0) * degree_ * hermite(degree_ - 1, x);
        mean += grid.weights[i] * grid.weights[j] * force * force;
      }
    }
    sum += one.noise * square_beta_ * mean;
  }
  return sum;
}

std::vector<EntryClass> entry_classes(const SampleLoss& loss) {
  // l = (s - s0)^2 of G_12 alone: Delta_12 = Delta_21 = 2 (s - s0) s'.
  if (loss.entries == SampleLoss::Entries::one_pair) return {{1, 1, 8}};
  // Over all entries Delta_ab = 4 (s - s0) s' for every ordered pair.
  const double tokens = loss.tokens;
  std::vector<EntryClass> classes = {{2, tokens, 16 * tokens}};
  if (loss.tokens > 1) {
    const double pairs = tokens * (tokens - 1);
    classes.push_back({1, pairs, 16 * pairs});
  }
  return classes;
}

Correlation correlation(int degree, double v, double w, double c) {
  if (degree == 1) return {c, 0, 1};
  if (degree == 2) return {v * w + 2 * c * c - v - w + 1, w - 1, 4 * c};
  return {9 * c * (v * w - v - w + 1) + 6 * c * c * c, 9 * c * (w - 1), 9 * (v * w - v - w + 1) + 18 * c * c};
}

double hermite(int degree, double x) {
  if (degree == 0) return 1;
  if (degree == 1) return x;
  return degree == 2 ? x * x - 1 : x * (x * x - 3);
}

}  // namespace
}  // namespace qklab::dynamics
