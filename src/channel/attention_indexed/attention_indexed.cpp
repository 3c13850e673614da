#include "qklab/channel/attention_indexed/attention_indexed.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "indexed_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../src/channel/attention_indexed/attention_indexed.cpp"
// Arrays of vectors need a size known to the compiler; machines with SSSE3 but no SSE4 are history.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include "hwy/foreach_target.h"
// foreach_target.h comes first so that the rest of this file is compiled once for every target.
#include "hwy/aligned_allocator.h"
#include "indexed_architectures-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

/// Memory of one vector of samples, for any V.
template <class V>
class SampleMemory {
 public:
  explicit SampleMemory(const AttentionIndexedModel& model)
      : scores_(model.score_count()),
        teacher_scores_(model.teacher_score_count()),
        outputs_(model.output_count()),
        values_(hwy::AllocateAligned<V>(2 * scores_ + teacher_scores_ + outputs_ + work_size(model))) {
    if (values_ == nullptr) throw std::bad_alloc();
  }

  V* student() { return values_.get(); }
  V* slope() { return student() + scores_; }
  V* teacher() { return slope() + scores_; }
  V* label_noise() { return teacher() + teacher_scores_; }
  V* work() { return label_noise() + outputs_; }

 private:
  size_t scores_, teacher_scores_, outputs_;
  hwy::AlignedFreeUniquePtr<V[]> values_;
};

template <class Real>
void load(int rows, const Real* from, int stride, int sample, Lane<Real>* to) {
  const typename Lane<Real>::D d;
  for (int k = 0; k < rows; ++k) {
    to[k].lanes = hn::LoadU(d, from + static_cast<size_t>(k) * stride + sample);
  }
}

template <class Real>
void losses(const AttentionIndexedModel& model, int count, const IndexedRows<Real>& rows) {
  using V = Lane<Real>;
  const typename V::D d;
  SampleMemory<V> memory(model);
  const V* noise = rows.label_noise == nullptr ? nullptr : memory.label_noise();
  for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
    load(model.score_count(), rows.student, rows.stride, i, memory.student());
    load(model.teacher_score_count(), rows.teacher, rows.stride, i, memory.teacher());
    if (noise != nullptr) {
      load(model.output_count(), rows.label_noise, rows.stride, i, memory.label_noise());
      const double size = std::sqrt(model.noise_out);
      for (int k = 0; k < model.output_count(); ++k) memory.label_noise()[k] = size * memory.label_noise()[k];
    }
    for (int k = 0; k < model.score_count(); ++k) memory.slope()[k] = constant<V>(0);
    IndexedSample<V> sample{memory.student(), memory.teacher(), noise,
                            memory.slope(),   constant<V>(0),   memory.work()};
    evaluate(model, sample);
    hn::StoreU(sample.loss.lanes, d, rows.loss + i);
    for (int k = 0; k < model.score_count(); ++k) {
      hn::StoreU(memory.slope()[k].lanes, d, rows.gradient + static_cast<size_t>(k) * rows.stride + i);
    }
  }
}

using DoubleJet = Jet<Lane<double>, kJetSlopes>;

/// Values from rows of samples, derivatives from `directions` (`direction_count` values apart).
inline void load_jets(int rows, const double* from, int stride, int sample, const double* directions,
                      int direction_count, DoubleJet* to) {
  const Lane<double>::D d;
  for (int k = 0; k < rows; ++k) {
    to[k].value.lanes = hn::LoadU(d, from + static_cast<size_t>(k) * stride + sample);
    for (int j = 0; j < kJetSlopes; ++j) {
      to[k].slope[j].lanes = hn::Set(d, directions[static_cast<size_t>(k) * direction_count + j]);
    }
  }
}

