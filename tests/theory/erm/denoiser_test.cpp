#include "qklab/theory/erm/denoiser.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "qklab/core/error.hpp"
#include "theory/sampled_matrices.hpp"

namespace qklab::theory {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::eigenmodes;
using test::goe;
using test::wishart;

struct Sampled {
  double overlap = 0;
  double self_overlap = 0;
  double trace = 0;
  double zero_fraction = 0;
};

/// The denoiser applied to one finite matrix: eigenvalues thresholded, cut to `rank`, measured against the
/// teacher.
Sampled sample(const MatrixXd& teacher, const ConjugateParameters& hats, double lambda, int rank,
               std::uint64_t seed) {
  const auto d = static_cast<int>(teacher.rows());
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  const test::Eigenmodes eigen = eigenmodes(teacher + delta * goe(d, seed));
  VectorXd f = (eigen.values.array() - 2 * lambda / hats.overlap_hat).max(0.0);
  f.head(d - rank).setZero();
  f *= hats.overlap_hat / hats.susceptibility_hat;
  const MatrixXd student = eigen.vectors * f.asDiagonal() * eigen.vectors.transpose();
  return {student.cwiseProduct(teacher).sum() / d, f.squaredNorm() / d, f.sum() / d,
          static_cast<double>((f.array() == 0).count()) / d};
}

double self_overlap(const DenoisedStudent& student, double Q0) {
  return student.order.overlap * student.order.overlap / Q0 + student.order.orthogonal;
}

class DenoiserOnSampledMatrices : public ::testing::TestWithParam<double> {};

TEST_P(DenoiserOnSampledMatrices, WishartTeacherAgreesWithinFiniteSize) {
  const double kappa = GetParam();
  constexpr int d = 400;
  Problem problem;
  problem.kappa = kappa;
  problem.lambda = 0.05;
  const ConjugateParameters hats{1.1, 0.3, 1.4};
  const MatrixXd teacher = wishart(d, d / 2, 1);
  const Sampled sampled =
      sample(teacher, hats, problem.lambda, static_cast<int>(std::min(1.0, kappa) * d), 2);
  const auto student = Denoiser(problem)(hats);
  ASSERT_TRUE(student);
  // Linear statistics of one matrix fluctuate by O(1/d); the teacher's own second moment by about 3/d.
  EXPECT_NEAR(student->order.overlap, sampled.overlap, 8.0 / d);
  EXPECT_NEAR(self_overlap(*student, 1.5), sampled.self_overlap, 8.0 / d);
  EXPECT_NEAR(student->penalty, problem.lambda * sampled.trace, problem.lambda * 4.0 / d);
  EXPECT_NEAR(zero_fraction(student->spectrum), sampled.zero_fraction, 2.0 / d);
}

INSTANTIATE_TEST_SUITE_P(WidthRatios, DenoiserOnSampledMatrices, ::testing::Values(2.0, 1.0, 0.3, 0.1));

TEST(Denoiser, SusceptibilityIsTheResponseOfTheStudentToItsField) {
  // V = (1/d^2) d Tr S / dR: by Gaussian integration by parts, E Tr(S Z)/d = sqrt(qhat) V.
  constexpr int d = 400;
  Problem problem;
  problem.lambda = 0.1;
  problem.dimension = d;
  problem.teacher = PowerLawTeacher{1.0, 0};
  const ConjugateParameters hats{0.9, 0.4, 1.2};
  const std::vector<double> s = power_law_eigenvalues({1.0, 0}, d);
  const MatrixXd teacher = Eigen::Map<const VectorXd>(s.data(), d).asDiagonal();
  const double delta = std::sqrt(hats.self_overlap_hat) / hats.overlap_hat;
  double correlation = 0;
  constexpr int samples = 4;
  for (int k = 0; k < samples; ++k) {
    const MatrixXd z = goe(d, 10 + k);
    const test::Eigenmodes eigen = eigenmodes(teacher + delta * z);
    const VectorXd f = (eigen.values.array() - 2 * problem.lambda / hats.overlap_hat).max(0.0) *
                       hats.overlap_hat / hats.susceptibility_hat;
    const MatrixXd student = eigen.vectors * f.asDiagonal() * eigen.vectors.transpose();
    correlation += student.cwiseProduct(z).sum() / d / samples;
  }
  const auto student = Denoiser(problem)(hats);
  ASSERT_TRUE(student);
  EXPECT_NEAR(std::sqrt(hats.self_overlap_hat) * student->order.susceptibility, correlation, 2.0 / d);
}

TEST(Denoiser, DirectStudentIsARidge) {
  constexpr int d = 300;
  Problem problem;
  problem.parametrization = Parametrization::direct;
  problem.lambda = 0.07;
  problem.dimension = d;
  problem.teacher = PowerLawTeacher{0.8, 0};
  const ConjugateParameters hats{0.9, 0.4, 1.2};
  const std::vector<double> s = power_law_eigenvalues({0.8, 0}, d);
  const MatrixXd teacher = Eigen::Map<const VectorXd>(s.data(), d).asDiagonal();
  const MatrixXd student = (hats.overlap_hat * teacher + std::sqrt(hats.self_overlap_hat) * goe(d, 3)) /
                           (hats.susceptibility_hat + 4 * problem.lambda);
  const auto predicted = Denoiser(problem)(hats);
  ASSERT_TRUE(predicted);
  EXPECT_NEAR(predicted->order.overlap, student.cwiseProduct(teacher).sum() / d, 6.0 / d);
  EXPECT_NEAR(self_overlap(*predicted, 1), student.squaredNorm() / d, 6.0 / d);
}

TEST(Denoiser, UntiedStudentOfOneTokenShrinksSingularValues) {
  constexpr int d = 400;
  Problem problem;
  problem.tokens = 1;
  problem.activation = Activation::identity;
  problem.parametrization = Parametrization::untied;
  problem.lambda = 0.15;
  const ConjugateParameters hats{0.9, 0.6, 1.2};
  const MatrixXd teacher = wishart(d, d / 2, 1);
  const MatrixXd field = hats.overlap_hat * teacher + std::sqrt(hats.self_overlap_hat) * goe(d, 5);
  // A symmetric matrix has its eigenvalues' absolute values as singular values.
  const test::Eigenmodes eigen = eigenmodes(field);
  const VectorXd shrunk =
      (eigen.values.array().abs() - 2 * problem.lambda).max(0.0) / hats.susceptibility_hat;
  const VectorXd f = shrunk.array() * eigen.values.array().sign();
  const MatrixXd student = eigen.vectors * f.asDiagonal() * eigen.vectors.transpose();
  const auto predicted = Denoiser(problem)(hats);
  ASSERT_TRUE(predicted);
  EXPECT_NEAR(predicted->order.overlap, student.cwiseProduct(teacher).sum() / d, 8.0 / d);
  EXPECT_NEAR(self_overlap(*predicted, 1.5), student.squaredNorm() / d, 8.0 / d);
  EXPECT_NEAR(predicted->penalty, problem.lambda * shrunk.sum() / d, problem.lambda * 4.0 / d);
  EXPECT_NEAR(zero_fraction(predicted->spectrum), static_cast<double>((f.array() == 0).count()) / d, 3.0 / d);
}

TEST(Denoiser, WidthAboveTheRankChangesNothing) {
  Problem problem;
  problem.lambda = 0.2;
  const ConjugateParameters hats{1.0, 0.2, 1.1};
  const auto full = Denoiser(problem)(hats);
  problem.kappa = 1 - zero_fraction(full->spectrum) + 1e-3;
  const auto wide = Denoiser(problem)(hats);
  EXPECT_EQ(full->order.overlap, wide->order.overlap);
  problem.kappa = 1 - zero_fraction(full->spectrum) - 1e-3;
  EXPECT_NE(full->order.overlap, Denoiser(problem)(hats)->order.overlap);
}

// A long power law is costly to make, so it is kept while the weight decay changes: bit for bit what a law
// made anew gives.
TEST(Denoiser, KeepsTheLawWhileWeightDecayChanges) {
  Problem problem;
  for (const Teacher& teacher : {Teacher{WishartTeacher{0.4}}, Teacher{PowerLawTeacher{1.0, 0}}}) {
    problem.teacher = teacher;
    problem.dimension = 20000;
    const Denoiser kept(problem);
    Denoiser turned(problem);
    for (const double lambda : {3.0, 0.1, 0.0, 0.02}) {
      problem.lambda = lambda;
      turned.retarget(problem);
      const Denoiser other = kept.with_weight_decay(lambda);
      EXPECT_EQ(&other.teacher(), &kept.teacher());
      for (const double noise : {0.3, 1e-3}) {
        const ConjugateParameters hats{1.1, noise, 1.4};
        const auto fresh = Denoiser(problem)(hats);
        for (const Denoiser& one : {other, turned}) {
          const auto student = one(hats);
          EXPECT_EQ(student->order.overlap, fresh->order.overlap);
          EXPECT_EQ(student->order.orthogonal, fresh->order.orthogonal);
          EXPECT_EQ(student->order.susceptibility, fresh->order.susceptibility);
          EXPECT_EQ(student->penalty, fresh->penalty);
          EXPECT_EQ(student->spectrum.cut, fresh->spectrum.cut);
          EXPECT_EQ(one.answers_zero(hats), Denoiser(problem).answers_zero(hats));
        }
      }
    }
  }
}

TEST(Denoiser, UndefinedConjugatesGiveNothing) {
  const Denoiser denoiser{Problem{}};
  EXPECT_FALSE(denoiser({-1, 1, 1}));
  EXPECT_FALSE(denoiser({1, 0, 1}));
  EXPECT_FALSE(denoiser({1, 1, std::nan("")}));
}

TEST(Denoiser, UnsupportedParametrizationsAreRefused) {
  Problem problem;
  problem.parametrization = Parametrization::untied;
  EXPECT_THROW(Denoiser{problem}, InvalidParameter);
  problem.parametrization = Parametrization::direct;
  problem.kappa = 0.5;
  EXPECT_THROW(Denoiser{problem}, InvalidParameter);
}

}  // namespace
}  // namespace qklab::theory
