#pragma once

#include <string_view>

namespace plimsoll {

/// What an option of Transformers, TRL, Unsloth, DeepSpeed or torchtune is here ("--qlora" is "--lora 16 --base-bits 4"); empty where
/// nothing is known. Spelling does not matter: "--load_in_4bit", "--load-in-4bit".
std::string_view as_own_option(std::string_view option);

}  // namespace plimsoll
