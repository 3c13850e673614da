#include "untied_proximal.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "further_starts.hpp"
#include "modified_factors.hpp"
#include "uniqueness.hpp"

namespace qklab {
namespace {

constexpr int kMaxSteps = 60;
/// Longest step in units of 1/beta: beyond, the expansion describes nothing.
constexpr double kReach = 3;
/// |x - x'| in units of 1/beta that makes two minima distinct.
constexpr double kApart = 1e-3;
/// Below this V beta^2 one Newton step from w beats any remembered minimiser.
constexpr double kStiff = 1e-3;

/// The coordinates of one score: h_ab = weight x[symmetric] + sign x[antisymmetric].
struct ScorePlace {
  int symmetric;
  double weight;
  int antisymmetric;  ///< -1 on the diagonal
  double sign;
};

std::vector<ScorePlace> score_places(int tokens) {
  std::vector<ScorePlace> places(static_cast<std::size_t>(tokens) * tokens);
  int pair = 0;
  int link = tokens * (tokens + 1) / 2;
  for (int a = 0; a < tokens; ++a) {
    places[a * tokens + a] = {pair++, std::numbers::sqrt2, -1, 0};
    for (int b = a + 1; b < tokens; ++b, ++pair, ++link) {
      places[a * tokens + b] = {pair, 1, link, 1};
      places[b * tokens + a] = {pair, 1, link, -1};
    }
  }
  return places;
}

/// T > 0: the number of tokens, so that all loops have fixed lengths; T = 0: known at run time.
///
/// The unknown is gamma = (x - w)/sqrt(V), in which the quadratic term is |gamma|^2/2 and V -> 0 nothing
/// special; "scaled" derivatives are those in gamma.
template <int T>
class Search final : public UntiedProximalMap {
 public:
  static constexpr int kSize = T > 0 ? T* T : Eigen::Dynamic;
  using Vector = Eigen::Matrix<double, kSize, 1>;
  using Square = Eigen::Matrix<double, kSize, kSize>;

  explicit Search(const Channel& channel)
      : channel_(channel),
        places_(score_places(channel.tokens)),
        choices_(row_choices(channel.tokens)),
        gradient_(size()),
        attention_(size()),
        hessian_(size(), size()),
        factors_(size()) {}

  UntiedResponse solve(const UntiedPoint& point, const UntiedSusceptibilities& susceptibilities) override {
    load(point, susceptibilities);
    const bool remembered = point.has_minimiser && !is_stiff();
    if (remembered) {
      try_start(Eigen::Map<const Vector>(point.minimiser, size()));
    } else {
      try_start(center_);
    }
    if (!is_proved()) try_further_starts(point, remembered);
    return respond(point);
  }

  void attend(const double* coordinates, double* attention) const override {
    Vector entries(size());
    softmax_of(Eigen::Map<const Vector>(coordinates, size()), entries);
    std::copy_n(entries.data(), size(), attention);
  }

 private:
  int tokens() const { return T > 0 ? T : channel_.tokens; }
  int size() const { return tokens() * tokens(); }
  int pairs() const { return tokens() * (tokens() + 1) / 2; }
  bool is_stiff() const {
    const double largest = std::max(susceptibilities_.symmetric, susceptibilities_.antisymmetric);
    return largest * channel_.beta * channel_.beta < kStiff;
  }

  void load(const UntiedPoint& point, const UntiedSusceptibilities& susceptibilities) {
    susceptibilities_ = susceptibilities;
    center_ = Eigen::Map<const Vector>(point.center, size());
    Vector preimage = Vector::Zero(size());
    preimage.head(pairs()) = Eigen::Map<const Eigen::VectorXd>(point.preimage, pairs());
    label_attention_.resize(size());
    softmax_of(preimage, label_attention_);
    label_ = label_attention_;
    if (point.label_noise != nullptr) label_ += Eigen::Map<const Vector>(point.label_noise, size());
    root_.resize(size());
    root_.head(pairs()).setConstant(std::sqrt(susceptibilities.symmetric));
    root_.tail(size() - pairs()).setConstant(std::sqrt(susceptibilities.antisymmetric));
    found_ = competing_ = false;
  }

