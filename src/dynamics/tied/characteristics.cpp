#include "characteristics.hpp"

#include <algorithm>
#include <cmath>

#include "cumulative.hpp"

namespace qklab::dynamics {
namespace {

Eigen::ArrayXd array(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::ArrayXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

/// The larger of |x - y| relative to max(1, |y|).
double distance(const Eigen::ArrayXd& x, const Eigen::ArrayXd& y) {
  return ((x - y).abs() / y.abs().max(1)).maxCoeff();
}

/// `latest` with one value more at its end, and moved by as much as it moved since `earlier`.
Eigen::ArrayXd prolonged(const Eigen::ArrayXd& latest, const Eigen::ArrayXd& earlier, double end) {
  const Eigen::Index size = latest.size();
  Eigen::ArrayXd longer(size + 1);
  longer.head(size) = latest;
  longer[size] = end;
  if (earlier.size() + 1 == size) longer.head(size - 1) += latest.head(size - 1) - earlier;
  return longer;
}

}  // namespace

Characteristics::Characteristics(const SymmetricLoss& loss, const DiscreteLaw& teacher,
                                 const TiedStart& start, double nu, double weight_decay, double step,
                                 int intervals)
    : loss_(loss),
      teacher_(array(teacher.locations)),
      masses_(array(teacher.masses).matrix().transpose()),
      nu_(nu),
      shrink_(2 * weight_decay),
      step_(step),
      start_(teacher_, array(teacher.masses), start.entry_variance(), start.kappa),
      a_(intervals + 1),
      b_(intervals + 1),
      e_(intervals + 1) {
  const Eigen::ArrayXd zero = Eigen::ArrayXd::Zero(teacher_.size());
  start_.solve(zero, zero);
  overlaps_.push_back({start_.overlap(), start_.self_overlap(), start_.trace()});
  set_drift(0, overlaps_[0]);
  const Eigen::ArrayXd one = Eigen::ArrayXd::Ones(1);
  way_.y = Eigen::ArrayXXd::Zero(teacher_.size(), 1);
  last_ = {
      0 * one, overlaps_[0].trace * one, 0 * one, overlaps_[0].trace * one, -overlaps_[0].self_overlap * one,
      1 * one};
}

/// Averages along the way decide the way, and the way its averages: iterated until they agree, with a, b and
/// e at its end.
bool Characteristics::advance() {
  constexpr int most = 200;
  constexpr int many = 25;
  constexpr double tolerance = 1e-10;
  constexpr double rounding = 1e-6;
  int calm = 0;
  const int j = ++reached_;
  const auto ahead = [&](const Eigen::ArrayXd& x) { return j == 1 ? x[0] : 2 * x[j - 1] - x[j - 2]; };
  a_[j] = ahead(a_);
  b_[j] = ahead(b_);
  e_[j] = ahead(e_);
  Averages averages = extrapolated();
  const Eigen::ArrayXXd y = way_.y;
  way_.y.conservativeResize(Eigen::NoChange, j + 1);
  way_.y.col(j).setZero();
  if (j > 2) way_.y.leftCols(j - 1) += y.leftCols(j - 1) - before_y_;
  before_y_ = y;
  for (int iteration = 0; iteration < most; ++iteration) {
    if (!follow(averages)) return false;
    const Averages found = measured();
    const NoisyOverlaps end = end_of_way();
    const double far = 30 * (loss_.teacher_self_overlap() + overlaps_[0].self_overlap);
    if (!std::isfinite(end.overlap) || !(end.self_overlap > 0 && end.self_overlap < far)) return false;
    set_drift(j, end);
    // Averages of y itself are as large as y, cancel in many digits, and show in the others one iteration on.
    const double change = std::max({distance(averages.yP, found.yP), distance(averages.P, found.P),
                                    distance(averages.d_yP, found.d_yP), distance(averages.d_P, found.d_P)});
    averages = found;
    calm = change <= (iteration < many ? tolerance : rounding) ? calm + 1 : 0;
    if (calm == 2) {
      before_last_ = std::move(last_);
      last_ = std::move(averages);
      overlaps_.push_back(end);
      return true;
    }
  }
  return false;
}

bool Characteristics::follow(const Averages& of) {
  const Eigen::Index n = teacher_.size();
  const Eigen::Index size = reached_ + 1;
  const auto rows = [&](const Eigen::ArrayXd& along) { return along.transpose().replicate(n, 1).eval(); };
  const Eigen::ArrayXd a = a_.head(size);
  const Eigen::ArrayXd e = e_.head(size);
  Eigen::ArrayXXd rate = rows(shrink_ + 2 * e * of.yP);
  rate += 2 * (teacher_.matrix() * b_.head(size).matrix().transpose()).array();
  const Eigen::ArrayXXd noise = rows(e * of.P);

  // y from its end: a Newton step for its square.
  const Eigen::ArrayXXd growth = integral_to(rate + 2 * noise * way_.y, step_);
  way_.y = growth.exp() *
           integral_from((-growth).exp() * (rows(a + e * of.y_rest) + noise * way_.y.square()), step_);
  const Eigen::ArrayXXd response = integral_to(rate + 2 * noise * way_.y, step_);
  const Eigen::ArrayXXd force =
      rows(2 * e * of.d_yP) * way_.y - rows(e * of.d_y_rest) + rows(e * of.d_P) * way_.y.square();
  const Eigen::ArrayXXd up = response.exp();
  const Eigen::ArrayXXd down = (-response).exp();
  way_.dy = up * ((down.col(size - 1).replicate(1, size)) - integral_from(down * force, step_));

  // P from its start.
  if (!start_.solve(Eigen::ArrayXd::Zero(n), way_.y.col(0))) return false;
  way_.P = down * (start_.profile().replicate(1, size) + integral_to(up * noise, step_));
  const Eigen::ArrayXXd pull =
      way_.P * (rows(2 * e * of.d_yP) + rows(2 * e * of.d_P) * way_.y + 2 * noise * way_.dy) -
      rows(e * of.d_P);
  way_.dP = down * (start_.response(way_.dy.col(0)).replicate(1, size) - integral_to(up * pull, step_));
  return true;
}

Characteristics::Averages Characteristics::measured() const {
  const auto mean = [&](const Eigen::ArrayXXd& x) -> Eigen::ArrayXd {
    return (masses_ * x.matrix()).transpose().array();
  };
  const Way& w = way_;
  return {mean(w.y * w.P),
          mean(w.P),
          mean(w.y * (1 - w.y * w.P)),
          mean(w.dy * w.P + w.y * w.dP),
          mean(w.dP),
          mean(w.dy * (1 - 2 * w.y * w.P) - w.y.square() * w.dP)};
}

Characteristics::Averages Characteristics::extrapolated() const {
  const Eigen::Index end = last_.P.size() - 1;
  return {prolonged(last_.yP, before_last_.yP, 0),
          prolonged(last_.P, before_last_.P, last_.P[end]),
          prolonged(last_.y_rest, before_last_.y_rest, 0),
          prolonged(last_.d_yP, before_last_.d_yP, last_.d_yP[end]),
          prolonged(last_.d_P, before_last_.d_P, last_.d_P[end]),
          prolonged(last_.d_y_rest, before_last_.d_y_rest, 1)};
}

NoisyOverlaps Characteristics::end_of_way() const {
  const Eigen::VectorXd profile = way_.P.col(reached_);
  return {masses_ * (teacher_ * profile.array()).matrix(), -masses_ * way_.dP.col(reached_).matrix(),
          masses_ * profile};
}

void Characteristics::set_drift(int at, const NoisyOverlaps& overlaps) {
  const LossSlopes slopes = loss_.slopes(overlaps.overlap, overlaps.self_overlap);
  a_[at] = 8 * slopes.self_overlap;
  b_[at] = 2 * slopes.overlap;
  e_[at] = nu_ > 0 ? nu_ * loss_.noise_strength(overlaps.overlap, overlaps.self_overlap) : 0;
}

}  // namespace qklab::dynamics
