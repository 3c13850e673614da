#include "qklab/experiment/ranks/rank_session.hpp"

#include <omp.h>
// The old C++ interface is not used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace qklab::experiment {
namespace {

/// What launchers tell the processes that they start: Open MPI, PMIx (also Slurm's), Hydra.
bool has_launcher() {
  constexpr std::array signs{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::ranges::any_of(signs, [](const char* sign) { return std::getenv(sign) != nullptr; });
}

/// Entries of a sum that travel together: while one part is on its way the next is added up.
constexpr std::size_t part_entries = std::size_t{1} << 16;

}  // namespace

struct RankSession::Aside {
  MPI_Comm communicator = MPI_COMM_NULL;
};

RankSession::RankSession() {
  if (!has_launcher()) return;
  int granted = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &on_this_machine_);
  MPI_Comm_free(&machine);
  aside_ = std::make_unique<Aside>();
  MPI_Comm_dup(MPI_COMM_WORLD, &aside_->communicator);
}

RankSession::~RankSession() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised != 0) MPI_Finalize();
}

lab::Ranks RankSession::ranks() {
  lab::Ranks ranks;
  if (size_ == 1) return ranks;
  ranks.rank = rank_;
  ranks.size = size_;
  ranks.on_this_machine = on_this_machine_;
  ranks.sum = [this](std::span<double> total, const lab::AddPart& add) { sum(total, add); };
  return ranks;
}

int RankSession::threads() const {
  if (size_ == 1) return 0;
  const auto cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  // A launcher may have bound this rank to fewer.
  return std::max(1, std::min(omp_get_num_procs(), cores / on_this_machine_));
}

StopToken RankSession::agreed(StopToken wish) {
  if (size_ == 1) return wish;
  wish_ = wish;
  return StopToken(stops_);
}

bool RankSession::all_are_here() const {
  if (size_ == 1) return true;
  constexpr int tries = 200;
  constexpr auto pause = std::chrono::milliseconds(10);
  // Sums that other ranks wait for must not be taken for this.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(aside_->communicator, &request);
  int complete = 0;
  for (int i = 0; i < tries && complete == 0; ++i) {
    MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    if (complete == 0) std::this_thread::sleep_for(pause);
  }
  return complete != 0;
}

void RankSession::abandon(int status) const {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, status);
}

/// From rank to rank in order, the last hands the result to all.
void RankSession::sum(std::span<double> total, const lab::AddPart& add) {
  constexpr int tag = 0;
  for (std::size_t first = 0; first < total.size(); first += part_entries) {
    const std::span<double> part = total.subspan(first, std::min(part_entries, total.size() - first));
    const auto count = static_cast<int>(part.size());
    if (rank_ == 0) {
      std::ranges::fill(part, 0.0);
    } else {
      MPI_Recv(part.data(), count, MPI_DOUBLE, rank_ - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    add(static_cast<long>(first), part);
    if (rank_ + 1 < size_) MPI_Send(part.data(), count, MPI_DOUBLE, rank_ + 1, tag, MPI_COMM_WORLD);
  }
  for (std::size_t first = 0; first < total.size(); first += part_entries) {
    const auto count = static_cast<int>(std::min(part_entries, total.size() - first));
    MPI_Bcast(total.data() + first, count, MPI_DOUBLE, size_ - 1, MPI_COMM_WORLD);
  }
  int wants = wish_.requested() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &wants, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (wants != 0) stops_.store(true);
}

}  // namespace qklab::experiment