  double score(const Vector& x, int entry) const {
    const ScorePlace& place = places_[entry];
    const double symmetric = place.weight * x[place.symmetric];
    return place.antisymmetric < 0 ? symmetric : symmetric + place.sign * x[place.antisymmetric];
  }

  void softmax_of(const Vector& x, Vector& attention) const {
    for (int a = 0; a < tokens(); ++a) {
      double top = -INFINITY;
      for (int b = 0; b < tokens(); ++b) {
        const int entry = a * tokens() + b;
        attention[entry] = channel_.beta * score(x, entry);
        top = std::max(top, attention[entry]);
      }
      double sum = 0;
      for (int b = 0; b < tokens(); ++b) {
        double& p = attention[a * tokens() + b];
        p = std::exp(p - top);
        sum += p;
      }
      for (int b = 0; b < tokens(); ++b) attention[a * tokens() + b] /= sum;
    }
  }

  /// Loss, scaled gradient and scaled Hessian at gamma. With r = p (rho - p.rho), rho = p - y, a row's
  /// gradient in its logits is 2 r and its Hessian 2 [diag(q) - p q^T - q p^T + |p|^2 p p^T], q = r + p^2.
  void expand(const Vector& gamma) {
    softmax_of(center_ + root_.cwiseProduct(gamma), attention_);
    loss_ = 0;
    gradient_.setZero();
    hessian_.setZero();
    for (int a = 0; a < tokens(); ++a) expand_row(a);
  }

  void expand_row(int a) {
    const int row = a * tokens();
    double mean = 0;
    double purity = 0;
    for (int b = 0; b < tokens(); ++b) {
      const double p = attention_[row + b];
      const double misfit = p - label_[row + b];
      loss_ += misfit * misfit;
      mean += p * misfit;
      purity += p * p;
    }
    for (int b = 0; b < tokens(); ++b) {
      const double p = attention_[row + b];
      const double r = p * (p - label_[row + b] - mean);
      add_to_gradient(row + b, 2 * channel_.beta * r, gradient_);
      const double q = r + p * p;
      for (int c = 0; c < tokens(); ++c) {
        const double pc = attention_[row + c];
        const double qc = pc * (pc - label_[row + c] - mean) + pc * pc;
        const double curvature = (b == c ? q : 0.0) - p * qc - q * pc + purity * p * pc;
        add_to_hessian(row + b, row + c, 2 * channel_.beta * channel_.beta * curvature);
      }
    }
  }

  /// Adds slope times the scaled gradient of the score `entry`.
  void add_to_gradient(int entry, double slope, Vector& gradient) const {
    const ScorePlace& place = places_[entry];
    gradient[place.symmetric] += slope * place.weight * root_[place.symmetric];
    if (place.antisymmetric >= 0) {
      gradient[place.antisymmetric] += slope * place.sign * root_[place.antisymmetric];
    }
  }

  void add_to_hessian(int entry, int other, double curvature) {
    const ScorePlace& i = places_[entry];
    const ScorePlace& j = places_[other];
    const double ws = i.weight * root_[i.symmetric];
    const double vs = j.weight * root_[j.symmetric];
    hessian_(i.symmetric, j.symmetric) += curvature * ws * vs;
    if (i.antisymmetric >= 0) {
      const double wa = i.sign * root_[i.antisymmetric];
      hessian_(i.antisymmetric, j.symmetric) += curvature * wa * vs;
      if (j.antisymmetric >= 0) {
        hessian_(i.antisymmetric, j.antisymmetric) += curvature * wa * j.sign * root_[j.antisymmetric];
      }
    }
    if (j.antisymmetric >= 0) {
      hessian_(i.symmetric, j.antisymmetric) += curvature * ws * j.sign * root_[j.antisymmetric];
    }
  }

