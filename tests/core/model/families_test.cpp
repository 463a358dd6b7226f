#include <catch2/catch.hpp>

#include <cmath>

#include "core/model/adapter_parts.h"
#include "core/model/parameters.h"
#include "core/model/recipe.h"

using namespace plimsoll;

namespace {

ModelSpec made(Family family) {
  ModelSpec spec = family_defaults(family);
  spec.name = std::string(to_text(family));
  spec.layers = 2;
  spec.hidden = 64;
  spec.heads = spec.kv_heads = 4;
  spec.head_dim = 16;
  spec.ffn = 256;
  spec.vocabulary = 100;
  spec.max_positions = 32;
  return spec;
}

}  // namespace

TEST_CASE("an OPT's table of positions has two rows more than it has positions, and narrow embeddings a projection each way") {
  ModelSpec opt = made(Family::kOpt);
  const std::int64_t plain = parameter_count(opt);
  opt.position_offset = 0;
  CHECK(plain - parameter_count(opt) == 2 * 64);
  opt.position_offset = 2;
  opt.embedding_width = 16;  // 100·64 become 100·16, and 2·16·64 are added
  CHECK(validate(opt));
  CHECK(parameter_count(opt) - plain == 100 * (16 - 64) + 2 * 16 * 64);
}

TEST_CASE("BLOOM and MPT with ALiBi learn no positions, and a model without biases has none in its norms either") {
  ModelSpec bloom = made(Family::kBloom);
  CHECK(lay_out_parameters(bloom).groups[0].find(ParameterRole::kPositionEmbedding) == nullptr);
  CHECK(lay_out_parameters(bloom).groups[0].find(ParameterRole::kEmbeddingNormBias) != nullptr);
  ModelSpec mpt = made(Family::kMpt);
  const std::int64_t biased = parameter_count(mpt);
  mpt.qkv_bias = mpt.projection_bias = mpt.mlp_bias = mpt.norm_bias = false;
  // A block: 3·64 + 64 + 256 + 64 + 2·64 = 704; the last norm 64.
  CHECK(biased - parameter_count(mpt) == 2 * 704 + 64);
}

TEST_CASE("a GPT-NeoX block has a norm before each of its parallel layers, a GPT-J block one for both") {
  CHECK(lay_out_parameters(made(Family::kGptNeoX)).groups[1].find(ParameterRole::kNorm2Weight) != nullptr);
  CHECK(lay_out_parameters(made(Family::kGptJ)).groups[1].find(ParameterRole::kNorm2Weight) == nullptr);
  ModelSpec sequential = made(Family::kGptNeoX);
  sequential.parallel_block = false;
  CHECK_THAT(validate(sequential).error().text(), Catch::Contains("parallel_norms"));
}

TEST_CASE("the blocks of a decoder behind an encoder have cross attention, and the first of each stack relative positions") {
  ModelSpec t5 = made(Family::kT5);
  t5.decoder_layers = 3;
  REQUIRE(validate(t5));
  const ParameterLayout layout = lay_out_parameters(t5);
  REQUIRE(layout.groups.size() == 7);
  for (std::int64_t layer = 0; layer < 5; ++layer) {
    const ParameterGroup& block = layout.at(layout.block(layer));
    CHECK((block.find(ParameterRole::kCrossQueryWeight) != nullptr) == (layer >= 2));
    CHECK((block.find(ParameterRole::kRelativeBias) != nullptr) == (layer == 0 || layer == 2));
    CHECK((block.find(ParameterRole::kEncoderNormWeight) != nullptr) == (layer == 1));
  }
  // Tables 100·64; encoder block 4·64² + 2·64·256 + 2·64; decoder block 4·64² + 64 more; two tables of 32·4; two last norms.
  const std::int64_t encoder = 4 * 64 * 64 + 2 * 64 * 256 + 2 * 64, decoder = encoder + 4 * 64 * 64 + 64;
  CHECK(layout.elements() == 100 * 64 + 2 * encoder + 3 * decoder + 2 * 32 * 4 + 2 * 64);
}

