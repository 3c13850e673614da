// The loss of each architecture and its derivatives with respect to the student's scores, for one vector of
// samples; V is a Lane or a Jet. Each is its equation of docs/theory section 10.1, then the chain rule
// backwards. Included once for every target.
#if defined(QKLAB_CHANNEL_INDEXED_ARCHITECTURES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QKLAB_CHANNEL_INDEXED_ARCHITECTURES_INL_HPP
#undef QKLAB_CHANNEL_INDEXED_ARCHITECTURES_INL_HPP
#else
#define QKLAB_CHANNEL_INDEXED_ARCHITECTURES_INL_HPP
#endif

#include "indexed_values-inl.hpp"
#include "qklab/channel/attention_indexed/attention_indexed.hpp"

HWY_BEFORE_NAMESPACE();
namespace qklab::HWY_NAMESPACE {

/// One vector of samples: scores in, loss and d loss/d student out (`slope` begins at zero).
template <class V>
struct IndexedSample {
  const V* student;
  const V* teacher;
  const V* label_noise;  ///< may be null
  V* slope;
  V loss;
  V* work;  ///< work_size() values
};

inline int work_size(const AttentionIndexedModel& model) {
  const int square = model.tokens * model.tokens;
  return (4 * (model.heads + model.teacher_heads) + 8) * square;
}

template <class V>
HWY_INLINE V label(const IndexedSample<V>& sample, const V& clean, int output) {
  return sample.label_noise == nullptr ? clean : clean + sample.label_noise[output];
}

/// Softmax of beta times `count` scores.
template <class V>
HWY_INLINE void softmax(double beta, int count, const V* scores, V* weights) {
  auto top = plain_part(beta * scores[0]);
  for (int b = 1; b < count; ++b) top = larger(top, plain_part(beta * scores[b]));
  V sum = constant<V>(0);
  for (int b = 0; b < count; ++b) {
    weights[b] = decay(beta * scores[b] - top);
    sum = sum + weights[b];
  }
  const V scale = inverse(sum);
  for (int b = 0; b < count; ++b) weights[b] = weights[b] * scale;
}

/// Adds to `slope` the derivatives in the scores, given those in the weights.
template <class V>
HWY_INLINE void through_softmax(double beta, int count, const V* weights, const V* weight_slope, V* slope) {
  V mean = constant<V>(0);
  for (int b = 0; b < count; ++b) mean = mean + weights[b] * weight_slope[b];
  for (int b = 0; b < count; ++b) slope[b] = slope[b] + beta * (weights[b] * (weight_slope[b] - mean));
}

/// (sum_n c_n He_n(G) - label)^2 of one score.
template <class V>
void single_index(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  const int seen = model.tokens == 1 ? 0 : 1;
  const V x = sample.student[seen];
  const V x0 = sample.teacher[seen];
  const auto& [a1, a2, a3] = model.teacher_series;
  const auto& [c1, c2, c3] = model.series;
  const V clean = constant<V>(-a2) + x0 * (constant<V>(a1 - 3 * a3) + x0 * (constant<V>(a2) + a3 * x0));
  const V output = constant<V>(-c2) + x * (constant<V>(c1 - 3 * c3) + x * (constant<V>(c2) + c3 * x));
  const V misfit = output - label(sample, clean, 0);
  sample.loss = misfit * misfit;
  sample.slope[seen] = 2 * (misfit * (constant<V>(c1 - 3 * c3) + x * (constant<V>(2 * c2) + 3 * c3 * x)));
}

/// ||G - label||_F^2
template <class V>
void linear(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  sample.loss = constant<V>(0);
  for (int k = 0; k < model.score_count(); ++k) {
    const V misfit = sample.student[k] - label(sample, sample.teacher[k], k);
    sample.loss = sample.loss + misfit * misfit;
    sample.slope[k] = 2 * misfit;
  }
}

/// ||sum_k w_k softmax(beta G_k) - label||_F^2
template <class V>
void multi_head(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  const int tokens = model.tokens;
  Arena<V> arena(sample.work);
  V* weights = arena.take(model.heads * tokens);
  V* teacher_row = arena.take(tokens);
  V* misfit = arena.take(tokens);
  V* weight_slope = arena.take(tokens);
  sample.loss = constant<V>(0);
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) misfit[b] = label(sample, constant<V>(0), a * tokens + b);
    for (int k = 0; k < model.teacher_heads; ++k) {
      softmax(model.teacher_beta, tokens, sample.teacher + model.score(a, 0, k), teacher_row);
      const double share = model.teacher_head_weights[k];
      for (int b = 0; b < tokens; ++b) misfit[b] = misfit[b] + share * teacher_row[b];
    }
    for (int b = 0; b < tokens; ++b) misfit[b] = -1 * misfit[b];
    for (int k = 0; k < model.heads; ++k) {
      V* row = weights + k * tokens;
      softmax(model.beta, tokens, sample.student + model.score(a, 0, k), row);
      for (int b = 0; b < tokens; ++b) misfit[b] = misfit[b] + model.head_weights[k] * row[b];
    }
    for (int b = 0; b < tokens; ++b) sample.loss = sample.loss + misfit[b] * misfit[b];
    for (int k = 0; k < model.heads; ++k) {
      for (int b = 0; b < tokens; ++b) weight_slope[b] = 2 * model.head_weights[k] * misfit[b];
      through_softmax(model.beta, tokens, weights + k * tokens, weight_slope,
                      sample.slope + model.score(a, 0, k));
    }
  }
}

