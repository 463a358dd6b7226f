#include "formats/models/hf_encoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "formats/models/hf_dropout.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kReadable =
    "BertForMaskedLM, BertForPreTraining, BertForSequenceClassification (with Roberta, XLMRoberta, Camembert or DistilBert for "
    "Bert) and ViTForImageClassification are";

/// The head that the configuration's architecture has.
struct KnownHead {
  std::string_view architecture;
  Family family;
  HeadKind head;
};

constexpr KnownHead kHeads[] = {
    {"BertForMaskedLM", Family::kBert, HeadKind::kMaskedToken},
    {"BertForPreTraining", Family::kBert, HeadKind::kMaskedToken},
    {"BertForSequenceClassification", Family::kBert, HeadKind::kClass},
    {"ViTForImageClassification", Family::kVit, HeadKind::kClass},
    {"RobertaForMaskedLM", Family::kBert, HeadKind::kMaskedToken},
    {"RobertaForSequenceClassification", Family::kBert, HeadKind::kClass},
    {"XLMRobertaForMaskedLM", Family::kBert, HeadKind::kMaskedToken},
    {"XLMRobertaForSequenceClassification", Family::kBert, HeadKind::kClass},
    {"CamembertForMaskedLM", Family::kBert, HeadKind::kMaskedToken},
    {"CamembertForSequenceClassification", Family::kBert, HeadKind::kClass},
    {"DistilBertForMaskedLM", Family::kBert, HeadKind::kMaskedToken},
    {"DistilBertForSequenceClassification", Family::kBert, HeadKind::kClass},
};

constexpr std::string_view kRobertas[] = {"roberta", "xlm-roberta", "camembert"};
constexpr std::string_view kHeadless[] = {"BertModel",   "ViTModel",        "RobertaModel", "XLMRobertaModel",
                                          "CamembertModel", "DistilBertModel"};

bool is_roberta(std::string_view type) { return std::ranges::find(kRobertas, type) != std::end(kRobertas); }

/// Reads one configuration; the first fault stays in the fields.
class EncoderReader {
 public:
  EncoderReader(ConfigFields& fields, std::string_view type, ModelDescription& found)
      : fields_(fields), type_(type), found_(found), spec_(found.spec) {}

  void read() {
    read_sizes();
    read_activation();
    if (spec_.family == Family::kVit) {
      read_images();
    } else {
      read_tokens();
    }
    read_head();
    note_differences();
    note_dropout(fields_,
                 {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "dropout", "attention_dropout",
                  "qa_dropout", "seq_classif_dropout"},
                 found_);
  }

 private:
  void note(std::string text) { found_.notes.push_back({.text = std::move(text), .changes_numbers = false}); }

  /// Their tensors have names that nothing here reads: they are sized, and run from random weights where there are kernels.
  void note_differences() {
    if (type_ == "bert" || type_ == "vit") return;
    found_.notes.push_back({.text = fmt::format("weights of the type '{}' have other names than BERT's and are not read", type_),
                            .changes_numbers = true});
    if (type_ == "distilbert" && spec_.head == HeadKind::kClass) {
      found_.notes.push_back({.text = "DistilBERT's classes are read off a ReLU; here they are off a tanh, as BERT's",
                              .changes_numbers = true});
    }
  }

  void read_sizes() {
    const auto size = [&](std::string_view of_bert, std::string_view of_distilbert) {
      return type_ == "distilbert" ? fields_.size({of_distilbert, of_bert}) : fields_.size({of_bert});
    };
    spec_.layers = size("num_hidden_layers", "n_layers");
    spec_.hidden = size("hidden_size", "dim");
    spec_.heads = spec_.kv_heads = size("num_attention_heads", "n_heads");
    spec_.ffn = size("intermediate_size", "hidden_dim");
    spec_.norm_epsilon = fields_.positive({"layer_norm_eps"}, 1e-12);
    if (spec_.hidden % spec_.heads != 0) {
      fields_.fault(fmt::format("the hidden size {} is not a multiple of {} heads", spec_.hidden, spec_.heads));
    }
    spec_.head_dim = spec_.hidden / spec_.heads;
  }

  void read_activation() {
    const std::string word = fields_.word({"hidden_act", "activation"}, "gelu");
    const bool tanh = word == "gelu_new" || word == "gelu_pytorch_tanh" || word == "gelu_fast";
    if (!tanh && word != "gelu")
      fields_.fault(fmt::format("the activation '{}' is not supported", word), "gelu and gelu_new are");
    spec_.activation = tanh ? ActivationKind::kGeluTanh : ActivationKind::kGelu;
  }