TEST_CASE(
    "buckets of distances that share no numbers, or more than there are distances, are refused with their bounds") {
  ModelSpec t5 = made(Family::kT5);
  t5.decoder_layers = 2;
  for (const std::int64_t buckets : {0, 1, 3, 256, 1 << 20, 1 << 30}) {
    t5.relative_buckets = buckets;
    CHECK_THAT(validate(t5).error().text(), Catch::Contains("relative_buckets"));
  }
  for (const std::int64_t buckets : {4, 5, 31, 32, 255}) {
    t5.relative_buckets = buckets;
    CHECK(validate(t5));
  }
}

TEST_CASE("a decoder's own length is for models that have one, and within their positions") {
  ModelSpec t5 = made(Family::kT5);
  t5.decoder_layers = 2;
  CHECK(validate(Recipe{.sequence = 32, .target_sequence = 8}, t5));
  CHECK(target_tokens({.sequence = 32, .target_sequence = 8}) == 8);
  CHECK(target_tokens({.sequence = 32}) == 32);
  CHECK_FALSE(validate(Recipe{.sequence = 32, .target_sequence = 33}, t5));
  CHECK_THAT(validate(Recipe{.sequence = 32, .target_sequence = 8}, made(Family::kOpt)).error().text(), Catch::Contains("--target-seq"));
}

TEST_CASE("adapters stand beside one matrix of queries, keys and values where checkpoints hold one") {
  CHECK(adapter_targets(made(Family::kFalcon)).front() == AdapterTarget::kQkv);
  CHECK(adapter_targets(made(Family::kOpt)).front() == AdapterTarget::kQuery);
  CHECK(parse_adapter_targets("query_key_value", made(Family::kBloom)) == std::vector{AdapterTarget::kQkv});
  CHECK(parse_adapter_targets("Wqkv,out_proj", made(Family::kMpt)) == std::vector{AdapterTarget::kQkv, AdapterTarget::kOutput});
  CHECK(parse_adapter_targets("q_proj,v_proj", made(Family::kOpt)) == std::vector{AdapterTarget::kQuery, AdapterTarget::kValue});
  for (const AdapterPart& part : adapter_parts(made(Family::kPhi3))) {
    if (part.target == AdapterTarget::kUp) CHECK(part.outputs == 512);  // gate and up are one matrix there
  }
  ModelSpec t5 = made(Family::kT5);
  t5.decoder_layers = 2;
  CHECK_FALSE(takes_adapters(t5));
}

TEST_CASE("a rank above a matrix's own is refused with the matrix and the rank that it allows") {
  const AdapterSpec adapter{.rank = 65, .alpha = 65, .targets = {AdapterTarget::kQkv}};
  const auto valid = validate(adapter, made(Family::kFalcon));
  REQUIRE_FALSE(valid);
  CHECK_THAT(valid.error().text(), Catch::Contains("192 x 64") && Catch::Contains("--lora 64"));
}

TEST_CASE("equal texts are equal specs: every field of an architecture stands in the canonical text") {
  const ModelSpec plain = made(Family::kGptJ);
  const auto changed = [&](auto change) {
    ModelSpec spec = plain;
    change(spec);
    return canonical_text(spec) != canonical_text(plain);
  };
  CHECK(changed([](ModelSpec& s) { s.norm_bias = false; }));
  CHECK(changed([](ModelSpec& s) { s.parallel_norms = true; }));
  CHECK(changed([](ModelSpec& s) { s.rope_interleaved = false; }));
  CHECK(changed([](ModelSpec& s) { s.embedding_width = 8; }));
  CHECK(changed([](ModelSpec& s) { s.position_offset = 2; }));
  CHECK(changed([](ModelSpec& s) { s.decoder_layers = 2; }));
  CHECK(changed([](ModelSpec& s) { s.relative_buckets = 32; }));
  CHECK(changed([](ModelSpec& s) { s.norm_place = NormPlace::kBehind; }));
  CHECK(changed([](ModelSpec& s) { s.norm_weight = false; }));
  CHECK(changed([](ModelSpec& s) { s.wide_qk_norm = true; }));
  CHECK(changed([](ModelSpec& s) { s.score_cap = 50; }));
  CHECK(changed([](ModelSpec& s) { s.logit_cap = 30; }));
  CHECK(changed([](ModelSpec& s) { s.full_every = 2; }));
  CHECK(changed([](ModelSpec& s) { s.local_rope_theta = 1e4; }));
  CHECK(changed([](ModelSpec& s) { s.sinks = true; }));
  CHECK(changed([](ModelSpec& s) { s.other_arithmetic = true; }));
  CHECK(changed([](ModelSpec& s) { s.latent.kv_rank = 8; }));
  CHECK(changed([](ModelSpec& s) { s.conv.kind = ConvNetKind::kVgg; }));
}