void curvatures(const AttentionIndexedModel& model, int count, const CurvatureRows& rows) {
  const Lane<double>::D d;
  const int scores = model.score_count();
  SampleMemory<DoubleJet> memory(model);
  const auto sums = hwy::AllocateAligned<Lane<double>>(static_cast<size_t>(scores) * kJetSlopes);
  const DoubleJet* noise = rows.label_noise == nullptr ? nullptr : memory.label_noise();
  const double noise_size = std::sqrt(model.noise_out);
  for (int first = 0; first < rows.direction_count; first += kJetSlopes) {
    const double* directions = rows.directions + first;
    const double* teacher_directions = directions + static_cast<size_t>(scores) * rows.direction_count;
    for (int k = 0; k < scores * kJetSlopes; ++k) set_constant(sums[k], 0);
    for (int i = 0; i < count; i += static_cast<int>(hn::Lanes(d))) {
      load_jets(scores, rows.student, rows.stride, i, directions, rows.direction_count, memory.student());
      load_jets(model.teacher_score_count(), rows.teacher, rows.stride, i, teacher_directions,
                rows.direction_count, memory.teacher());
      for (int k = 0; noise != nullptr && k < model.output_count(); ++k) {
        const Lane<double> normal{hn::LoadU(d, rows.label_noise + static_cast<size_t>(k) * rows.stride + i)};
        set_constant(memory.label_noise()[k], 0);
        memory.label_noise()[k].value = noise_size * normal;
      }
      for (int k = 0; k < scores; ++k) set_constant(memory.slope()[k], 0);
      IndexedSample<DoubleJet> sample{memory.student(), memory.teacher(),       noise,
                                      memory.slope(),   constant<DoubleJet>(0), memory.work()};
      evaluate(model, sample);
      const Lane<double> weight{hn::LoadU(d, rows.weights + i)};
      for (int k = 0; k < scores; ++k) {
        for (int j = 0; j < kJetSlopes; ++j) {
          sums[k * kJetSlopes + j] = sums[k * kJetSlopes + j] + weight * memory.slope()[k].slope[j];
        }
      }
    }
    for (int k = 0; k < scores; ++k) {
      for (int j = 0; j < kJetSlopes; ++j) {
        rows.sum[static_cast<size_t>(k) * rows.direction_count + first + j] +=
            hn::GetLane(hn::SumOfLanes(d, sums[k * kJetSlopes + j].lanes));
      }
    }
  }
}

