#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"
#include "formats/training/data_sets.h"
#include "sim/answers/training_length.h"

namespace plimsoll {
namespace {

const ModelSpec kGpt2 = resolve_model("gpt2").value();
constexpr SampleTokens kSample{.each = 1024};

TrainingLength length_of(LengthRequest request) { return training_length(request, kGpt2, kSample).value(); }

}  // namespace

TEST_CASE("a count is a number with or without a unit of a thousand, a million, a billion or a trillion") {
  CHECK(parse_count("300B") == 300e9);
  CHECK(parse_count("1.4T") == 1.4e12);
  CHECK(parse_count("2e9") == 2e9);
  CHECK(parse_count("1,281,167") == 1281167);
  CHECK(parse_count("512K") == 512e3);
  for (const char* text : {"", "B", "-3B", "0", "12Q", "1e30", "nan", "c4"}) CHECK_FALSE(parse_count(text));
}

TEST_CASE("tokens are sequences of the recipe's length, in every epoch again") {
  // 1.024 M tokens are 1000 sequences of 1024; three epochs read 3000, and 1000 have to be prepared.
  const TrainingLength length = length_of({.tokens = "1.024M", .samples = "", .epochs = 3.0});
  CHECK(length.samples == Approx(3000));
  CHECK(length.tokens == Approx(3.072e6));
  CHECK(length.set_samples == Approx(1000));
  CHECK(length.prepared_bytes == 2048);  // 50257 ids fit two bytes
}

TEST_CASE("chinchilla is twenty tokens for each parameter, or as many as it is told") {
  // 124,439,808 · 20 = 2,488,796,160
  CHECK(length_of({.tokens = "chinchilla"}).tokens == Approx(2488796160.0));
  CHECK(length_of({.tokens = "chinchilla:40"}).tokens == Approx(2 * 2488796160.0));
  CHECK_FALSE(training_length({.tokens = "chinchilla:none"}, kGpt2, kSample));
}

TEST_CASE("a data set is found by its name, however it is written, and is an epoch long") {
  CHECK(length_of({.tokens = "The Pile"}).tokens == Approx(299892736000.0));
  CHECK(length_of({.tokens = "C4"}).tokens == Approx(156e9));
  CHECK(length_of({.samples = "LAION"}).samples == Approx(5.85e9));
  CHECK(length_of({.tokens = "gpt-3"}).epochs == 1.0);
  CHECK_FALSE(length_of({.tokens = "300B"}).epochs);  // of which set, nobody said
}

TEST_CASE("what is asked in the wrong unit, of nothing, or of an unknown set is refused with the remedy") {
  const auto error_of = [](const LengthRequest& request, const ModelSpec& spec = kGpt2) {
    const auto length = training_length(request, spec, kSample);
    REQUIRE_FALSE(length);
    return length.error();
  };
  CHECK_THAT(error_of({.tokens = "imagenet"}).remedy, Catch::Contains("--samples imagenet"));
  CHECK_THAT(error_of({.samples = "c4"}).remedy, Catch::Contains("--tokens c4"));
  CHECK_THAT(error_of({.tokens = "the-pyle"}).remedy, Catch::Contains("the-pile"));
  CHECK_THAT(error_of({.tokens = "pictures"}).remedy, !Catch::Contains("imagenet") && !Catch::Contains("laion"));
  CHECK_THAT(error_of({.samples = "coca"}).remedy, Catch::Contains("coco") && !Catch::Contains("c4"));
  CHECK_THAT(error_of({.epochs = 2.0}).what, Catch::Contains("epochs of what"));
  CHECK_THAT(error_of({.tokens = "1B", .samples = "1M"}).what, Catch::Contains("both"));
  CHECK_THAT(error_of({.tokens = "1B", .epochs = 0.0}).where, Catch::Contains("--epochs"));
  CHECK_THAT(error_of({.tokens = "1B"}, resolve_model("vit-base").value()).remedy, Catch::Contains("--samples"));
}

TEST_CASE("every known data set says where its size is from, and no two share a name") {
  for (const DataSet& set : known_data_sets()) {
    INFO(set.name);
    CHECK_FALSE(set.origin.empty());
    CHECK(find_data_set(set.name) == &set);
    for (const std::string& alias : set.aliases) CHECK(find_data_set(alias) == &set);
  }
}

}  // namespace plimsoll
