// The part of RankLowering for stages of different numbers of ranks, which micro-batches go round (Narayanan et al.,
// PipeDream, SOSP 2019, section 3.2): m is passed by the replica numbered m mod the stage's count, forwards and back.
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

std::uint32_t RankLowering::own_micro_batch(std::uint32_t first, std::uint32_t nth) const {
  if (!goes_round()) return first + nth;
  const std::uint32_t count = stride();
  return first + (replica_ + count - first % count) % count + nth * count;
}

bool RankLowering::is_own(std::uint32_t micro_batch) const {
  return !goes_round() || micro_batch % stride() == replica_;
}

/// A held-out batch all replicas pass, each with what one before has of it.
std::uint32_t RankLowering::rank_passing(std::uint32_t place, std::uint32_t micro_batch) const {
  if (!goes_round()) return rank_of_place(place);
  return job_.rank_at(place, (evaluates_ ? replica_ : micro_batch) % job_.replicas_of(place), slice_);
}

std::vector<std::uint32_t> RankLowering::ranks_given(std::uint32_t place, std::uint32_t micro_batch) const {
  if (!goes_round() || !evaluates_) return {rank_passing(place, micro_batch)};
  std::vector<std::uint32_t> given;
  const std::uint32_t own = job_.replicas_of(place_);
  for (std::uint32_t replica = 0; replica < job_.replicas_of(place); ++replica) {
    if (replica % own == replica_) given.push_back(job_.rank_at(place, replica, slice_));
  }
  return given;
}

void RankLowering::update_after(std::uint32_t micro_batch, std::uint32_t nth) {
  updates_done_ = nth;
  updated_from_ = micro_batch;
  keep_version(0);
  write_optimizer();
  updates_done_ = nth + 1;
  begun_.clear();  // the next round's sums begin anew
  summed_.clear();
}

}  // namespace plimsoll