/// sum_t (a_t - label_t)^T C (a_t - label_t), a_t the softmax of row t over tokens up to t.
template <class V>
void autoregressive(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  const int tokens = model.tokens;
  Arena<V> arena(sample.work);
  V* row = arena.take(tokens);
  V* misfit = arena.take(tokens);
  V* row_slope = arena.take(tokens);
  sample.loss = constant<V>(0);
  for (int t = 0; t < tokens; ++t) {
    const int seen = t + 1;
    softmax(model.teacher_beta, seen, sample.teacher + t * tokens, misfit);
    softmax(model.beta, seen, sample.student + t * tokens, row);
    for (int b = 0; b < seen; ++b) misfit[b] = row[b] - label(sample, misfit[b], t * tokens + b);
    for (int b = 0; b < seen; ++b) {
      V image = constant<V>(0);
      for (int c = 0; c < seen; ++c) image = image + model.covariance(b, c) * misfit[c];
      sample.loss = sample.loss + misfit[b] * image;
      row_slope[b] = 2 * image;
    }
    through_softmax(model.beta, seen, row, row_slope, sample.slope + t * tokens);
  }
}

/// sum_j a_j G_jj2, a the softmax of the scores G_0j1, j = 1..T-1.
template <class V>
HWY_INLINE V mixed_values(const AttentionIndexedModel& model, double beta, const V* scores, V* weights) {
  const int locations = model.tokens - 1;
  softmax(beta, locations, scores + 1, weights);
  V sum = constant<V>(0);
  for (int j = 0; j < locations; ++j) sum = sum + weights[j] * scores[model.score(j + 1, j + 1, 1)];
  return sum;
}

/// (mixed values - label)^2
template <class V>
void multi_location(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  const int locations = model.tokens - 1;
  Arena<V> arena(sample.work);
  V* weights = arena.take(locations);
  V* weight_slope = arena.take(locations);
  const V target = label(sample, mixed_values(model, model.teacher_beta, sample.teacher, weights), 0);
  const V misfit = mixed_values(model, model.beta, sample.student, weights) - target;
  sample.loss = misfit * misfit;
  for (int j = 0; j < locations; ++j) {
    const int value = model.score(j + 1, j + 1, 1);
    weight_slope[j] = 2 * (misfit * sample.student[value]);
    sample.slope[value] = 2 * (misfit * weights[j]);
  }
  through_softmax(model.beta, locations, weights, weight_slope, sample.slope + 1);
}

enum class Transposed { none, first, second };

/// c = a b, a^T b or a b^T, of T x T matrices row by row.
template <class V>
HWY_INLINE void multiply(int size, Transposed which, const V* a, const V* b, V* c) {
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      V sum = constant<V>(0);
      for (int k = 0; k < size; ++k) {
        const V& left = which == Transposed::first ? a[k * size + i] : a[i * size + k];
        const V& right = which == Transposed::second ? b[j * size + k] : b[k * size + j];
        sum = sum + left * right;
      }
      c[i * size + j] = sum;
    }
  }
}

/// The layers of a transformer: B_{l+1} = (c + P_l) B_l, P_l the softmax of the rows of B_l G_l B_l^T.
template <class V>
struct Layers {
  V* mixing;     ///< B_0 = 1, B_1, ..., B_L
  V* attention;  ///< P_0, ..., P_{L-1}
};

