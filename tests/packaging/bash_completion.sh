# Laws of `plimsoll completion bash`, in a real bash: what Tab would offer after some words.
program=$1
. <("$program" completion bash) || exit 1
failed=0

# offers WORD... : what is offered for the last word.
offers() {
  COMP_WORDS=(plimsoll "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _plimsoll
  printf '%s\n' "${COMPREPLY[@]}"
}

expect() {  # expect WHAT LAW WORD...
  local what=$1 law=$2
  shift 2
  if ! offers "$@" | grep -qxF -- "$what"; then
    echo "FAILED: $law; got:"; offers "$@" | head -5
    failed=1
  fi
}

refuse() {  # refuse WHAT LAW WORD...
  local what=$1 law=$2
  shift 2
  if offers "$@" | grep -qxF -- "$what"; then echo "FAILED: $law"; failed=1; fi
}

expect fit "a command is offered by its beginning" fi
refuse plan "a command that begins otherwise is not offered" fi
expect --what-would-help "an option of the command is offered" fit gpt2 --what
refuse --what-would-help "an option of another command is not offered" plan gpt2 --what
expect gpt2-xl "a model of the zoo is offered" fit gpt2-x
expect 'RTX\ 3090' "a GPU of the catalogue is offered, its spaces quoted" fit gpt2 --on 'RTX\ 309'
expect static "a choice of an option is offered" fit gpt2 --placement s
expect zsh "a choice of an argument is offered" completion z
cd "$(dirname "$program")" && expect plimsoll "a file is offered where anything may stand" simulate plimso
exit $failed
