"""Remakes tests/reference/tokenizers: a small tokenizer of each kind, a text of everything awkward, and its tokens as Hugging
Face's `tokenizers` gives them. Needs: pip install tokenizers

    python3 tests/reference/make_tokenizers.py
"""
import json
import pathlib
import random
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
OUT = HERE / "tokenizers"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

CHINESE = "人人生而自由在尊严和权利上一律平等他们赋有理性良心并应以兄弟关系的精神相对待天地玄黄宇宙洪荒日月盈昃辰宿列张"
EMOJI = ["😀", "🚀", "👩‍👩‍👧‍👦", "👍🏽", "🇨🇳", "❤️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🤷🏿‍♂️"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\r\n\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u180e", "\u0085",
          "\u2028", "\ufeff", " \n", "\n ", "\t\t", "        ", "\x0b", "\x0c", "\x1c", "\u202f"]
MARKS = ["e\u0301", "n\u0303", "o\u0308\u0304", "a\u030a", "\u1e9b\u0323", "\uac00", "\u1100\u1161\u11a8", "\ufb01", "\u2460",
         "½", "Å", "\u212b", "\u0f71\u0f72", "x\u0315\u0300", "İ", "ı", "'ſ", "'S", "'LL", "'Ve"]
WORDS = ("the of don't I'll we've THEY'RE it's 1234567 3.14159 0xFF 12 007 ２０２４ ٣٤٥ Ⅻ ² naïve façade straße ЁЖИК привет "
         "שלום مرحبا नमस्ते สวัสดี こんにちは 한국어 <|endoftext|> <s> </s> <unk> __init__ ->> != /* */ https://example.com/?a=1&b=2 "
         "foo_bar fooBar \\n ... ---- ~~~~ \u2581 \u2581\u2581x <0x0A> <|word|>").split(" ")


def mixed_text(size, seed=4):
    draw = random.Random(seed)
    text = ""
    while len(text.encode()) < size:
        kind = draw.random()
        if kind < 0.5:
            text += draw.choice(WORDS)
        elif kind < 0.6:
            text += draw.choice(EMOJI)
        elif kind < 0.72:
            text += draw.choice(MARKS)
        elif kind < 0.76:
            text += "".join(c for c in map(chr, (draw.randint(0x20, 0x24FF) for _ in range(3))) if unicodedata.category(c) != "Cn")
        elif kind < 0.78:
            text += "".join(chr(draw.randint(1, 127)) for _ in range(3))
        else:
            text += "".join(draw.choice(CHINESE) for _ in range(draw.randint(2, 9))) + draw.choice("，。！？")
        if draw.random() < 0.75:
            text += draw.choice(SPACES)
    return text


def english(size):
    return (HERE / "../../data/texts/us-constitution.txt").read_text(encoding="utf8")[:size]


def train(tokenizer, vocabulary, special, alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, initial_alphabet=list(alphabet),
                                  show_progress=False)
    tokenizer.train_from_iterator([english(30000), mixed_text(20000, seed=5)], trainer)
    return tokenizer


def byte_level(pre_tokenizer, special, normalizer=None):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizer
    made.decoder = decoders.ByteLevel()
    if normalizer:
        made.normalizer = normalizer
    return train(made, 700, special, pre_tokenizers.ByteLevel.alphabet())


def split_and_bytes(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    made = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def llama3():
    made = byte_level(split_and_bytes(LLAMA3), ["<|begin_of_text|>", "<|eot_id|>"])
    begin = made.token_to_id("<|begin_of_text|>")
    made.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", begin)])])
    state = json.loads(made.to_str())
    state["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(state))


def qwen2():
    made = byte_level(split_and_bytes(QWEN2), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], normalizers.NFC())
    made.add_tokens([AddedToken("<|word|>", single_word=True), AddedToken("fooBar", lstrip=True, rstrip=True)])
    return made


def byte_tokens():
    return [f"<0x{byte:02X}>" for byte in range(256)]


def sentence_piece(normalizer, pre_tokenizer, decoder):
    """Trained with the words parted at spaces, and used without, as models converted from SentencePiece are."""
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    train(made, 900, ["<unk>", "<s>", "</s>"] + byte_tokens())
    state = json.loads(made.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if not token["content"].startswith("<0x")]
    made = Tokenizer.from_str(json.dumps(state))
    made.pre_tokenizer = pre_tokenizer
    made.decoder = decoder
    if normalizer:
        made.normalizer = normalizer
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


def llama2():
    return sentence_piece(
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def mistral():
    return sentence_piece(
        None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]))


def gemma():
    return sentence_piece(
        normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))


def main():
    OUT.mkdir(exist_ok=True)
    text = english(1500) + mixed_text(18000)
    (OUT / "text.txt").write_bytes(text.encode())
    for make in (gpt2, llama3, qwen2, llama2, mistral, gemma):
        made = make()
        state = json.loads(made.to_str())
        (OUT / f"{make.__name__}.json").write_text(json.dumps(state, ensure_ascii=False, separators=(",", ":")) + "\n")
        tokens = made.encode(text).ids
        answer = {"made_with": f"tokenizers {tokenizers.__version__}", "tokens": tokens,
                  "without_special": made.encode(text, add_special_tokens=False).ids[:20],
                  "decoded": made.decode(tokens, skip_special_tokens=True)}
        (OUT / f"{make.__name__}.tokens.json").write_text(json.dumps(answer, ensure_ascii=True, separators=(",", ":")) + "\n")
        print(make.__name__, made.get_vocab_size(), len(tokens))


if __name__ == "__main__":
    main()
