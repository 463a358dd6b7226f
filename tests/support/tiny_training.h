#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/recipe.h"
#include "core/platform/platform.h"
#include "executor/data/token_source.h"

namespace plimsoll {

/// A model that trains in a blink: two blocks of width 32 over bytes below 128.
inline ModelSpec tiny_spec(Family family = Family::kGpt2) {
  ModelSpec spec = family_defaults(family);
  spec.name = "tiny";
  spec.layers = 2;
  spec.hidden = 32;
  spec.heads = 4;
  spec.kv_heads = family == Family::kLlama ? 2 : 4;
  spec.head_dim = 8;
  spec.ffn = 64;
  spec.vocabulary = 128;
  spec.max_positions = 32;
  return spec;
}

inline Recipe tiny_recipe() {
  Recipe recipe;
  recipe.micro_batch = 2;
  recipe.accumulate = 2;
  recipe.sequence = 16;
  recipe.learning_rate = 3e-3;
  recipe.seed = 7;
  return recipe;
}

inline void add_tiny_links(Platform& platform, SpaceId device, SpaceId host, SpaceId ssd) {
  const std::pair<SpaceId, SpaceId> ways[] = {{device, host}, {host, device}, {host, ssd}, {ssd, host}};
  for (const auto& [from, to] : ways) {
    Link link;
    link.name = platform.at(from).name + " to " + platform.at(to).name;
    link.from = from;
    link.to = to;
    link.bytes_per_second = 1e9;
    platform.links.push_back(link);
  }
}

inline void add_tiny_queues(Platform& platform, ProcessorId near, ProcessorId far) {
  const auto queue = [&](const char* name, QueueKind kind, ProcessorId on, std::int64_t width = 1) {
    Queue added;
    added.width = width;
    added.name = name;
    added.kind = kind;
    added.processor = on;
    platform.queues.push_back(added);
  };
  queue("compute", QueueKind::kCompute, near);
  queue("h2d", QueueKind::kCopy, near);
  queue("d2h", QueueKind::kCopy, near);
  queue("cpu", QueueKind::kHostCompute, far);
  queue("data", QueueKind::kHostWork, far);
  queue("report", QueueKind::kHostWork, far);
  queue("ssd.read", QueueKind::kStorage, far, 3);
  queue("ssd.write", QueueKind::kStorage, far, 2);
}

/// A machine of two memories, as a device and its host, whose kernels all run on the CPU's cores.
inline Platform tiny_machine(std::int64_t cores = 2) {
  Platform platform;
  platform.name = "tiny machine";
  const auto space = [&](const char* name, SpaceKind kind) {
    platform.spaces.push_back({.name = name, .kind = kind, .capacity = kGiB, .usable = kGiB});
    return SpaceId(platform.spaces.size() - 1);
  };
  const SpaceId device = space("gpu0", SpaceKind::kDevice);
  const SpaceId host = space("host", SpaceKind::kHost);
  const SpaceId ssd = space("ssd", SpaceKind::kSsd);
  const auto processor = [&](const char* name, SpaceId where) {
    Processor added;
    added.name = name;
    added.kind = ProcessorKind::kCpu;
    added.space = where;
    added.cores = cores;
    platform.processors.push_back(added);
    return ProcessorId(platform.processors.size() - 1);
  };
  const ProcessorId near = processor("near cores", device);
  const ProcessorId far = processor("far cores", host);
  add_tiny_links(platform, device, host, ssd);
  add_tiny_queues(platform, near, far);
  return platform;
}

/// A corpus in memory: `text` over and over, up to `size` bytes.
class RepeatedText final : public TokenSource {
 public:
  explicit RepeatedText(std::string text, std::int64_t size = 4096) : text_(std::move(text)), size_(size) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }
  void read(std::int64_t offset, std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = text_[(static_cast<std::size_t>(offset) + i) % text_.size()];
    }
  }

 private:
  std::string text_;
  std::int64_t size_;
};

}  // namespace plimsoll
