#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <set>

#include "executor/data/hide_tokens.h"
#include "executor/data/image_batches.h"
#include "executor/data/masked_tokens.h"
#include "executor/data/open_batch_source.h"
#include "executor/data/record_batches.h"
#include "executor/data/record_order.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

// What batches of encoders hold.
namespace plimsoll::test {
namespace {

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  std::ofstream(folder.file(name), std::ios::binary) << bytes;
  return folder.file(name);
}

ModelSpec small_bert(std::int64_t classes = 0) {
  ModelSpec spec = small_model(Family::kBert);
  spec.vocabulary = 1000;
  return classes > 0 ? with_classes(spec, classes) : spec;
}

/// The parts of one micro-batch in memory of their own.
struct Batch {
  Batch(const BatchSource& source, const ModelSpec& spec, const Recipe& recipe, const BatchPlace& place) {
    for (const BatchPart& part : batch_parts(spec, recipe)) memory.emplace_back(static_cast<std::size_t>(part.bytes()));
    std::vector<std::span<std::byte>> parts(memory.begin(), memory.end());
    source.fill(place, recipe, parts);
  }

  template <typename T>
  std::vector<T> part(std::size_t index) {
    const std::span<T> values = part_as<T>(memory[index]);
    return {values.begin(), values.end()};
  }

  std::vector<std::vector<std::byte>> memory;
};

std::string error_of(const std::string& path, const ModelSpec& spec) {
  const auto source = open_batch_source(path, spec, {.micro_batch = 2, .sequence = 5});
  REQUIRE_FALSE(source);
  return source.error().text();
}

}  // namespace

TEST_CASE("a source and its target are neighbours in the corpus, and the target begins with the start token") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(1 + i);  // a byte says where it stands
  const ModelSpec spec = small_model(Family::kT5);
  const Recipe recipe{.micro_batch = 3, .sequence = 7, .target_sequence = 4};
  const auto source = open_batch_source(write(folder, "text", text), spec, recipe);
  REQUIRE(source);
  REQUIRE((*source)->check(spec, recipe));
  Batch batch(**source, spec, recipe, {.seed = 5, .step = 2, .micro_batch = 1});
  const auto read = batch.part<std::int32_t>(0), written = batch.part<std::int32_t>(1);
  REQUIRE(read.size() == 3 * 8);
  REQUIRE(written.size() == 3 * 5);
  std::set<std::int32_t> starts;
  for (std::size_t row = 0; row < 3; ++row) {
    const std::int32_t first = read[8 * row];
    starts.insert(first);
    for (std::int32_t i = 0; i < 7; ++i) CHECK(read[8 * row + static_cast<std::size_t>(i)] == first + i);
    CHECK(written[5 * row] == 0);
    for (std::int32_t i = 0; i < 4; ++i) CHECK(written[5 * row + 1 + static_cast<std::size_t>(i)] == first + 7 + i);
  }
  CHECK(starts.size() == 3);
  Batch again(**source, spec, recipe, {.seed = 5, .step = 2, .micro_batch = 1});
  CHECK(again.part<std::int32_t>(1) == written);
  CHECK_FALSE((*source)->check(spec, {.micro_batch = 1, .sequence = 120, .target_sequence = 81}));
  CHECK((*source)->check(spec, {.micro_batch = 1, .sequence = 120, .target_sequence = 80}));
  CHECK_FALSE((*source)->check(small_model(Family::kGpt2), recipe));
}

TEST_CASE("15 % of the tokens are hidden: 80 % by the mask token, 10 % by a random one, 10 % stay; labels say what stood there") {
  ModelSpec spec = small_bert();
  spec.mask_token = 103;
  constexpr std::size_t kTokens = 100000;
  std::vector<std::int32_t> tokens(kTokens, 7), labels(kTokens);
  hide_tokens(5, spec, tokens, labels);
  double hidden = 0, masked = 0, kept = 0, other = 0;
  for (std::size_t i = 0; i < kTokens; ++i) {
    if (labels[i] < 0) CHECK(tokens[i] == 7);
    if (labels[i] < 0) continue;
    CHECK(labels[i] == 7);
    ++hidden;
    (tokens[i] == 103 ? masked : tokens[i] == 7 ? kept : other) += 1;
  }
  // 15000 hidden, deviation √(100000 · 0.15 · 0.85) = 113; of these 12000, 1500 and 1500, deviations 49, 37 and 37.
  CHECK(std::abs(hidden - 15000) < 4 * 113);
  CHECK(std::abs(masked - 0.8 * hidden) < 4 * 49);
  CHECK(std::abs(kept - 0.1 * hidden) < 4 * 37);
  CHECK(std::abs(other - 0.1 * hidden) < 4 * 37);
}

