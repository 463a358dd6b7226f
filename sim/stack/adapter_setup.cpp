#include "sim/stack/adapter_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include <array>
#include <utility>

namespace plimsoll {
namespace {

using Method = AdapterMethod;

constexpr std::array<std::pair<Method, std::string_view>, 10> kMethods{{{Method::kLora, "lora"},
                                                                        {Method::kDora, "dora"},
                                                                        {Method::kAdalora, "adalora"},
                                                                        {Method::kVera, "vera"},
                                                                        {Method::kLoha, "loha"},
                                                                        {Method::kLokr, "lokr"},
                                                                        {Method::kIa3, "ia3"},
                                                                        {Method::kBias, "bias"},
                                                                        {Method::kNorms, "norms"},
                                                                        {Method::kPrompt, "prompt"}}};

}  // namespace

bool has_rank(AdapterMethod method) {
  return has_targets(method) && method != Method::kIa3 && method != Method::kBias;
}

bool has_targets(AdapterMethod method) { return method != Method::kNorms && method != Method::kPrompt; }

bool has_dropout(AdapterMethod method) {
  return method == Method::kLora || method == Method::kDora || method == Method::kAdalora || method == Method::kVera;
}

std::string_view to_text(AdapterMethod method) {
  for (const auto& [known, name] : kMethods) {
    if (known == method) return name;
  }
  return "?";
}

Result<AdapterMethod> parse_adapter_method(std::string_view text) {
  std::string all;
  for (const auto& [method, name] : kMethods) {
    if (name == text) return method;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  return fail({.kind = ErrorKind::kInput, .what = fmt::format("'{}' is no method that is modelled", text), .where = "--peft",
               .remedy = "choose one of " + all});
}

Result<void> parse_copies(std::string_view text, AdapterSetup& setup) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    constexpr std::string_view kEmbeddings[] = {"embed", "embed_tokens", "wte", "word_embeddings", "embed_in"}, kHeads[] = {"head", "lm_head", "embed_out"};
    const bool embedding = std::ranges::find(kEmbeddings, name) != std::end(kEmbeddings), head = std::ranges::find(kHeads, name) != std::end(kHeads);
    if (!embedding && !head) {
      return fail({.kind = ErrorKind::kInput, .what = fmt::format("--train-also takes no '{}'", name), .where = {},
                   .remedy = "choose embed, head or embed,head (embed_tokens and lm_head are known, too)"});
    }
    setup.copies_embedding |= embedding;
    setup.copies_head |= head;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return {};
}

std::string copies_text(const AdapterSetup& setup) {
  if (setup.copies_embedding && setup.copies_head) return "embedding and head";
  return setup.copies_embedding ? "the embedding" : "the head";
}

}  // namespace plimsoll
