#include "formats/models/shape_words.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

TEST_CASE("a gpt shape in words fills in 4h, 1024 positions and full heads") {
  const auto spec = parse_shape_words("gpt:layers=24,hidden=2304,heads=24,vocab=51200");
  REQUIRE(spec);
  ModelSpec expected = family_defaults(Family::kGpt2);
  expected.name = "gpt:layers=24,hidden=2304,heads=24,vocab=51200";
  expected.layers = 24;
  expected.hidden = 2304;
  expected.heads = 24;
  expected.kv_heads = 24;
  expected.head_dim = 96;  // 2304 / 24
  expected.ffn = 9216;     // 4 · 2304
  expected.vocabulary = 51200;
  expected.max_positions = 1024;
  CHECK(*spec == expected);
}

TEST_CASE("a llama shape rounds 8h/3 up to a multiple of 256 and has 2048 positions") {
  // 8·4096/3 = 10922.67; the next multiple of 256 is 43·256 = 11008, Llama-7B's width.
  const auto spec = parse_shape_words("llama:layers=32,hidden=4096,heads=32,vocab=32000");
  REQUIRE(spec);
  CHECK(spec->ffn == 11008);
  CHECK(spec->max_positions == 2048);
  CHECK(spec->family == Family::kLlama);
  CHECK_FALSE(spec->tied_head);
  // 8·768/3 = 2048 = 8·256 needs no rounding.
  CHECK(parse_shape_words("llama:layers=1,hidden=768,heads=12,vocab=9")->ffn == 2048);
}

TEST_CASE("every key of a shape in words is heard") {
  const auto spec = parse_shape_words(
      "llama:layers=2,hidden=64,heads=4,kv_heads=2,head_dim=32,ffn=100,vocab=10,positions=77,tied=true,epsilon=1e-6,"
      "rope_theta=5e5");
  REQUIRE(spec);
  CHECK(spec->kv_heads == 2);
  CHECK(spec->head_dim == 32);
  CHECK(spec->ffn == 100);
  CHECK(spec->max_positions == 77);
  CHECK(spec->tied_head);
  CHECK(spec->norm_epsilon == 1e-6);
  CHECK(spec->rope_theta == 5e5);
}

TEST_CASE("every family's word brings what its models have") {
  const auto made = [](const char* text) {
    const auto spec = parse_shape_words(text);
    if (!spec) FAIL(spec.error().text());
    return *spec;
  };
  CHECK(made("qwen2:layers=1,hidden=64,heads=4,vocab=10").qkv_bias);
  CHECK_FALSE(made("qwen2:layers=1,hidden=64,heads=4,vocab=10").projection_bias);
  CHECK(made("qwen3:layers=1,hidden=64,heads=4,vocab=10").qk_norm);
  CHECK(made("mistral:layers=1,hidden=64,heads=4,vocab=10,window=77").longest_sequence() == 77);
  const ModelSpec gemma = made("gemma:layers=1,hidden=64,heads=4,vocab=10");
  CHECK(gemma.embedding_scale == 8);  // √64
  CHECK(gemma.norm == NormKind::kRmsNormPlusOne);
  CHECK(gemma.tied_head);
  const ModelSpec phi = made("phi:layers=1,hidden=64,heads=4,vocab=10");
  CHECK(phi.rotary_dim == 8);  // half of 64 / 4
  CHECK(phi.ffn == 256);
  CHECK(phi.head_bias);
  const ModelSpec stretched =
      made("llama:layers=1,hidden=64,heads=4,vocab=10,rope_scaling=llama3,rope_factor=8,rope_low=1,rope_high=4,rope_original=512");
  CHECK(stretched.rope_scaling == RopeScaling{RopeScalingKind::kLlama3, 8, 1, 4, 512});
  CHECK_FALSE(parse_shape_words("llama:layers=1,hidden=64,heads=4,vocab=10,rope_scaling=yarn"));
  CHECK_FALSE(parse_shape_words("gpt:layers=1,hidden=64,heads=4,vocab=10,rope_factor=2"));
}

TEST_CASE("what a family's word brings can be said otherwise, whatever the order of the keys") {
  const auto falcon = parse_shape_words("falcon:layers=1,hidden=64,heads=4,vocab=10,rope_theta=5e5,parallel=false,qkv_bias=true");
  REQUIRE(falcon);
  CHECK_FALSE(falcon->parallel_block);
  CHECK(falcon->qkv_bias);
  const auto rotary = parse_shape_words("gpt:layers=1,hidden=64,heads=4,vocab=10,rope_theta=5e5,position=rope");
  REQUIRE(rotary);
  CHECK(rotary->positions == PositionKind::kRope);
  const auto bare = parse_shape_words("mpt:layers=1,hidden=64,heads=4,vocab=10,position=alibi,bias=false");
  REQUIRE(bare);
  CHECK_FALSE(bare->norm_bias);
  CHECK_FALSE(bare->qkv_bias);
  CHECK(parse_shape_words("gpt:layers=1,hidden=64,heads=4,vocab=10,activation=swiglu")->ffn == 256);  // 8·64/3, rounded up
  CHECK_FALSE(parse_shape_words("gpt:layers=1,hidden=64,heads=4,vocab=10,position=sinus"));
  CHECK_FALSE(parse_shape_words("gpt:layers=1,hidden=64,heads=4,vocab=10,parallel=yes"));
}

