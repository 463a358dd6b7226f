#pragma once

#include <string_view>

#include "core/base/error.h"

namespace plimsoll {

/// What an option of Transformers, TRL, Unsloth, DeepSpeed or torchtune is here ("--qlora" is "--lora 16 --base-bits 4"); empty where
/// nothing is known. Spelling does not matter: "--load_in_4bit", "--load-in-4bit".
std::string_view as_own_option(std::string_view option);

/// What a value of an option is in other programs and here: "adamw_torch" of --optimizer is "--optimizer adamw". Empty where nothing
/// is known.
std::string as_own_value(std::string_view option, std::string_view value);

/// The refusal of a value, with what it is here in the place of its remedy where that is known.
Error with_own_value(Error error, std::string_view option, std::string_view value);

}  // namespace plimsoll
