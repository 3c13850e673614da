#include "theory_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "qklab/cli/words/table.hpp"
#include "qklab/theory/untied/untied.hpp"
#include "wording.hpp"

namespace qklab::cli {
namespace {

std::string stability_words(const theory::Solution& solution) {
  if (std::isnan(solution.stability.value)) return "not known here";
  return solution.stable ? "< 1: stable" : ">= 1: not stable, do not trust";
}

}  // namespace

std::string solution_list(const theory::Solution& solution) {
  ListText list;
  list.add("test error", with_error(solution.test_error), "E |sigma(h0) - sigma(h)|^2, no label noise");
  list.add("training loss", with_error(solution.train_loss), "(1/d^2) sum of losses at the minimiser");
  list.add("training error", with_error(solution.train_error), "mean loss of a training sample");
  list.add("penalty", with_error(solution.regularization), "(lambda/d) |W|^2");
  list.add("overlap m", with_error(solution.overlap), "Tr(S S0)/d");
  const bool sampled = theory::is_sampled(solution.problem);
  if (sampled) {
    list.add("self-overlap q", with_error(solution.self_overlap), "Tr(S_s^2)/d of the symmetric part");
    list.add("", with_error(solution.antisymmetric_self_overlap),
             "Tr(S_a S_a^T)/d of the antisymmetric part");
  } else {
    list.add("self-overlap q", with_error(solution.self_overlap), "Tr(S^2)/d");
  }
  list.add("susceptibility V", with_error(solution.susceptibility), "");
  list.add("conjugates", with_error(solution.overlap_hat), "of m");
  list.add("", with_error(solution.self_overlap_hat), "of q");
  list.add("", with_error(solution.susceptibility_hat), "of V");
  if (sampled) {
    list.add("zero singular values", with_error(solution.zero_fraction),
             "fraction of the singular values of S");
  } else {
    list.add("zero eigenvalues", with_error(solution.zero_fraction), "fraction of the eigenvalues of S");
  }
  list.add("stability", with_error(solution.stability), stability_words(solution));
  if (has_few_modes(solution.problem)) {
    list.add("effective modes", fmt::format("{:.3g}", effective_modes(solution.problem)),
             "few: scores are not Gaussian, errors approximate");
  }
  list.add("outcome", std::string(describe(solution.outcome)),
           fmt::format("{} iterations, residual {:.2g}", solution.iterations, solution.residual));
  if (sampled) {
    list.add("matrix side", fmt::format("sampled on d = {} matrices", solution.sampled_dimension), "");
  } else {
    list.add("spectrum of S", spectrum_words(solution), "");
  }
  return list.text();
}

std::string bayes_list(const theory::BayesSolution& solution) {
  ListText list;
  list.add("test error", with_error(solution.test_error), "of the posterior mean, no label noise");
  const double se = solution.squared_error_se;
  list.add("squared error", with_error({solution.squared_error, se}), "Q0 - q, Tr((S - S0)^2)/d");
  list.add("overlap q", with_error({solution.overlap, se}), "Tr(S S0)/d = Tr(S^2)/d");
  list.add("conjugate of q", with_error({solution.overlap_hat, solution.overlap_hat_se}), "");
  list.add("outcome", std::string(describe(solution.outcome)),
           fmt::format("{} iterations, residual {:.2g}", solution.iterations, solution.residual));
  if (solution.squared_error == 0) list.add("remark", "recovered", "the labels determine the target");
  return list.text();
}

std::string spectrum_words(const theory::Solution& solution) {
  constexpr std::size_t most_intervals = 4;
  std::string text = number(solution.zero_fraction.value) + " at 0";
  for (std::size_t i = 0; i < solution.edges.size(); ++i) {
    if (i == most_intervals) {
      text += fmt::format(" and {} more", solution.edges.size() - i);
      break;
    }
    text += fmt::format(", [{:.4g}, {:.4g}]", solution.edges[i].lo, solution.edges[i].hi);
  }
  return text;
}

}  // namespace qklab::cli
