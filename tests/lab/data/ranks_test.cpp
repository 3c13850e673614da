#include "qklab/lab/data/ranks.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "lab/training_problems.hpp"
#include "qklab/lab/data/teacher.hpp"
#include "qklab/lab/objective/objective.hpp"
#include "qklab/lab/training/train.hpp"

namespace qklab::lab {
namespace {

constexpr std::uint64_t seed = 3;

/// Ranks that are threads of this process.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size) : size_(size), turn_(size) {}

  /// What `work` gives on each of the ranks.
  template <class Work>
  auto run(const Work& work) {
    std::vector<decltype(work(Ranks{}))> results(size_);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] { results[rank] = work(ranks(rank)); });
    }
    threads.clear();
    return results;
  }

 private:
  Ranks ranks(int rank) {
    return {rank, size_, size_, [this, rank](std::span<double> total, const AddPart& add) {
              if (rank == 0) sum_.assign(total.size(), 0.0);
              for (int r = 0; r < size_; ++r) {
                turn_.arrive_and_wait();
                if (r == rank) add(0, sum_);
              }
              turn_.arrive_and_wait();
              std::ranges::copy(sum_, total.begin());
              turn_.arrive_and_wait();
            }};
  }

  int size_;
  std::barrier<> turn_;
  std::vector<double> sum_;
};

struct Point {
  double value = 0;
  std::vector<double> gradient;
  bool operator==(const Point&) const = default;
};

template <class Real>
Point evaluate(const Problem& problem, const Ranks& ranks, TokenStorage storage = TokenStorage::stored) {
  const Dataset<Real> data = draw_dataset<Real>(problem, draw_teacher(problem, seed), seed,
                                                {.storage = storage, .progress = {}, .stop = {}}, ranks);
  Objective<Real> objective(data, problem, 0, ranks);
  const Matrix parameters = gaussian_parameters(problem, 1);
  Point point;
  point.gradient.resize(static_cast<std::size_t>(objective.size()));
  point.value = objective(entries(parameters), point.gradient);
  return point;
}

Problem problem_of_many_chunks() {
  Problem problem;
  problem.dimension = 70;
  problem.tokens = 3;
  problem.noise_in = 0.2;
  problem.noise_out = 0.1;
  return problem;
}

TEST(Ranks, ShareTheSamplesAndFindTheSameGradient) {
  Problem problem = problem_of_many_chunks();
  for (Task task : {Task::seq2lab, Task::seq2seq}) {
    problem.task = task;
    const Point alone = evaluate<double>(problem, {});
    const Point alone_single = evaluate<float>(problem, {});
    for (int size : {2, 3, 7}) {
      ThreadRanks ranks(size);
      for (const Point& point : ranks.run([&](const Ranks& r) { return evaluate<double>(problem, r); })) {
        EXPECT_EQ(point, alone);
      }
      const auto regenerated =
          ranks.run([&](const Ranks& r) { return evaluate<float>(problem, r, TokenStorage::regenerated); });
      for (const Point& point : regenerated) EXPECT_EQ(point, alone_single);
    }
  }
}

TEST(Ranks, MoreOfThemThanGroupsOfSamplesLeaveSomeIdle) {
  Problem problem = small_problems().front().problem;
  const Point alone = evaluate<double>(problem, {});
  ThreadRanks ranks(9);
  for (const Point& point : ranks.run([&](const Ranks& r) { return evaluate<double>(problem, r); })) {
    EXPECT_EQ(point, alone);
  }
}

TEST(Ranks, PartsOfADataSetJoinToTheWhole) {
  const Problem problem = problem_of_many_chunks();
  const Matrix teacher = draw_teacher(problem, seed);
  const Dataset<double> whole = draw_dataset<double>(problem, teacher, seed);
  ThreadRanks ranks(3);
  const auto parts =
      ranks.run([&](const Ranks& r) { return draw_dataset<double>(problem, teacher, seed, {}, r); });
  std::vector<double> joined;
  for (const Dataset<double>& part : parts) {
    EXPECT_EQ(part.whole, whole.samples);
    EXPECT_EQ(part.constant, whole.constant);
    EXPECT_EQ(part.first * problem.tokens * problem.dimension, std::ssize(joined));
    EXPECT_NEAR(static_cast<double>(part.samples), static_cast<double>(whole.samples) / 3, 260);
    joined.insert(joined.end(), part.inputs.begin(), part.inputs.end());
    for (long s = 0; s < part.samples; ++s) {
      ASSERT_EQ(part.correlation[s], whole.correlation[part.first + s]);
    }
  }
  EXPECT_EQ(joined, whole.inputs);
}

TEST(Ranks, TrainTheSameModel) {
  Problem problem = problem_of_many_chunks();
  problem.dimension = 40;
  TrainOptions options;
  options.max_epochs = 20;
  options.test_samples = 200;
  const TrainedRun alone = run(problem, options, seed);
  ThreadRanks ranks(2);
  const auto runs = ranks.run([&](const Ranks& r) {
    TrainOptions shared = options;
    shared.ranks = r;
    return run(problem, shared, seed);
  });
  for (const TrainedRun& shared : runs) {
    EXPECT_EQ(shared.eigenvalues, alone.eigenvalues);
    EXPECT_EQ(shared.train_loss, alone.train_loss);
    EXPECT_EQ(shared.test_error.value, alone.test_error.value);
    EXPECT_EQ(shared.epochs, alone.epochs);
    EXPECT_LT(shared.memory.bytes, alone.memory.bytes);
  }
}

}  // namespace
}  // namespace qklab::lab
