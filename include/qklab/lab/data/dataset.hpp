#pragma once

#include <cstdint>
#include <vector>

#include "qklab/core/problem.hpp"
#include "qklab/core/progress.hpp"
#include "qklab/lab/data/ranks.hpp"
#include "qklab/lab/matrix/matrix.hpp"

namespace qklab::lab {

/// What becomes of the tokens once the labels are drawn: kept, or drawn again wherever they are read. They
/// are nearly all of a data set, T d numbers a sample beside T^2 of a label.
enum class TokenStorage { stored, regenerated };

/// Training data in the form the squared loss needs (qklab/channel/labels/attention_loss.hpp).
///
/// Real is the type of the tokens, float or double; labels are double in both, so that the loss keeps its
/// digits. Tokens are read through TokenBlocks (qklab/lab/data/token_blocks.hpp).
template <class Real>
struct Dataset {
  int dimension = 0;       ///< d
  int tokens = 0;          ///< T
  long samples = 0;        ///< n, or this rank's part of them:
  long first = 0;          ///< the number of the first of them among the n,
  long whole = 0;          ///< and n
  std::uint64_t seed = 0;  ///< of the tokens

  /// x: token a of sample mu is the row mu * T + a of d entries; empty when tokens are regenerated.
  std::vector<Real> inputs;
  /// R, [(a * T + b) * n + mu]: the label y (seq2lab), or y x^T/d (seq2seq).
  std::vector<double> correlation;
  /// C, [pair * n + mu], pairs a <= b row by row: x x^T/d (seq2seq); empty stands for the identity (seq2lab).
  std::vector<double> gram;
  /// sum over all n samples of the part of the loss that does not depend on the prediction: ||y||_F^2
  /// (seq2lab), or
  /// ||y P||_F^2/d = Tr R C^-1 R^T (seq2seq), P the projector on the span of the sample's tokens.
  double constant = 0;
};

struct DrawOptions {
  TokenStorage storage = TokenStorage::stored;
  ProgressCallback progress{};  ///< stage "data"
  StopToken stop{};
};

/// n = sample_count(problem) samples of the teacher; sample mu is a function of (seed, mu) alone, whatever
/// the number of threads, and float tokens are the rounded doubles of the same seed.
///
/// seq2lab: y = sigma(h0 + sqrt(noise_in) xi) + sqrt(noise_out) eta, xi symmetric with variance 1 + delta_ab,
/// eta T x T iid. seq2seq: y = A0 x + sqrt(d noise_out) eta, A0 = sigma(h0 + sqrt(noise_in) xi), eta T x d
/// iid; on the span of the tokens this is noise of variance noise_out on the attention matrix (docs/theory
/// section 1). The part of y orthogonal to the tokens is fitted by no attention matrix and would add
/// noise_out T (d - T) to every sample's loss, so it is left out of `constant`: losses of both tasks then
/// have the same limit.
///
/// Once a stop is requested the samples that are left stay zero: such a data set is not to be used.
///
/// Of several ranks each draws the samples that it passes over.
///
/// Throws InvalidParameter for a channel outside its domain and like require_independent_tokens().
template <class Real>
Dataset<Real> draw_dataset(const Problem& problem, const Matrix& teacher, std::uint64_t seed,
                           const DrawOptions& options = {}, const Ranks& ranks = {});

/// Throws InvalidParameter for seq2seq with T > d, whose labels do not fix an attention matrix.
void require_independent_tokens(const Problem& problem);

/// Bytes of the data set on one of `ranks` ranks and of the work space that draws it on `threads` threads.
double dataset_bytes(const Problem& problem, int bytes_per_real, TokenStorage storage, int threads,
                     int ranks = 1);

}  // namespace qklab::lab