template <class V>
HWY_INLINE void run_layers(const AttentionIndexedModel& model, int count, double beta, const V* scores,
                           V* work, const Layers<V>& layers) {
  const int tokens = model.tokens;
  const int square = tokens * tokens;
  for (int i = 0; i < square; ++i) layers.mixing[i] = constant<V>(i % (tokens + 1) == 0 ? 1 : 0);
  for (int l = 0; l < count; ++l) {
    const V* mixing = layers.mixing + l * square;
    V* next = layers.mixing + (l + 1) * square;
    V* attention = layers.attention + l * square;
    multiply(tokens, Transposed::second, scores + l * square, mixing, work);
    multiply(tokens, Transposed::none, mixing, work, next);
    for (int a = 0; a < tokens; ++a) softmax(beta, tokens, next + a * tokens, attention + a * tokens);
    multiply(tokens, Transposed::none, attention, mixing, next);
    for (int i = 0; i < square; ++i) next[i] = next[i] + model.residual * mixing[i];
  }
}

/// Tr[(B_L - label) C (B_L - label)^T]
template <class V>
void layered(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  const int tokens = model.tokens;
  const int square = tokens * tokens;
  const int depth = model.heads;
  Arena<V> arena(sample.work);
  V* work = arena.take(square);
  V* misfit = arena.take(square);
  V* slope = arena.take(square);        // d loss/d B of the layer at hand
  V* inner_slope = arena.take(square);  // d loss/d P, then d loss/d (B G B^T)
  V* product = arena.take(square);
  const Layers<V> target{arena.take((model.teacher_heads + 1) * square),
                         arena.take(model.teacher_heads * square)};
  const Layers<V> student{arena.take((depth + 1) * square), arena.take(depth * square)};
  run_layers(model, model.teacher_heads, model.teacher_beta, sample.teacher, work, target);
  run_layers(model, depth, model.beta, sample.student, work, student);

  sample.loss = constant<V>(0);
  const V* clean = target.mixing + model.teacher_heads * square;
  for (int i = 0; i < square; ++i)
    misfit[i] = student.mixing[depth * square + i] - label(sample, clean[i], i);
  for (int a = 0; a < tokens; ++a) {
    for (int b = 0; b < tokens; ++b) {
      V image = constant<V>(0);
      for (int c = 0; c < tokens; ++c) image = image + model.covariance(c, b) * misfit[a * tokens + c];
      sample.loss = sample.loss + misfit[a * tokens + b] * image;
      slope[a * tokens + b] = 2 * image;
    }
  }
  for (int l = depth - 1; l >= 0; --l) {
    const V* mixing = student.mixing + l * square;
    const V* attention = student.attention + l * square;
    const V* scores = sample.student + l * square;
    multiply(tokens, Transposed::second, slope, mixing, work);  // d loss/d P
    for (int i = 0; i < square; ++i) inner_slope[i] = constant<V>(0);
    for (int a = 0; a < tokens; ++a) {
      through_softmax(model.beta, tokens, attention + a * tokens, work + a * tokens,
                      inner_slope + a * tokens);
    }
    multiply(tokens, Transposed::first, mixing, inner_slope, work);
    multiply(tokens, Transposed::none, work, mixing, sample.slope + l * square);
    // B_l enters through (c + P) B and twice through B G B^T.
    multiply(tokens, Transposed::first, attention, slope, work);
    for (int i = 0; i < square; ++i) slope[i] = work[i] + model.residual * slope[i];
    multiply(tokens, Transposed::second, mixing, scores, work);
    multiply(tokens, Transposed::none, inner_slope, work, product);
    for (int i = 0; i < square; ++i) slope[i] = slope[i] + product[i];
    multiply(tokens, Transposed::none, mixing, scores, work);
    multiply(tokens, Transposed::first, inner_slope, work, product);
    for (int i = 0; i < square; ++i) slope[i] = slope[i] + product[i];
  }
}

template <class V>
void evaluate(const AttentionIndexedModel& model, IndexedSample<V>& sample) {
  switch (model.architecture) {
    case Architecture::softmax:
    case Architecture::multi_head:
      return multi_head(model, sample);
    case Architecture::linear:
    case Architecture::denoising:
      return linear(model, sample);
    case Architecture::h1:
    case Architecture::h2:
    case Architecture::h3:
      return single_index(model, sample);
    case Architecture::two_layer:
      return layered(model, sample);
    case Architecture::autoregressive:
      return autoregressive(model, sample);
    case Architecture::multi_location:
      return multi_location(model, sample);
  }
}

}  // namespace qklab::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
