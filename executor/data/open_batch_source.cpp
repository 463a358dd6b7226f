#include "executor/data/open_batch_source.h"

#include "executor/data/image_batches.h"
#include "executor/data/masked_tokens.h"
#include "executor/data/record_batches.h"
#include "executor/data/source_and_target.h"
#include "executor/data/token_source.h"

namespace plimsoll {
namespace {

using Opened = Result<std::unique_ptr<BatchSource>>;

Opened open_images(const std::string& path, const ModelSpec& spec) {
  auto images = ImageRecords::open(path, spec);
  if (!images) return fail(images.error());
  return std::make_unique<ImageBatches>(std::move(*images), spec);
}

Opened open_records(const std::string& path, const ModelSpec& spec, const Recipe& recipe) {
  auto records = TokenRecords::open(path, spec, recipe.sequence);
  if (!records) return fail(records.error());
  return std::make_unique<RecordBatches>(std::move(*records), spec);
}

}  // namespace

Opened open_batch_source(const std::string& path, const ModelSpec& spec, const Recipe& recipe) {
  if (spec.reads_images()) return open_images(path, spec);
  const bool has_records = path.ends_with(".jsonl");
  if (spec.pads() && has_records) return open_records(path, spec, recipe);
  if (spec.head == HeadKind::kClass) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "classes are learned from records with labels",
                 .where = path,
                 .remedy = "give a .jsonl file of lines such as {\"tokens\": [101, 7592, 102], \"label\": 1}"});
  }
  auto tokens = open_token_source(path, spec.vocabulary, recipe.sequence);
  if (!tokens) return fail(tokens.error());
  if (spec.has_encoder_and_decoder()) return std::make_unique<SourceAndTarget>(std::move(*tokens));
  if (spec.head == HeadKind::kMaskedToken) return std::make_unique<MaskedTokens>(std::move(*tokens), spec);
  return std::unique_ptr<BatchSource>(std::move(*tokens));
}

}  // namespace plimsoll
