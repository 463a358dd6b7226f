#include <benchmark/benchmark.h>

#include "formats/text/read_text_file.h"
#include "formats/tokenizers/tokenizer.h"

// How fast text becomes tokens, with small tokenizers of each kind: the way through normalizer, pre-tokenizer and cache is
// that of large ones, whose merges differ in number only. Once with words that are known, once with a fresh cache.
namespace plimsoll {
namespace {

std::string text_of(const char* file) { return read_text_file(std::string(PLIMSOLL_SOURCE_ROOT) + file, Bytes(1 << 22)).value(); }

void encode(benchmark::State& state, const char* kind, const char* file, bool known) {
  const std::string text = text_of(file);
  const Tokenizer tokenizer =
      Tokenizer::load(std::string(PLIMSOLL_SOURCE_ROOT) + "/tests/reference/tokenizers/" + kind + ".json").value();
  std::size_t tokens = 0;
  for (auto _ : state) {
    const auto found = known ? tokenizer.encode(text) : Tokenizer(tokenizer).encode(text);
    tokens += found->size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(tokens));
}

constexpr const char* kEnglish = "/data/texts/us-constitution.txt";
constexpr const char* kMixed = "/tests/reference/tokenizers/text.txt";

BENCHMARK_CAPTURE(encode, gpt2_english, "gpt2", kEnglish, true);
BENCHMARK_CAPTURE(encode, gpt2_english_fresh, "gpt2", kEnglish, false);
BENCHMARK_CAPTURE(encode, gpt2_mixed, "gpt2", kMixed, true);
BENCHMARK_CAPTURE(encode, llama3_english, "llama3", kEnglish, true);
BENCHMARK_CAPTURE(encode, qwen2_english, "qwen2", kEnglish, true);
BENCHMARK_CAPTURE(encode, llama2_english, "llama2", kEnglish, true);
BENCHMARK_CAPTURE(encode, llama2_english_fresh, "llama2", kEnglish, false);
BENCHMARK_CAPTURE(encode, llama2_mixed, "llama2", kMixed, true);

}  // namespace
}  // namespace plimsoll
