#include "qklab/channel/proximal/proximal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "channel/every_target.hpp"
#include "channel/plain_channel.hpp"
#include "qklab/core/error.hpp"

namespace qklab {
namespace {

constexpr int kPoints = 128;

struct Case {
  Channel channel;
  double susceptibility;
  double label_noise;  ///< standard deviation
};

/// Orthogonal to the direction that the softmax does not see.
void make_visible(int tokens, std::vector<double>& white) {
  std::vector<double> invisible(white.size(), 1.0);
  for (int a = 0; a < tokens; ++a) invisible[test::pair_of(tokens, a, a)] = std::sqrt(0.5);
  double square = 0, along = 0;
  for (std::size_t k = 0; k < white.size(); ++k) {
    square += invisible[k] * invisible[k];
    along += invisible[k] * white[k];
  }
  for (std::size_t k = 0; k < white.size(); ++k) white[k] -= along / square * invisible[k];
}

void set_point(PointRows& rows, int point, const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) rows.row(static_cast<int>(k))[point] = values[k];
}

std::vector<double> point_of(const PointRows& rows, int point) {
  std::vector<double> values;
  for (int k = 0; k < rows.rows(); ++k) values.push_back(rows.row(k)[point]);
  return values;
}

/// Teacher and student scores with overlaps Q0 = 1.5, m = 1, q = 1.2, and labels with noise.
void fill(const Case& setting, ProximalMap& map, unsigned seed = 3) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  const int tokens = setting.channel.tokens;
  for (int i = 0; i < kPoints; ++i) {
    std::vector<double> z(setting.channel.pair_count()), w(z.size());
    for (std::size_t k = 0; k < z.size(); ++k) {
      z[k] = std::sqrt(1.5) * normal(generator);
      w[k] = z[k] / 1.5 + std::sqrt(1.2 - 1 / 1.5) * normal(generator);
    }
    make_visible(tokens, z);
    make_visible(tokens, w);
    const std::vector<double> attention =
        test::plain_attention(setting.channel, test::scores_of_white(tokens, z));
    std::vector<double> label = attention;
    for (double& value : label) value += setting.label_noise * normal(generator);
    set_point(map.preimage, i, z);
    set_point(map.center, i, w);
    set_point(map.attention, i, attention);
    set_point(map.label, i, label);
  }
}

ProximalMap solved(const Case& setting, unsigned seed = 3) {
  ProximalMap map(setting.channel, kPoints);
  fill(setting, map, seed);
  map.solve(kPoints, setting.susceptibility, ProximalMap::Start::center);
  return map;
}

class Proximal : public ::testing::TestWithParam<Case> {};

TEST_P(Proximal, EveryPointConverges) {
  const ProximalMap map = solved(GetParam());
  for (int i = 0; i < kPoints; ++i) EXPECT_EQ(map.converged.row(0)[i], 1.0) << i;
}

TEST_P(Proximal, TheGradientOfTheObjectiveVanishes) {
  const Case setting = GetParam();
  const ProximalMap map = solved(setting);
  for (int i = 0; i < kPoints; ++i) {
    const std::vector<double> slope =
        test::plain_gradient(setting.channel, point_of(map.label, i), point_of(map.minimiser, i));
    const std::vector<double> residual = point_of(map.residual, i);
    for (int k = 0; k < setting.channel.pair_count(); ++k) {
      EXPECT_NEAR(slope[k] + residual[k], 0, 1e-11 * setting.channel.beta) << "point " << i;
      EXPECT_NEAR(map.minimiser.row(k)[i], map.center.row(k)[i] + setting.susceptibility * residual[k],
                  1e-13 * (1 + std::abs(map.center.row(k)[i])));
    }
  }
}

TEST_P(Proximal, TheLossIsThatOfTheMinimiser) {
  const Case setting = GetParam();
  const ProximalMap map = solved(setting);
  for (int i = 0; i < kPoints; ++i) {
    EXPECT_NEAR(map.loss.row(0)[i],
                test::plain_square_loss(setting.channel, point_of(map.label, i), point_of(map.minimiser, i)),
                1e-13);
  }
}