TEST_CASE("a T5 has as many decoder blocks as encoder blocks unless it says otherwise") {
  CHECK(parse_shape_words("t5:layers=3,hidden=64,heads=4,vocab=10")->decoder_layers == 3);
  CHECK(parse_shape_words("t5:layers=3,hidden=64,heads=4,vocab=10,decoder_layers=5")->decoder_layers == 5);
}

TEST_CASE("a convolutional net is said by its stages, and keys of transformers are refused") {
  const auto net = parse_shape_words("resnet:depths=2-2-2-2,classes=10,image=64");
  REQUIRE(net);
  CHECK(net->layers == 8);
  CHECK(net->hidden == 512);
  CHECK(net->classes == 10);
  CHECK(parse_shape_words("densenet:depths=2-2,growth=8")->layers == 5);  // and a transition
  for (const char* text : {"resnet:", "resnet:depths=3-x", "resnet:depths=", "resnet:depths=1-1,heads=4", "densenet:depths=2-2",
                           "vgg:depths=1-1-1-1-1,image=16", "resnet:depths=1-1,bottleneck=1", "vgg:depths=1-0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_shape_words(text));
  }
}

TEST_CASE("Transformer-XL is said with its memory, and its clusters of words by where they begin") {
  const auto spec = parse_shape_words("transformer-xl:layers=2,hidden=64,heads=4,vocab=100,memory=32,cutoffs=20-50,divisor=4");
  REQUIRE(spec);
  CHECK(spec->memory == 32);
  CHECK(spec->adaptive.cutoffs == std::vector<std::int64_t>{20, 50});
  CHECK(spec->adaptive.divisor == 4);
  for (const char* words : {"cutoffs=", "cutoffs=20-", "cutoffs=50-20", "cutoffs=20-100", "cutoffs=0-20", "divisor=4", "kv_heads=2", "bias=true",
                            "memory=0", "cutoffs=20,divisor=65", "cutoffs=1-2-3-4-5-6-7-8-9"}) {
    CAPTURE(words);
    CHECK_FALSE(parse_shape_words(std::string("transformer-xl:layers=2,hidden=64,heads=4,vocab=100,") + words));
  }
  CHECK_FALSE(parse_shape_words("gpt:layers=2,hidden=64,heads=4,vocab=100,memory=32"));
}

TEST_CASE("an unknown key or family is named and the nearest one suggested") {
  const auto key = parse_shape_words("gpt:layer=24,hidden=2304,heads=24,vocab=51200");
  REQUIRE_FALSE(key);
  CHECK(key.error().what == "unknown key 'layer'");
  CHECK(key.error().remedy.find("layers") != std::string::npos);
  const auto family = parse_shape_words("lama:layers=1");
  REQUIRE_FALSE(family);
  CHECK(family.error().remedy.find("llama") != std::string::npos);
}

TEST_CASE("a shape that is incomplete, double, not whole, not positive, too large or indivisible is refused") {
  const std::string good = "gpt:layers=2,hidden=64,heads=4,vocab=10";
  CHECK(parse_shape_words(good));
  for (const char* text :
       {"gpt:hidden=64,heads=4,vocab=10", "gpt:layers=2,layers=2,hidden=64,heads=4,vocab=10",
        "gpt:layers=2.5,hidden=64,heads=4,vocab=10", "gpt:layers=,hidden=64,heads=4,vocab=10",
        "gpt:layers=0,hidden=64,heads=4,vocab=10", "gpt:layers=-1,hidden=64,heads=4,vocab=10",
        "gpt:layers=99999999999999999999,hidden=64,heads=4,vocab=10", "gpt:layers=2,hidden=64,heads=3,vocab=10",
        "gpt:layers=2,hidden=16777217,heads=1,vocab=10", "gpt:layers=2,hidden=64,heads=4,vocab=10,tied=maybe",
        "gpt:layers=2,hidden=64,heads=4,vocab=10,rope_theta=10", "gpt:layers=2,hidden=64,heads=4,vocab=10,epsilon=nan",
        "gpt:layers=2,hidden=64,heads=4,vocab=10,epsilon=-1", "gpt:layers=2,,hidden=64,heads=4,vocab=10", "gpt:", "gpt", ":",
        "llama:layers=2,hidden=12,heads=4,vocab=10"}) {  // the last: heads of width 3 have no rotary pairs
    CAPTURE(text);
    CHECK_FALSE(parse_shape_words(text));
  }
}

}  // namespace
}  // namespace plimsoll
