#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/stack/sharing/chunk_layout.h"
#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

/// Colossal-AI's Gemini: two-byte parameters in chunks of one size that ranks share out; a chunk is
/// gathered while one of its tensors is used, takes its gradients in place of the parameters in backward, and is reduced when
/// all are there. Chunks of the fp32 copy and of both moments go with it. Chunks may wait in host
/// memory; of these as many as fill a given room stay on the GPU, parameters first, then states. Fetches are not prefetched
/// (its default), so kernels wait for them.
///
/// PatrickStar, its forerunner, keeps one copy of a chunk: what makes room for another goes back to host memory, forward as well, and
/// kernels wait for that too. Its warm-up holds nearly all chunks in host memory, which must have room for them. An update copies
/// a chunk's gradients to the host, updates and writes the weights back in fp32, one after another.
class GeminiChunks : public StateSharing {
 public:
  GeminiChunks(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void end() override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;
  [[nodiscard]] Bytes host() const override;

 private:
  struct Chunk {
    std::int64_t elements = 0;
    std::vector<Parameter*> parameters;
    std::shared_ptr<Storage> gathered;
    Tensor shard;
    Parameter master;
    std::size_t awaited = 0;  ///< gradients
    Home parameter_home = Home::kDevice;
    Home state_home = Home::kDevice;
  };

  void place_chunks(Bytes room);
  /// A rank's part of the fp32 copy and of what the optimizer keeps.
  [[nodiscard]] Bytes states_of(const Chunk& chunk) const;

  void make_chunks(const std::vector<Parameter*>& parameters, Bytes room);
  void move(const std::string& place);
  void gather(std::size_t place);
  void release(Chunk& chunk);
  void take(Chunk& chunk, Parameter& parameter);
  /// A rank's part of a chunk's weights on its way; whoever waits for it is told by the manager.
  void carry(StackKernelSort sort, const Chunk& chunk, std::int64_t size, bool blocking);
  [[nodiscard]] bool is_patrickstar() const { return manager_ == ChunkManager::kPatrickStar; }
  [[nodiscard]] std::int64_t part(std::int64_t elements) const { return (elements + ranks_ - 1) / ranks_; }
  [[nodiscard]] bool stays(const Chunk& chunk) const { return ranks_ == 1 && chunk.parameter_home == Home::kDevice && chunk.elements > 0; }

  OptimizerKind optimizer_;
  ChunkManager manager_;
  Bytes warm_up_room_;
  std::int64_t ranks_;
  Home parameter_home_;
  Home state_home_;
  DType type_ = DType::kFp16;
  std::deque<Chunk> chunks_;
  using Places = std::set<std::size_t>;  ///< in chunks_: in their order, which addresses have not
  std::map<std::string, Places> chunks_at_;
  Places in_use_;
  std::string current_;
};

}  // namespace plimsoll
