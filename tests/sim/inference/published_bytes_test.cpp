#include <catch2/catch.hpp>

#include "core/inference/kv_cache.h"
#include "formats/models/resolve_model.h"
#include "sim/inference/inference_task.h"

using namespace plimsoll;

namespace {

struct PublishedBytes {
  const char* model;
  std::int64_t weights;    ///< "total_size" of its safetensors index, less the rotary tables that old checkpoints carry
  std::int64_t per_token;  ///< of keys and values
};

}  // namespace

TEST_CASE("weights and KV cache of published models are right to the byte") {
  // Weights: total_size of model.safetensors.index.json on Hugging Face; of Llama 2 less layers · 64 · 4 bytes of rotary tables
  // (13476839424 − 8192, 137953316864 − 20480). Keys and values: 2 · layers · kv_heads · 128 · 2; 800 KB of a token of OPT-13B is
  // what the vLLM paper says (Kwon et al. 2023, section 3).
  const PublishedBytes rows[] = {{"llama2-7b", 13476831232, 2 * 32 * 32 * 128 * 2},
                                 {"llama2-70b", 137953296384, 2 * 80 * 8 * 128 * 2},
                                 {"llama3-8b", 16060522496, 2 * 32 * 8 * 128 * 2},
                                 {"mistral-7b", 14483464192, 2 * 32 * 8 * 128 * 2},
                                 {"mixtral-8x7b", 93405585408, 2 * 32 * 8 * 128 * 2},
                                 {"qwen2.5-7b", 15231233024, 2 * 28 * 4 * 128 * 2},
                                 // blocks · (512 of the narrow vector + 64 of the rotated key) · 2; DeepSeek 3's 70.272
                                 // KB is what its authors say (DeepSeek-AI 2025, Insights into DeepSeek-V3, table 1).
                                 {"deepseek-v2-lite", 2 * 15706484224, 27 * 576 * 2},
                                 {"deepseek-v3", 2 * 671026404352, 70272},
                                 {"opt-13b", 2 * 12853473280, 819200}};
  for (const PublishedBytes& row : rows) {
    INFO(row.model);
    const auto spec = resolve_model(row.model);
    REQUIRE(spec);
    CHECK(store_weights(*spec, DType::kFp16, {}).total() == Bytes(row.weights));
    CHECK(kv_bytes_per_token(*spec, DType::kFp16) == Bytes(row.per_token));
  }
}

TEST_CASE("the cache of 32 sequences of OPT-13B with 612 tokens is what FlexGen printed") {
  // "cache size: 14.941 GB" for a batch of 32, prompts of 512 and 100 new tokens (a public log): 32 · 612 · 819200 in GiB.
  const auto spec = resolve_model("opt-13b");
  REQUIRE(spec);
  const Bytes cache = kv_cache_bytes(*spec, 32, 612, DType::kFp16);
  CHECK(static_cast<double>(cache.count) / (1 << 30) == Approx(14.941).margin(5e-4));
}
