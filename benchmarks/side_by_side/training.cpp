#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "qklab/core/error.hpp"
#include "qklab/lab/data/dataset.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/matrix/measure.hpp"
#include "qklab/lab/message_passing/amp.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/student/parameters.hpp"
#include "qklab/lab/training/descent.hpp"
#include "requests.hpp"

namespace qklab::side_by_side {

/// A data set of either precision.
class TrainingData {
 public:
  virtual ~TrainingData() = default;
  virtual double operator()(std::span<const double> parameters, std::span<double> gradient) = 0;
  virtual void write(const std::filesystem::path& folder) const = 0;
  virtual lab::AmpTrajectory pass_messages(const lab::AmpOptions& options) const = 0;

  Problem problem;
  lab::Matrix teacher;
  lab::Matrix start;
};

namespace {

template <class Entry>
void write_entries(const std::filesystem::path& path, std::span<const Entry> entries) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(entries.data()),
             static_cast<std::streamsize>(entries.size_bytes()));
  if (!file.flush()) throw FileError(path.string(), "cannot be written");
}

template <class Real>
class Drawn : public TrainingData {
 public:
  Drawn(const Problem& drawn, const lab::Matrix& drawn_teacher, std::uint64_t seed)
      : data_(lab::draw_dataset<Real>(drawn, drawn_teacher, seed)), objective_(data_, drawn) {
    problem = drawn;
    teacher = drawn_teacher;
    start = lab::random_start(drawn, seed);
  }

  double operator()(std::span<const double> parameters, std::span<double> gradient) override {
    return objective_(parameters, gradient);
  }

  void write(const std::filesystem::path& folder) const override {
    write_entries(folder / "inputs", std::span<const Real>(data_.inputs));
    write_entries(folder / "labels", std::span<const double>(data_.correlation));
    write_entries(folder / "start", std::span<const double>(start.data(), entries()));
  }

  lab::AmpTrajectory pass_messages(const lab::AmpOptions& options) const override {
    return lab::iterate_amp(data_, problem, teacher, options);
  }

 private:
  std::size_t entries() const { return static_cast<std::size_t>(start.size()); }

  lab::Dataset<Real> data_;
  lab::Objective<Real> objective_;
};

std::span<const double> entries_of(const lab::Matrix& matrix) {
  return {matrix.data(), static_cast<std::size_t>(matrix.size())};
}

/// W with W W^T = S, S positive semidefinite.
lab::Matrix factor(const lab::Matrix& student) {
  const lab::Modes modes = lab::symmetric_modes(student);
  Eigen::VectorXd roots(student.rows());
  for (long i = 0; i < roots.size(); ++i) roots[i] = std::sqrt(std::max(modes.values[i], 0.0));
  return modes.vectors * roots.asDiagonal();
}

}  // namespace

TrainingSide::TrainingSide() = default;
TrainingSide::~TrainingSide() = default;

Json TrainingSide::draw(const Json& request) {
  const Problem problem = checked(problem_of(request));
  const std::uint64_t seed = request.value("seed", 1);
  data_.reset();
  const double time = seconds([&] {
    const lab::Matrix teacher = lab::draw_teacher(problem, seed);
    if (request.at("precision") == "f32") {
      data_ = std::make_unique<Drawn<float>>(problem, teacher, seed);
    } else {
      data_ = std::make_unique<Drawn<double>>(problem, teacher, seed);
    }
  });
  return {{"seconds", time},
          {"samples", sample_count(problem)},
          {"tokens", problem.tokens},
          {"dimension", problem.dimension},
          {"width", student_width(problem)},
          {"lambda", problem.lambda},
          {"beta", problem.beta},
          {"precision", request.at("precision")}};
}

Json TrainingSide::write(const Json& request) const {
  const std::filesystem::path folder = request.at("folder").get<std::string>();
  std::filesystem::create_directories(folder);
  data_->write(folder);
  return {{"folder", folder.string()}};
}

Json TrainingSide::value(const Json& request) {
  const lab::Matrix point = request.value("scale", 1.0) * data_->start;
  lab::Matrix gradient = point;
  const double value =
      (*data_)(entries_of(point), {gradient.data(), static_cast<std::size_t>(gradient.size())});
  return {{"value", value}, {"gradient_norm", gradient.norm()}};
}

Json TrainingSide::step(const Json& request) {
  std::vector<double> gradient(static_cast<std::size_t>(data_->start.size()));
  std::vector<double> times;
  for (int i = request.value("repeats", 1); i > 0; --i) {
    times.push_back(seconds([&] { (*data_)(entries_of(data_->start), gradient); }));
  }
  return {{"seconds", times}};
}

Json TrainingSide::descend(const Json& request) {
  const std::string optimizer = request.at("optimizer");
  Json trace = Json::array();
  const auto begin = std::chrono::steady_clock::now();
  const auto watched = [&](std::span<const double> point, std::span<double> gradient) {
    const double value = (*data_)(point, gradient);
    trace.push_back({std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), value});
    return value;
  };
  std::vector<double> gradient(static_cast<std::size_t>(data_->start.size()));
  lab::DescentOptions options;
  options.gradient_tolerance = request.value("tolerance", 1e-5);
  options.length_scale = data_->start.norm();
  options.value_scale = (*data_)(std::vector<double>(gradient.size(), 0.0), gradient);
  options.value_rounding = request.value("rounding", 1e-6);
  options.max_epochs = request.value("passes", 5000);
  const lab::Descent descent = optimizer == "adam"
                                   ? lab::minimize_adam(watched, entries_of(data_->start), options)
                                   : lab::minimize_lbfgs(watched, entries_of(data_->start), options);
  return {{"trace", trace}, {"value", descent.value}, {"outcome", describe(descent.outcome)}};
}

Json TrainingSide::amp(const Json& request) {
  lab::AmpOptions options;
  options.max_iterations = request.at("iterations");
  options.damping = request.value("damping", 0.2);  // that of the trainer
  options.tolerance = request.value("tolerance", options.tolerance);
  lab::AmpTrajectory path;
  const double time = seconds([&] { path = data_->pass_messages(options); });
  const lab::Matrix point = factor(path.student);
  std::vector<double> gradient(static_cast<std::size_t>(point.size()));
  return {{"seconds", time},
          {"value", (*data_)(entries_of(point), gradient)},
          {"iterations", path.iterations.size()},
          {"outcome", describe(path.outcome)}};
}

}  // namespace qklab::side_by_side