TEST_P(Proximal, NoPointNearbyIsLower) {
  const Case setting = GetParam();
  const ProximalMap map = solved(setting);
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  for (int i = 0; i < kPoints; ++i) {
    const std::vector<double> label = point_of(map.label, i);
    const std::vector<double> center = point_of(map.center, i);
    const std::vector<double> minimiser = point_of(map.minimiser, i);
    const double lowest =
        test::plain_objective(setting.channel, label, center, setting.susceptibility, minimiser);
    for (int trial = 0; trial < 40; ++trial) {
      std::vector<double> other = minimiser;
      const double size = std::pow(10.0, -3.0 + 3.0 * (trial % 8) / 7.0);
      for (double& value : other) value += size * normal(generator);
      EXPECT_GE(test::plain_objective(setting.channel, label, center, setting.susceptibility, other),
                lowest - 1e-13);
    }
  }
}

TEST_P(Proximal, ResidualDoesNotTouchTheInvisibleDirection) {
  const Case setting = GetParam();
  const ProximalMap map = solved(setting);
  for (int i = 0; i < kPoints; ++i) {
    const std::vector<double> residual = point_of(map.residual, i);
    std::vector<double> visible = residual;
    make_visible(setting.channel.tokens, visible);
    for (std::size_t k = 0; k < residual.size(); ++k) {
      EXPECT_NEAR(visible[k], residual[k], 1e-13 * setting.channel.beta);
    }
  }
}

TEST_P(Proximal, DivergencesMatchFiniteDifferences) {
  const Case setting = GetParam();
  const int pairs = setting.channel.pair_count();
  const ProximalMap base = solved(setting);
  const double step = 1e-5 / setting.channel.beta;
  std::vector<double> by_center(kPoints, 0.0), by_preimage(kPoints, 0.0), square(kPoints, 0.0);
  for (int k = 0; k < pairs; ++k) {
    std::vector<ProximalMap> shifted;
    for (const double sign : {1.0, -1.0}) {
      for (const bool center : {true, false}) {
        ProximalMap map(setting.channel, kPoints);
        fill(setting, map);
        for (int i = 0; i < kPoints; ++i) {
          set_point(map.minimiser, i, point_of(base.minimiser, i));
          (center ? map.center : map.preimage).row(k)[i] += sign * step;
          if (center) continue;
          const std::vector<double> attention = test::plain_attention(
              setting.channel, test::scores_of_white(setting.channel.tokens, point_of(map.preimage, i)));
          for (int entry = 0; entry < map.label.rows(); ++entry) {
            map.label.row(entry)[i] += attention[entry] - map.attention.row(entry)[i];
          }
          set_point(map.attention, i, attention);
        }
        map.solve(kPoints, setting.susceptibility, ProximalMap::Start::minimiser);
        shifted.push_back(std::move(map));
      }
    }
    for (int i = 0; i < kPoints; ++i) {
      for (int j = 0; j < pairs; ++j) {
        const double slope = (shifted[0].residual.row(j)[i] - shifted[2].residual.row(j)[i]) / (2 * step);
        square[i] += slope * slope;
        if (j == k) by_center[i] += slope;
      }
      by_preimage[i] += (shifted[1].residual.row(k)[i] - shifted[3].residual.row(k)[i]) / (2 * step);
    }
  }
  for (int i = 0; i < kPoints; ++i) {
    if (base.competing.row(0)[i] != 0) continue;  // a shift may make another minimum the lowest
    // Third derivatives grow like beta^5 and are amplified where the minimum is flat.
    const double size = std::pow(setting.channel.beta, 2);
    const double bound = 3e-7 * size * (1 + square[i] / (size * size));
    EXPECT_NEAR(base.center_divergence.row(0)[i], by_center[i], bound) << "point " << i;
    EXPECT_NEAR(base.preimage_divergence.row(0)[i], by_preimage[i], bound) << "point " << i;
    EXPECT_NEAR(base.jacobian_square.row(0)[i], square[i], 10 * bound * size) << "point " << i;
  }
}

TEST_P(Proximal, EveryTargetFindsTheSamePoints) {
  const Case setting = GetParam();
  const ProximalMap reference = solved(setting);
  test::for_every_target([&](const char* target) {
    const ProximalMap map = solved(setting);
    for (int i = 0; i < kPoints; ++i) {
      for (int k = 0; k < map.residual.rows(); ++k) {
        EXPECT_NEAR(map.residual.row(k)[i], reference.residual.row(k)[i], 1e-11 * setting.channel.beta)
            << target;
      }
      const double size = 1 + reference.jacobian_square.row(0)[i];
      EXPECT_NEAR(map.center_divergence.row(0)[i], reference.center_divergence.row(0)[i], 1e-10 * size)
          << target;
      EXPECT_NEAR(map.preimage_divergence.row(0)[i], reference.preimage_divergence.row(0)[i], 1e-10 * size)
          << target;
    }
  });
}