  /// Moves gamma to a local minimum; false when that fails.
  bool minimise(Vector& gamma, double& objective) {
    expand(gamma);
    objective = loss_ + 0.5 * gamma.squaredNorm();
    const double stiffness = 1 + channel_.beta * channel_.beta *
                                     std::max(susceptibilities_.symmetric, susceptibilities_.antisymmetric);
    for (int step = 0; step < kMaxSteps; ++step) {
      factors_.factor(hessian_);
      const Vector rest = gamma + gradient_;
      Vector direction = -rest;
      factors_.solve(direction);
      double slope = rest.dot(direction);
      const double move = channel_.beta * root_.cwiseProduct(direction).norm();
      const double imbalance = rest.cwiseQuotient(root_).norm() / channel_.beta;
      if (factors_.smallest() > 0 && (move * stiffness <= 1e-6 * factors_.smallest() || imbalance < 4e-15)) {
        gamma += direction;
        objective += 0.5 * slope;
        return true;
      }
      if (move > kReach) {
        direction *= kReach / move;
        slope *= kReach / move;
      }
      if (!descend(direction, slope, gamma, objective)) return false;
    }
    return false;
  }

  /// Backtracks until 1e-4 of the promised descent is kept.
  bool descend(const Vector& direction, double slope, Vector& gamma, double& objective) {
    const double rounding = 4e-16 * tokens() * (1 + objective);
    for (double size = 1; size > 1e-12;) {
      const Vector trial = gamma + size * direction;
      expand(trial);
      const double reached = loss_ + 0.5 * trial.squaredNorm();
      if (reached <= objective + 1e-4 * size * slope + rounding) {
        gamma = trial;
        objective = reached;
        return true;
      }
      const double lowest = -0.5 * size * slope / (reached - objective - size * slope);
      size *= std::clamp(lowest, 0.1, 0.5);
    }
    return false;
  }

  void try_start(const Vector& x) {
    Vector gamma = (x - center_).cwiseQuotient(root_);
    double objective = 0;
    if (!minimise(gamma, objective)) {
      if (!found_) gamma_ = gamma;
      return;
    }
    const bool distinct = found_ && channel_.beta * root_.cwiseProduct(gamma - gamma_).norm() > kApart;
    competing_ = competing_ || distinct;
    if (found_ && !(distinct && objective < objective_)) return;
    gamma_ = gamma;
    objective_ = objective;
    found_ = true;
  }

  bool is_proved() const {
    return found_ && is_only_minimum(channel_, susceptibilities_, label_.data(),
                                     FoundMinimum{objective_, gamma_.squaredNorm()});
  }

  void try_further_starts(const UntiedPoint& point, bool remembered) {
    if (remembered) try_start(center_);
    Vector start = center_;
    start.head(pairs()) = Eigen::Map<const Eigen::VectorXd>(point.preimage, pairs());
    try_start(start);
    for (const TokenSet& chosen : choices_) try_start(scores_of_label(chosen));
  }

  /// The label's own scores in the chosen rows, those of w in the others. Labels of saturated rows are
  /// softened: on the plateau beyond, Newton sees no curvature and leaps over.
  Vector scores_of_label(const TokenSet& chosen) const {
    const double lowest = 0.4 / tokens();
    Vector x = Vector::Zero(size());
    for (int a = 0; a < tokens(); ++a) {
      double shift = 0;
      const auto wanted = [&](int entry) {
        return chosen[a] ? std::log(std::clamp(label_[entry], lowest, 1.0)) / channel_.beta
                         : score(center_, entry);
      };
      for (int b = 0; b < tokens(); ++b) {
        const int entry = a * tokens() + b;
        shift += (score(center_, entry) - wanted(entry)) / tokens();
      }
      for (int b = 0; b < tokens(); ++b) {
        const int entry = a * tokens() + b;
        const ScorePlace& place = places_[entry];
        const double h = wanted(entry) + shift;
        x[place.symmetric] += place.antisymmetric < 0 ? h / place.weight : 0.5 * h;
        if (place.antisymmetric >= 0) x[place.antisymmetric] += 0.5 * place.sign * h;
      }
    }
    return x;
  }