TEST_CASE("of every sequence at least one token is hidden, and the last of the vocabulary hides where no tokenizer says") {
  for (std::uint64_t key = 0; key < 200; ++key) {
    std::vector<std::int32_t> tokens{1, 2}, labels(2);
    hide_tokens(key, small_bert(), tokens, labels);
    CHECK(std::ranges::any_of(labels, [](std::int32_t label) { return label >= 0; }));
  }
  CHECK(mask_token_of(small_bert()) == 999);
}

TEST_CASE("every record comes once before any comes again, in another order each time") {
  for (const std::int64_t count : {1, 2, 3, 5, 7, 24, 64, 65, 1000}) {
    std::vector<std::int64_t> first, second;
    for (std::int64_t i = 0; i < count; ++i) {
      first.push_back(record_at(3, i, count));
      second.push_back(record_at(3, count + i, count));
    }
    if (count > 5) CHECK(first != second);
    for (auto* all : {&first, &second}) {
      CHECK(std::set<std::int64_t>(all->begin(), all->end()).size() == static_cast<std::size_t>(count));
    }
    CHECK(*std::ranges::max_element(first) == count - 1);
  }
}

TEST_CASE("records are padded, and say their length, where the second segment begins, and their label") {
  const TemporaryFolder folder;
  const std::string path = write(folder, "a.jsonl",
                                 "{\"tokens\": [5, 6, 7], \"label\": 1, \"types\": [0, 1, 1]}\n\n"
                                 "{\"tokens\": [8], \"label\": 0}\n");
  const ModelSpec spec = small_bert(2);
  const Recipe recipe{.micro_batch = 2, .sequence = 5};
  const auto source = open_batch_source(path, spec, recipe);
  REQUIRE(source);
  CHECK((*source)->check(spec, recipe));
  CHECK_FALSE((*source)->check(small_bert(3), recipe));
  Batch batch(**source, spec, recipe, {.seed = 1});
  const bool swapped = batch.part<std::int32_t>(2)[0] == 0;  // both records are there, in some order
  const std::size_t pair = swapped ? 1 : 0, single = 1 - pair;
  const auto tokens = batch.part<std::int32_t>(0), extents = batch.part<std::int32_t>(1), labels = batch.part<std::int32_t>(2);
  const auto row = tokens.begin() + static_cast<std::ptrdiff_t>(6 * pair);
  CHECK(std::vector(row, row + 6) == std::vector<std::int32_t>{5, 6, 7, 0, 0, 0});
  CHECK(extents[2 * pair] == 3);
  CHECK(extents[2 * pair + 1] == 1);
  CHECK(extents[2 * single] == 1);
  CHECK(extents[2 * single + 1] == 1);
  CHECK(labels[pair] == 1);
}

TEST_CASE("records without labels have hidden tokens for a model that finds them, and none in the padding") {
  const TemporaryFolder folder;
  const std::string path = write(folder, "a.jsonl", "{\"tokens\": [5, 6, 7]}\n{\"tokens\": [8]}");
  const ModelSpec spec = small_bert();
  const Recipe recipe{.micro_batch = 2, .sequence = 5};
  const auto source = open_batch_source(path, spec, recipe);
  REQUIRE(source);
  for (std::int64_t step = 0; step < 20; ++step) {
    Batch batch(**source, spec, recipe, {.seed = 1, .step = step});
    const auto extents = batch.part<std::int32_t>(1), labels = batch.part<std::int32_t>(2);
    for (std::size_t row = 0; row < 2; ++row) {
      const auto begin = labels.begin() + static_cast<std::ptrdiff_t>(5 * row);
      CHECK(std::any_of(begin, begin + extents[2 * row], [](std::int32_t label) { return label >= 0; }));
      CHECK(std::all_of(begin + extents[2 * row], begin + 5, [](std::int32_t label) { return label == -1; }));
    }
  }
}