TEST_CASE("Transformer-XL has the parameters that its authors' program prints") {
  // The log of their base model on WikiText-103: n_all_param 151107538, n_nonemb_param 41066400 (kimiyoung/transformer-xl's
  // run_wt103_base.sh; adaptive, div_val 1).
  ModelSpec base = family_defaults(Family::kTransfoXl);
  base.layers = 16;
  base.hidden = 410;
  base.heads = base.kv_heads = 10;
  base.head_dim = 41;
  base.ffn = 2100;
  base.vocabulary = 267735;
  base.max_positions = 2048;
  base.memory = 150;
  base.adaptive.cutoffs = {19997, 39997, 199997};
  CHECK(validate(base));
  CHECK(parameter_count(base) == 151'107'538);
  CHECK(16 * lay_out_parameters(base).groups[1].elements == 41'066'400);
}

TEST_CASE("clusters that a divisor narrows have tables and projections of their own, and the head one more for the first") {
  ModelSpec xl = made(Family::kTransfoXl);
  const std::int64_t flat = parameter_count(xl);
  xl.adaptive.cutoffs = {20, 50};
  // Two rows of 64 that stand for the further clusters, and their biases.
  CHECK(parameter_count(xl) - flat == 2 * 64 + 2);
  xl.adaptive.divisor = 4;
  CHECK(validate(xl));
  // 20 · 64 + 30 · 16 + 50 · 4 in place of 100 · 64; projections 64 · (64 + 16 + 4), and the head's 64 · 64.
  CHECK(parameter_count(xl) - flat == 2 * 64 + 2 + (20 * 64 + 30 * 16 + 50 * 4 - 100 * 64) + 64 * 84 + 64 * 64);
}

TEST_CASE("shares of an adaptive vocabulary's clusters sum to one, and the law has WikiText-103's tokens") {
  const AdaptiveVocabulary words{.cutoffs = {19997, 39997, 199997}, .divisor = 4};
  const auto clusters = word_clusters(words, 267735, 1024);
  double sum = 0;
  for (const WordCluster& cluster : clusters) sum += cluster.share;
  CHECK(sum == Approx(1));
  CHECK(clusters[3].words == 67738);
  CHECK(clusters[3].width == 16);
  double tokens = 0;
  for (int rank = 1; rank <= 267735; ++rank) tokens += 3 * std::pow(267735.0 / rank, 1.275);
  CHECK(tokens == Approx(103'227'021).epsilon(0.01));
}

TEST_CASE("memory and cutoffs belong to positions by distance, whose blocks are Transformer-XL's alone") {
  ModelSpec gpt = made(Family::kGpt2);
  gpt.memory = 8;
  CHECK_THAT(validate(gpt).error().text(), Catch::Contains("positions by distance"));
  ModelSpec xl = made(Family::kTransfoXl);
  xl.post_norm = false;
  CHECK_FALSE(validate(xl));
  for (const AdaptiveVocabulary& words : {AdaptiveVocabulary{.cutoffs = {50, 20}}, AdaptiveVocabulary{.cutoffs = {100}},
                                          AdaptiveVocabulary{.divisor = 4}, AdaptiveVocabulary{.cutoffs = {20, 50}, .divisor = 16}}) {
    xl = made(Family::kTransfoXl);
    xl.adaptive = words;
    CHECK_FALSE(validate(xl));
  }
}