void losses_f32(const AttentionIndexedModel& model, int count, const IndexedRows<float>& rows) {
  losses(model, count, rows);
}
void losses_f64(const AttentionIndexedModel& model, int count, const IndexedRows<double>& rows) {
  losses(model, count, rows);
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qklab {

HWY_EXPORT(losses_f32);
HWY_EXPORT(losses_f64);
HWY_EXPORT(curvatures);

namespace {

/// Samples are handed to the kernels in multiples of this, which every vector length divides.
constexpr int kGroup = 16;

void dispatch(const AttentionIndexedModel& model, int count, const IndexedRows<float>& rows) {
  HWY_DYNAMIC_DISPATCH(losses_f32)(model, count, rows);
}
void dispatch(const AttentionIndexedModel& model, int count, const IndexedRows<double>& rows) {
  HWY_DYNAMIC_DISPATCH(losses_f64)(model, count, rows);
}

/// The last, incomplete group of samples in rows of kGroup, the missing ones a copy of the last.
template <class Real>
std::vector<Real> padded(int rows, int stride, int count, const Real* source) {
  std::vector<Real> values(static_cast<std::size_t>(rows) * kGroup);
  for (int k = 0; source != nullptr && k < rows; ++k) {
    const Real* row = source + static_cast<std::size_t>(k) * stride;
    for (int i = 0; i < kGroup; ++i) values[k * kGroup + i] = row[std::min(i, count - 1)];
  }
  return values;
}

template <class Real>
void padded_losses(const AttentionIndexedModel& model, int count, const IndexedRows<Real>& rows) {
  const auto student = padded(model.score_count(), rows.stride, count, rows.student);
  const auto teacher = padded(model.teacher_score_count(), rows.stride, count, rows.teacher);
  const auto noise = padded(model.output_count(), rows.stride, count, rows.label_noise);
  std::vector<Real> loss(kGroup);
  std::vector<Real> gradient(student.size());
  dispatch(
      model, kGroup,
      IndexedRows<Real>{kGroup, student.data(), teacher.data(),
                        rows.label_noise == nullptr ? nullptr : noise.data(), loss.data(), gradient.data()});
  std::copy_n(loss.begin(), count, rows.loss);
  for (int k = 0; k < model.score_count(); ++k) {
    std::copy_n(gradient.data() + k * kGroup, count,
                rows.gradient + static_cast<std::size_t>(k) * rows.stride);
  }
}

/// Seen directions of student and teacher side by side: (scores, student's first) x directions, the number
/// of directions filled up with zeros to a multiple of kJetSlopes.
Eigen::MatrixXd joint_directions(const SeenScores& seen) {
  const Eigen::Index count = seen.student.cols() + seen.teacher.cols();
  Eigen::MatrixXd joint = Eigen::MatrixXd::Zero(seen.student.rows() + seen.teacher.rows(),
                                                (count + kJetSlopes - 1) / kJetSlopes * kJetSlopes);
  joint.topLeftCorner(seen.student.rows(), seen.student.cols()) = seen.student;
  joint.block(seen.student.rows(), seen.student.cols(), seen.teacher.rows(), seen.teacher.cols()) =
      seen.teacher;
  return joint;
}

}  // namespace

template <class Real>
void loss_and_gradient(const AttentionIndexedModel& model, int count, const Real* student,
                       const Real* teacher, const Real* label_noise, Real* loss, Real* gradient) {
  const int whole = count - count % kGroup;
  dispatch(model, whole, IndexedRows<Real>{count, student, teacher, label_noise, loss, gradient});
  if (whole == count) return;
  padded_losses(model, count - whole,
                IndexedRows<Real>{count, student + whole, teacher + whole,
                                  label_noise == nullptr ? nullptr : label_noise + whole, loss + whole,
                                  gradient + whole});
}

template void loss_and_gradient<float>(const AttentionIndexedModel&, int, const float*, const float*,
                                       const float*, float*, float*);
template void loss_and_gradient<double>(const AttentionIndexedModel&, int, const double*, const double*,
                                        const double*, double*, double*);

Eigen::MatrixXd curvature_sum(const AttentionIndexedModel& model, const SeenScores& seen, int count,
                              const double* student, const double* teacher, const double* label_noise,
                              const double* weights) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const RowMajor directions = joint_directions(seen);
  const int width = static_cast<int>(directions.cols());
  RowMajor sum = RowMajor::Zero(model.score_count(), width);
  const int whole = count - count % kGroup;
  HWY_DYNAMIC_DISPATCH(curvatures)
  (model, whole, {count, student, teacher, label_noise, weights, directions.data(), width, sum.data()});
  if (whole < count) {
    const int stride = count;
    const int rest = count - whole;
    const auto of_rest = [&](int rows, const double* values) {
      return padded(rows, stride, rest, values == nullptr ? nullptr : values + whole);
    };
    const auto last = of_rest(model.score_count(), student);
    const auto last_teacher = of_rest(model.teacher_score_count(), teacher);
    const auto last_noise = of_rest(model.output_count(), label_noise);
    auto last_weights = of_rest(1, weights);
    std::fill(last_weights.begin() + rest, last_weights.end(), 0.0);
    HWY_DYNAMIC_DISPATCH(curvatures)
    (model, kGroup,
     {kGroup, last.data(), last_teacher.data(), label_noise == nullptr ? nullptr : last_noise.data(),
      last_weights.data(), directions.data(), width, sum.data()});
  }
  return seen.student.transpose() * sum.leftCols(seen.student.cols() + seen.teacher.cols());
}

}  // namespace qklab
#endif