  void read_tokens() {
    spec_.vocabulary = fields_.size({"vocab_size"});
    spec_.max_positions = fields_.size({"max_position_embeddings"});
    spec_.token_types = type_ == "distilbert" ? 0 : fields_.size({"type_vocab_size"}, 2);
    fields_.pass_over({"tie_weights_"});
    if (fields_.flag("sinusoidal_pos_embds", false)) {
      note("'sinusoidal_pos_embds' begins positions as waves; they are learnt all the same");
    }
    if (is_roberta(type_)) read_offset();
    const std::string positions = fields_.word({"position_embedding_type"}, "absolute");
    if (positions != "absolute") {
      fields_.fault(fmt::format("position_embedding_type '{}' is not supported", positions), "absolute is");
    }
    if (fields_.flag("is_decoder", false)) {
      fields_.fault("'is_decoder' asks for an encoder that reads from left to right, which is not supported");
    }
  }

  /// RoBERTa's table of positions has rows up to the padding's that no token of a text takes.
  void read_offset() {
    const json* padding = fields_.find("pad_token_id");
    spec_.position_offset = padding != nullptr && *padding == 0 ? 1 : fields_.size({"pad_token_id"}, 1) + 1;
    if (spec_.max_positions <= spec_.position_offset) {
      fields_.fault("'max_position_embeddings' leaves no position after the padding's");
    }
    spec_.max_positions -= spec_.position_offset;
  }

  void read_images() {
    ImageInput& image = spec_.image;
    image.size = fields_.size({"image_size"}, 224);
    image.patch = fields_.size({"patch_size"}, 16);
    image.channels = fields_.size({"num_channels"}, 3);
    spec_.max_positions = image.patches() + 1;
    spec_.qkv_bias = fields_.flag("qkv_bias", true);
    fields_.pass_over({"encoder_stride", "pooler_act", "pooler_output_size"});
  }

  const KnownHead* find_head() {
    const json* list = fields_.find("architectures");
    if (list == nullptr || !list->is_array() || list->empty()) {
      return spec_.family == Family::kBert ? &kHeads[0] : &kHeads[3];
    }
    const std::string name = list->front().is_string() ? list->front().get<std::string>() : list->front().dump();
    for (const KnownHead& known : kHeads) {
      if (known.architecture == name && known.family == spec_.family) return &known;
    }
    if (std::ranges::find(kHeadless, name) != std::end(kHeadless)) {
      found_.notes.push_back(
          {.text = fmt::format("'{}' has no head: one is put on it", name), .changes_numbers = true, .of_head = true});
      return spec_.family == Family::kBert ? &kHeads[0] : &kHeads[3];
    }
    fields_.fault(fmt::format("the architecture '{}' is not supported", name), std::string(kReadable));
    return nullptr;
  }

  void read_head() {
    const KnownHead* head = find_head();
    const bool tied = fields_.flag("tie_word_embeddings", true);
    if (head == nullptr || head->head == HeadKind::kMaskedToken) {
      spec_.tied_head = tied;
      fields_.pass_over({"id2label", "label2id", "num_labels", "problem_type"});
      return;
    }
    spec_ = with_classes(std::move(spec_), read_classes());
  }

  std::int64_t read_classes() {
    const json* names = fields_.find("id2label");
    const std::int64_t listed = names != nullptr && names->is_object() ? static_cast<std::int64_t>(names->size()) : 2;
    fields_.pass_over({"label2id"});
    const std::int64_t classes = fields_.size({"num_labels"}, listed);
    const std::string problem = fields_.word({"problem_type"}, "single_label_classification");
    if (problem != "single_label_classification" || classes == 1) {
      fields_.fault(classes == 1 ? "one class asks for a regression, which is not supported"
                                 : fmt::format("problem_type '{}' is not supported", problem),
                    "single_label_classification is");
    }
    return classes;
  }

  ConfigFields& fields_;
  std::string_view type_;
  ModelDescription& found_;
  ModelSpec& spec_;
};

/// What decides the arithmetic beside sizes and heads.
auto features_of(const ModelSpec& s) {
  return std::tuple(s.norm, s.positions, s.projection_bias, s.mlp_bias, s.qk_norm, s.parallel_block, s.embedding_scale, s.window,
                    s.causal, s.post_norm, s.embedding_norm, s.pooler, s.head_bias, s.kv_heads == s.heads,
                    s.attention_width() == s.hidden);
}

