#include "qklab/channel/proximal/proximal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <string>

#include "further_starts.hpp"
#include "proximal_rows.hpp"
#include "qklab/core/error.hpp"
#include "uniqueness.hpp"

namespace qklab {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr int kGroup = 16;

int rounded_up(int points) {
  return (points + kGroup - 1) / kGroup * kGroup;
}

Channel checked_batch(const Channel& channel, int capacity) {
  if (capacity < 1 || capacity > kMaxBatch) {
    throw InvalidParameter("capacity", capacity, "a batch holds 1.." + std::to_string(kMaxBatch) + " points");
  }
  if (channel.activation != Activation::softmax) {
    throw InvalidParameter("activation", to_string(channel.activation), "the proximal search is for softmax");
  }
  return checked(channel);
}

}  // namespace

void PointRows::AlignedDelete::operator()(double* values) const {
  ::operator delete[](values, kAlignment);
}

PointRows::PointRows(int rows, int points)
    : rows_(rows),
      stride_(rounded_up(points)),
      values_(static_cast<double*>(
          ::operator new[](sizeof(double) * static_cast<std::size_t>(rows) * stride_, kAlignment))) {
  std::fill_n(values_.get(), static_cast<std::size_t>(rows) * stride_, 0.0);
}

/// The state of a Newton search, and a second, packed one for the points that need more starts.
struct ProximalMap::Search {
  Search(const Channel& channel, int capacity)
      : step(channel.pair_count(), capacity),
        state(3, capacity),
        start(channel.pair_count(), capacity),
        packed_center(channel.pair_count(), capacity),
        packed_label(channel.tokens * channel.tokens, capacity),
        packed_residual(channel.pair_count(), capacity),
        packed_step(channel.pair_count(), capacity),
        packed_state(3, capacity) {}

  NewtonRows packed(int count) {
    return {packed_center.stride(), rounded_up(count),      packed_center.row(0),
            packed_label.row(0),    packed_residual.row(0), packed_step.row(0),
            packed_state.row(0),    packed_state.row(1),    packed_state.row(2)};
  }

  PointRows step;
  PointRows state;  ///< objective, slope, done
  PointRows start;
  PointRows packed_center;
  PointRows packed_label;
  PointRows packed_residual;
  PointRows packed_step;
  PointRows packed_state;
  std::array<int, kMaxBatch> contested;  ///< points that may have a lower minimum elsewhere
};

namespace {

void copy_points(const PointRows& from, const int* points, int count, PointRows& to) {
  for (int k = 0; k < from.rows(); ++k) {
    const double* source = from.row(k);
    double* target = to.row(k);
    for (int i = 0; i < count; ++i) target[i] = source[points[i]];
  }
}

}  // namespace

ProximalMap::ProximalMap(const Channel& channel, int capacity)
    : center(checked_batch(channel, capacity).pair_count(), capacity),
      label(channel.tokens * channel.tokens, capacity),
      preimage(channel.pair_count(), capacity),
      attention(channel.tokens * channel.tokens, capacity),
      minimiser(channel.pair_count(), capacity),
      residual(channel.pair_count(), capacity),
      loss(1, capacity),
      preimage_divergence(1, capacity),
      center_divergence(1, capacity),
      jacobian_square(1, capacity),
      converged(1, capacity),
      competing(1, capacity),
      channel_(channel),
      capacity_(capacity),
      search_(std::make_unique<Search>(channel, capacity)) {}

ProximalMap::~ProximalMap() = default;
ProximalMap::ProximalMap(ProximalMap&&) noexcept = default;
ProximalMap& ProximalMap::operator=(ProximalMap&&) noexcept = default;

