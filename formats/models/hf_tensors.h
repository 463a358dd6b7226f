#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/parameters.h"
#include "formats/models/safetensors.h"

namespace plimsoll {

/// A tensor as Hugging Face names it, and the elements of our parameter groups that it holds.
struct HfTensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< as stored in the file
  GroupId group;
  std::int64_t offset = 0;  ///< first element in the group; rows × columns follow each other, row-major
  std::int64_t rows = 1;    ///< in our layout
  std::int64_t columns = 0;
  bool transposed = false;  ///< the file holds [columns, rows]

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Whether Hugging Face's names of a model's tensors are known here: of the families whose weights can be read and written.
Result<void> check_hf_names(const ModelSpec& spec);

/// Every tensor that Hugging Face transformers stores for `spec` (valid, with known names), by group. Together they cover each
/// parameter of lay_out_parameters(spec) exactly once; a tied head is not stored. Rotary pairs are (i, i + head_dim/2).
std::vector<HfTensor> hf_tensors(const ModelSpec& spec);

/// The tensor of `header` that has the wanted one's name, or an older one; null when there is none.
const SafetensorsTensor* find_hf_tensor(const HfTensor& wanted, const SafetensorsHeader& header);

/// For each of `wanted` the tensor of `header` that holds it ("transformer." or "model." may be absent). A missing
/// tensor, another shape, a type that is no float and a tensor with no place in the model are errors that name it;
/// buffers that old files carry (attention masks, rotary frequencies, a tied head) are passed over.
Result<std::vector<SafetensorsTensor>> match_hf_tensors(const std::vector<HfTensor>& wanted, const SafetensorsHeader& header,
                                                        std::string_view where);

/// The model whose tensors `header` holds, from GPT-2 or Llama names and shapes. Shapes do not tell the number of heads:
/// it is taken from metadata "num_attention_heads" or old files' rotary frequencies, else the error asks for config.json.
Result<ModelSpec> infer_model_spec(const SafetensorsHeader& header, std::string_view where);

}  // namespace plimsoll