ordered_json class_names(const ModelSpec& spec) {
  ordered_json names = ordered_json::object();
  for (std::int64_t i = 0; i < spec.classes; ++i) names[std::to_string(i)] = fmt::format("LABEL_{}", i);
  return names;
}

void add_classes(ordered_json& config, const ModelSpec& spec) {
  config["id2label"] = class_names(spec);
  ordered_json ids = ordered_json::object();
  for (std::int64_t i = 0; i < spec.classes; ++i) ids[fmt::format("LABEL_{}", i)] = i;
  config["label2id"] = ids;
}

}  // namespace

Result<void> read_preprocessor(const std::filesystem::path& folder, ImageInput& image) {
  const std::filesystem::path path = folder / "preprocessor_config.json";
  if (!std::filesystem::exists(path)) return {};
  const auto bad = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path.string(), .remedy = {}});
  };
  const auto text = read_text_file(path, 4 * kMiB);
  if (!text) return fail(text.error());
  const auto parsed = parse_json(*text, path.string());
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) return bad("expected an object");
  for (const auto& [key, values] : {std::pair{"image_mean", &image.mean}, std::pair{"image_std", &image.deviation}}) {
    const auto found = parsed->find(key);
    if (found == parsed->end()) continue;
    const bool numbers =
        found->is_array() && std::all_of(found->begin(), found->end(), [](const json& v) { return v.is_number(); });
    if (!numbers || static_cast<std::int64_t>(found->size()) != image.channels) {
      return bad(fmt::format("'{}' is no list of {} numbers", key, image.channels));
    }
    for (std::size_t i = 0; i < found->size(); ++i) (*values)[i] = (*found)[i].get<double>();
  }
  return {};
}

bool is_encoder_type(std::string_view model_type) {
  return model_type == "bert" || model_type == "vit" || model_type == "distilbert" || is_roberta(model_type);
}

void read_encoder_config(ConfigFields& fields, std::string_view type, ModelDescription& found) {
  EncoderReader(fields, type, found).read();
}

/// Whether it is as transformers has such models: with their norms, biases, positions and head.
bool is_in_transformers(const ModelSpec& spec) {
  const bool vit = spec.family == Family::kVit, classes = spec.head == HeadKind::kClass;
  ModelSpec usual = family_defaults(spec.family);
  if (classes) usual = with_classes(std::move(usual), spec.classes);
  usual.heads = usual.kv_heads = spec.heads;
  usual.head_dim = spec.head_dim;
  usual.hidden = spec.heads * spec.head_dim;
  const bool gelu = spec.activation == ActivationKind::kGelu || spec.activation == ActivationKind::kGeluTanh;
  return features_of(spec) == features_of(usual) && gelu && (vit || spec.qkv_bias) && spec.reads_images() == vit &&
         (vit || spec.token_types > 0) && (!vit || classes);
}

Result<ordered_json> encoder_config(const ModelSpec& spec) {
  const bool vit = spec.family == Family::kVit, classes = spec.head == HeadKind::kClass;
  if (!is_in_transformers(spec)) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("transformers has no {} with these norms, biases, positions or head", vit ? "ViT" : "BERT"),
                 .where = spec.name,
                 .remedy = {}});
  }
  ordered_json config{
      {"architectures", {vit ? "ViTForImageClassification" : classes ? "BertForSequenceClassification" : "BertForMaskedLM"}},
      {"model_type", to_text(spec.family)},
      {"hidden_size", spec.hidden},
      {"num_hidden_layers", spec.layers},
      {"num_attention_heads", spec.heads},
      {"intermediate_size", spec.ffn},
      {"hidden_act", spec.activation == ActivationKind::kGelu ? "gelu" : "gelu_new"},
      {"layer_norm_eps", spec.norm_epsilon},
      {"hidden_dropout_prob", 0.0},
      {"attention_probs_dropout_prob", 0.0}};
  if (vit) {
    config.update({{"image_size", spec.image.size},
                   {"patch_size", spec.image.patch},
                   {"num_channels", spec.image.channels},
                   {"qkv_bias", spec.qkv_bias}});
  } else {
    config.update({{"vocab_size", spec.vocabulary},
                   {"max_position_embeddings", spec.max_positions},
                   {"type_vocab_size", spec.token_types}});
    if (!classes) config["tie_word_embeddings"] = spec.tied_head;
  }
  if (classes) add_classes(config, spec);
  return config;
}

}  // namespace plimsoll