  /// With M = (I + s H s)^{-1}, s = sqrt(V): dg/dw = -s^{-1} M (s H s) s^{-1} and, J the Jacobian of sigma,
  /// dg/dz = 2 s^{-1} M (s J(x*)^T) J(z).
  UntiedResponse respond(const UntiedPoint& point) {
    expand(gamma_);
    factors_.factor(hessian_);
    UntiedResponse response{.loss = loss_, .converged = found_, .competing = competing_};
    for (int k = 0; k < size(); ++k) {
      Vector column = Vector::Unit(size(), k);
      factors_.solve(column);
      const Vector image = (hessian_ * column).cwiseQuotient(root_) / root_[k];
      const double symmetric = image.head(pairs()).squaredNorm();
      const double antisymmetric = image.tail(size() - pairs()).squaredNorm();
      if (k < pairs()) {
        response.symmetric_divergence -= image[k];
        response.symmetric_jacobian += symmetric;
      } else {
        response.antisymmetric_divergence -= image[k];
        response.mixed_jacobian += symmetric;
        response.antisymmetric_jacobian += antisymmetric;
      }
      if (k < pairs()) response.teacher_divergence += column.dot(label_slope(k)) / root_[k];
    }
    Eigen::Map<Vector>(point.minimiser, size()) = center_ + root_.cwiseProduct(gamma_);
    Eigen::Map<Vector>(point.residual, size()) = gamma_.cwiseQuotient(root_);
    return response;
  }

  /// 2 s J(x*)^T J(z) e_k.
  Vector label_slope(int k) const {
    Vector slope = Vector::Zero(size());
    for (int a = 0; a < tokens(); ++a) {
      const int row = a * tokens();
      double along = 0;      // of the scores' change with z_k
      double agreement = 0;  // p . d sigma(z)
      const auto change = [&](int b) {
        return places_[row + b].symmetric == k ? channel_.beta * places_[row + b].weight : 0.0;
      };
      for (int b = 0; b < tokens(); ++b) along += label_attention_[row + b] * change(b);
      for (int b = 0; b < tokens(); ++b) {
        agreement += attention_[row + b] * label_attention_[row + b] * (change(b) - along);
      }
      for (int b = 0; b < tokens(); ++b) {
        const double moved = label_attention_[row + b] * (change(b) - along);
        add_to_gradient(row + b, 2 * channel_.beta * attention_[row + b] * (moved - agreement), slope);
      }
    }
    return slope;
  }

  Channel channel_;
  std::vector<ScorePlace> places_;
  std::vector<TokenSet> choices_;
  UntiedSusceptibilities susceptibilities_;
  Vector center_;
  Vector label_;
  Vector label_attention_;  ///< sigma(z)
  Vector root_;             ///< sqrt(V_k)

  double loss_ = 0;
  Vector gradient_;
  Vector attention_;
  Square hessian_;
  ModifiedFactors<kSize> factors_;

  Vector gamma_;
  double objective_ = 0;
  bool found_ = false;
  bool competing_ = false;
};

}  // namespace

std::unique_ptr<UntiedProximalMap> untied_proximal_map(const Channel& channel) {
  switch (channel.tokens) {
    case 2:
      return std::make_unique<Search<2>>(channel);
    case 3:
      return std::make_unique<Search<3>>(channel);
    default:
      return std::make_unique<Search<0>>(channel);
  }
}

}  // namespace qklab