TEST_P(Proximal, TheStartDoesNotMatter) {
  const Case setting = GetParam();
  const ProximalMap cold = solved(setting);
  ProximalMap warm(setting.channel, kPoints);
  fill(setting, warm, 99);
  warm.solve(kPoints, 1.3 * setting.susceptibility, ProximalMap::Start::center);
  fill(setting, warm);
  warm.solve(kPoints, setting.susceptibility, ProximalMap::Start::minimiser);
  for (int i = 0; i < kPoints; ++i) {
    if (warm.competing.row(0)[i] != 0) continue;
    for (int k = 0; k < cold.residual.rows(); ++k) {
      EXPECT_NEAR(warm.residual.row(k)[i], cold.residual.row(k)[i], 1e-11 * setting.channel.beta);
    }
  }
}

TEST_P(Proximal, RelabelledTokensGiveRelabelledResiduals) {
  const Case setting = GetParam();
  const int tokens = setting.channel.tokens;
  const ProximalMap map = solved(setting);
  ProximalMap turned(setting.channel, kPoints);
  const auto other = [&](int a) { return (a + 1) % tokens; };
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) {
      const int from = test::pair_of(tokens, a, b), to = test::pair_of(tokens, other(a), other(b));
      std::copy_n(map.center.row(from), kPoints, turned.center.row(to));
      std::copy_n(map.preimage.row(from), kPoints, turned.preimage.row(to));
      std::copy_n(map.label.row(a * tokens + b), kPoints, turned.label.row(other(a) * tokens + other(b)));
      std::copy_n(map.attention.row(a * tokens + b), kPoints,
                  turned.attention.row(other(a) * tokens + other(b)));
    }
  }
  turned.solve(kPoints, setting.susceptibility, ProximalMap::Start::center);
  for (int i = 0; i < kPoints; ++i) {
    for (int a = 0; a < tokens; ++a) {
      for (int b = a; b < tokens; ++b) {
        EXPECT_NEAR(turned.residual.row(test::pair_of(tokens, other(a), other(b)))[i],
                    map.residual.row(test::pair_of(tokens, a, b))[i], 1e-11 * setting.channel.beta);
      }
    }
    EXPECT_NEAR(turned.preimage_divergence.row(0)[i], map.preimage_divergence.row(0)[i],
                1e-10 * (1 + map.jacobian_square.row(0)[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Proximal,
                         ::testing::Values(Case{{Activation::softmax, 2, 1.0}, 0.5, 0.0},
                                           Case{{Activation::softmax, 2, 1.0}, 6.0, 0.3},
                                           Case{{Activation::softmax, 2, 3.0}, 1.0, 0.0},
                                           Case{{Activation::softmax, 2, 1.0}, 1e-6, 0.1},
                                           Case{{Activation::softmax, 3, 1.0}, 0.7, 0.1},
                                           Case{{Activation::softmax, 3, 2.0}, 3.0, 0.0},
                                           Case{{Activation::softmax, 4, 1.0}, 1.0, 0.2},
                                           Case{{Activation::softmax, 5, 1.0}, 1.5, 0.1}),
                         [](const auto& point) { return "n" + std::to_string(point.index); });

/// Lowest objective on a fine grid of the two logit gaps of T = 2, where the loss is a sum of two terms.
double lowest_on_grid(const Channel& channel, const std::vector<double>& label,
                      const std::vector<double>& center, double susceptibility) {
  constexpr int kGrid = 401;
  const double beta = channel.beta, root = std::sqrt(2.0);
  const double u = root * center[0] - center[1], v = root * center[2] - center[1];
  const double radius = std::sqrt(2 * susceptibility * 4 * 4) + 0.1;
  std::array<double, kGrid> shift{}, first{}, second{};
  for (int i = 0; i < kGrid; ++i) {
    shift[i] = radius * (2.0 * i / (kGrid - 1) - 1);
    const double p = 1 / (1 + std::exp(-beta * (u + shift[i]))),
                 s = 1 / (1 + std::exp(-beta * (v + shift[i])));
    first[i] = std::pow(p - label[0], 2) + std::pow(1 - p - label[1], 2);
    second[i] = std::pow(1 - s - label[2], 2) + std::pow(s - label[3], 2);
  }
  double lowest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kGrid; ++i) {
    for (int j = 0; j < kGrid; ++j) {
      const double square = (3 * shift[i] * shift[i] + 3 * shift[j] * shift[j] - 2 * shift[i] * shift[j]) / 8;
      lowest = std::min(lowest, first[i] + second[j] + square / (2 * susceptibility));
    }
  }
  return lowest;
}

TEST(ProximalGlobal, NoGridPointIsLowerForTwoTokens) {
  for (const double beta : {1.0, 3.0, 10.0}) {
    for (const double susceptibility : {0.3, 3.0, 30.0}) {
      for (const double noise : {0.0, 0.3}) {
        const Case setting{{Activation::softmax, 2, beta}, susceptibility, noise};
        const ProximalMap map = solved(setting);
        int missed = 0;
        for (int i = 0; i < kPoints; ++i) {
          const std::vector<double> label = point_of(map.label, i), center = point_of(map.center, i);
          const double found = test::plain_objective(setting.channel, label, center, susceptibility,
                                                     point_of(map.minimiser, i));
          missed += found > lowest_on_grid(setting.channel, label, center, susceptibility) + 1e-12;
        }
        EXPECT_EQ(missed, 0) << "beta " << beta << " V " << susceptibility << " noise " << noise;
      }
    }
  }
}

double objective_of(const Case& setting, const ProximalMap& map, int point) {
  return test::plain_objective(setting.channel, point_of(map.label, point), point_of(map.center, point),
                               setting.susceptibility, point_of(map.minimiser, point));
}

TEST(ProximalGlobal, RandomStartsFindNothingLower) {
  for (const int tokens : {3, 4, 5}) {
    for (const double beta : {1.0, 3.0}) {
      const Case setting{{Activation::softmax, tokens, beta}, 3.0, 0.2};
      const ProximalMap reference = solved(setting);
      ProximalMap map(setting.channel, kPoints);
      fill(setting, map);
      std::mt19937_64 generator(21);
      std::normal_distribution<double> normal;
      for (int trial = 0; trial < 8; ++trial) {
        for (int k = 0; k < map.minimiser.rows(); ++k) {
          for (int i = 0; i < kPoints; ++i) {
            map.minimiser.row(k)[i] = map.center.row(k)[i] + 0.5 * (trial + 1) * normal(generator);
          }
        }
        map.solve(kPoints, setting.susceptibility, ProximalMap::Start::minimiser);
        for (int i = 0; i < kPoints; ++i) {
          EXPECT_GE(objective_of(setting, map, i), objective_of(setting, reference, i) - 1e-11)
              << "T " << tokens << " beta " << beta << " point " << i;
        }
      }
    }
  }
}

TEST(ProximalGlobal, ConvergesFromSoftToStiffProblems) {
  for (const int tokens : {2, 3, 5}) {
    for (const double beta : {0.01, 1.0, 20.0}) {
      for (const double susceptibility : {1e-40, 1e-6, 1e2, 1e6}) {
        for (const double noise : {0.0, 0.3}) {
          const Case setting{{Activation::softmax, tokens, beta}, susceptibility, noise};
          const ProximalMap map = solved(setting);
          for (int i = 0; i < kPoints; ++i) {
            EXPECT_EQ(map.converged.row(0)[i], 1.0)
                << "T " << tokens << " beta " << beta << " V " << susceptibility << " noise " << noise;
          }
        }
      }
    }
  }
}

TEST(ProximalGlobal, RefusesWhatIsNoProblem) {
  EXPECT_THROW(ProximalMap(Channel{Activation::identity, 2, 1.0}, 16), InvalidParameter);
  EXPECT_THROW(ProximalMap(Channel{Activation::softmax, 1, 1.0}, 16), InvalidParameter);
  EXPECT_THROW(ProximalMap(Channel{Activation::softmax, 2, 1.0}, 0), InvalidParameter);
  ProximalMap map(Channel{Activation::softmax, 2, 1.0}, 16);
  EXPECT_THROW(map.solve(16, 0.0, ProximalMap::Start::center), InvalidParameter);
  EXPECT_THROW(map.solve(17, 1.0, ProximalMap::Start::center), InvalidParameter);
  EXPECT_THROW(map.solve(16, std::numeric_limits<double>::quiet_NaN(), ProximalMap::Start::center),
               InvalidParameter);
}

}  // namespace
}  // namespace qklab