TEST_CASE("records that a model cannot learn from are refused with their line") {
  const TemporaryFolder folder;
  const ModelSpec two = small_bert(2);
  const auto what = [&](const std::string& line) {
    return error_of(write(folder, "bad.jsonl", "{\"tokens\": [1], \"label\": 0}\n" + line), two);
  };
  CHECK_THAT(what("{\"tokens\": [1]}"), Catch::Contains("bad.jsonl: line 2: the key 'label' is missing"));
  CHECK_THAT(what("{\"tokens\": [1], \"label\": 2}"), Catch::Contains("line 2: the label 2 is beyond the 2 classes"));
  CHECK_THAT(what("{\"tokens\": [1], \"label\": -1}"), Catch::Contains("the label -1 is beyond"));
  CHECK_THAT(what("{\"tokens\": [1], \"label\": 0.5}"), Catch::Contains("the label 0.5 is no whole number"));
  CHECK_THAT(what("{\"tokens\": [1000], \"label\": 0}"), Catch::Contains("token 1000 is beyond the vocabulary of 1000"));
  CHECK_THAT(what("{\"tokens\": [], \"label\": 0}"), Catch::Contains("'tokens' is no list of token ids"));
  CHECK_THAT(what("{\"tokens\": [1, 2, 3, 4, 5, 6], \"label\": 0}"),
             Catch::Contains("6 tokens, more than the 5 of a sequence"));
  CHECK_THAT(what("{\"tokens\": [1, 2], \"label\": 0, \"types\": [1, 0]}"),
             Catch::Contains("'types' are not zeros and then ones"));
  CHECK_THAT(what("{\"tokens\": [1"), Catch::Contains("bad.jsonl: line 2"));
  CHECK_THAT(error_of(write(folder, "empty.jsonl", "\n"), two), Catch::Contains("no records"));
  CHECK_THAT(error_of(write(folder, "text.txt", "some text"), two), Catch::Contains("records with labels"));
}

TEST_CASE("an image becomes patches: rows of patches, and of each channels, rows, columns, as numbers around 0") {
  ModelSpec spec = small_model(Family::kVit);
  spec.image = {.size = 4, .patch = 2, .channels = 2};
  spec.image.mean = {0.5, 0.0, 0.5};
  spec.image.deviation = {0.5, 1.0, 0.5};
  std::vector<std::byte> pixels;
  for (int i = 0; i < 32; ++i) pixels.push_back(static_cast<std::byte>(i));
  std::vector<double> patches(32);
  write_patches(spec.image, std::span<const std::byte>(pixels), std::span(patches));
  // The second patch begins with the pixel of row 0, column 2 of channel 0, which is byte 2; its second channel with byte 18.
  CHECK(patches[8] == Approx((2 / 255.0 - 0.5) / 0.5));
  CHECK(patches[8 + 2] == Approx((6 / 255.0 - 0.5) / 0.5));
  CHECK(patches[8 + 4] == Approx(18 / 255.0));
  CHECK(patches[31] == Approx(31 / 255.0));
}

TEST_CASE("images of another size and labels beyond the classes are refused with file and record") {
  const TemporaryFolder folder;
  const ModelSpec spec = small_model(Family::kVit);  // 10 x 10 x 3 pixels, 7 classes
  const auto record = [](char label) { return std::string(1, label) + std::string(300, 'p'); };
  const Recipe recipe{.micro_batch = 1, .sequence = 26};
  CHECK(open_batch_source(write(folder, "good.bin", record(0) + record(6)), spec, recipe));
  CHECK_THAT(error_of(write(folder, "bad.bin", record(0) + record(7)), spec),
             Catch::Contains("bad.bin: record 1: the label 7 is beyond the 7 classes"));
  CHECK_THAT(error_of(write(folder, "odd.bin", record(0) + "p"), spec),
             Catch::Contains("302 bytes are no whole number of records of 301"));
  CHECK_THAT(error_of(write(folder, "empty.bin", ""), spec), Catch::Contains("0 bytes"));
}

}  // namespace plimsoll::test