void ProximalMap::solve(int count, double susceptibility, Start start) {
  if (!(susceptibility > 0 && std::isfinite(susceptibility))) {
    throw InvalidParameter("susceptibility", susceptibility, "V must be > 0 and finite");
  }
  if (count < 0 || count > capacity_) {
    throw InvalidParameter("count", count, "must be within the capacity of the batch");
  }
  const NewtonRows rows{center.stride(),       rounded_up(count),     center.row(0),
                        label.row(0),          residual.row(0),       search_->step.row(0),
                        search_->state.row(0), search_->state.row(1), search_->state.row(2)};
  begin(rows.count, susceptibility, start);
  minimise(channel_, susceptibility, rows);
  std::fill_n(competing.row(0), count, 0.0);
  const int contested = find_contested(count, susceptibility);
  if (contested > 0) explore(contested, susceptibility, start);
  respond(channel_, susceptibility,
          {rows, attention.row(0), minimiser.row(0), loss.row(0), preimage_divergence.row(0),
           center_divergence.row(0), jacobian_square.row(0), converged.row(0)});
}

void ProximalMap::begin(int count, double susceptibility, Start start) {
  for (int k = 0; k < center.rows(); ++k) {
    double* g = residual.row(k);
    if (start == Start::center) {
      std::fill_n(g, count, 0.0);
      continue;
    }
    const double* from = minimiser.row(k);
    const double* w = center.row(k);
    for (int i = 0; i < count; ++i) g[i] = (from[i] - w[i]) / susceptibility;
  }
}

int ProximalMap::find_contested(int count, double susceptibility) {
  std::array<double, kMaxBatch> square{};
  for (int k = 0; k < residual.rows(); ++k) {
    const double* g = residual.row(k);
    for (int i = 0; i < count; ++i) square[i] += g[i] * g[i];
  }
  const double* objective = search_->state.row(0);
  const double* done = search_->state.row(2);
  int contested = 0;
  for (int i = 0; i < count; ++i) {
    const FoundMinimum found{objective[i], susceptibility * square[i]};
    const bool proved = done[i] > 0 && is_only_minimum(channel_, susceptibility, label, i, found);
    if (!proved) search_->contested[contested++] = i;
  }
  return contested;
}

void ProximalMap::explore(int count, double susceptibility, Start first) {
  Search& search = *search_;
  copy_points(center, search.contested.data(), count, search.packed_center);
  copy_points(label, search.contested.data(), count, search.packed_label);
  copy_points(preimage, search.contested.data(), count, search.start);
  const auto search_from_start = [&] {
    begin_packed(count, susceptibility);
    minimise(channel_, susceptibility, search.packed(count));
    keep_lower(count, susceptibility);
  };
  search_from_start();
  if (first != Start::center) {
    copy_points(center, search.contested.data(), count, search.start);
    search_from_start();
  }
  for (const TokenSet& chosen : row_choices(channel_.tokens)) {
    for (int j = 0; j < count; ++j) {
      preimage_of_rows(channel_, search.packed_label, search.packed_center, chosen, j, search.start);
    }
    search_from_start();
  }
}

void ProximalMap::begin_packed(int count, double susceptibility) {
  for (int k = 0; k < center.rows(); ++k) {
    const double* from = search_->start.row(k);
    const double* w = search_->packed_center.row(k);
    double* g = search_->packed_residual.row(k);
    for (int i = 0; i < count; ++i) g[i] = (from[i] - w[i]) / susceptibility;
  }
}

void ProximalMap::keep_lower(int count, double susceptibility) {
  Search& search = *search_;
  const double apart = 1e-3 / (channel_.beta * susceptibility);
  for (int j = 0; j < count; ++j) {
    const int i = search.contested[j];
    if (search.packed_state.row(2)[j] == 0) continue;
    double& objective = search.state.row(0)[i];
    double& done = search.state.row(2)[i];
    const bool had_minimum = done > 0;
    double square = 0;
    for (int k = 0; k < residual.rows(); ++k) {
      const double difference = search.packed_residual.row(k)[j] - residual.row(k)[i];
      square += difference * difference;
    }
    const bool distinct = square > apart * apart;
    if (had_minimum && distinct) competing.row(0)[i] = 1;
    if (had_minimum && !(distinct && search.packed_state.row(0)[j] < objective)) continue;
    objective = search.packed_state.row(0)[j];
    done = 1;
    for (int k = 0; k < residual.rows(); ++k) residual.row(k)[i] = search.packed_residual.row(k)[j];
  }
}

}  // namespace qklab
