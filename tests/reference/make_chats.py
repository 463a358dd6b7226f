#!/usr/bin/env python3
"""Makes tests/reference/chats.json: chat templates of the kinds that models have (written from the formats' descriptions), small
snippets of the language, and what Jinja makes of them, set up as transformers sets it up. Needs: pip install jinja2

  tests/reference/make_chats.py
"""
import json
import pathlib
import time

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %} as in transformers; where it lies is told by marks that are taken out again."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller):
        return "\x01" + caller() + "\x02"


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda format: time.strftime(format, time.gmtime(0))
    return made


TEMPLATES = {
    "chatml": """{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}""",
    "chatml marked": """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' %}
    {%- generation %}
    {{- message.content + '<|im_end|>' }}
    {%- endgeneration %}
{%- else %}
    {{- message.content + '<|im_end|>' }}
{%- endif %}
{{- '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
""",
    "llama2": """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama3": """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}""",
    "llama3.2": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The system message goes first #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "qwen2": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}""",
    "qwen3": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "mistral": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if system_message is defined and (message == user_messages[-1]) %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}""",
    "phi3": """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
}

USER = {"role": "user", "content": "How large is a hull's \"draught\"?\nTell me. "}
ANSWER = {"role": "assistant", "content": " As deep as the ship lies: 吃水 🚢\n"}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"type": "function", "function": {"name": "depth", "arguments": {"ship": "Ärmel", "at": [1, 2.5, None, True]}}}]}
TOOL = {"role": "tool", "content": "7.5"}
TOOLS = [{"type": "function", "function": {"name": "depth", "description": "A \"depth\" <in> metres & more", "parameters": {}}}]
THINKS = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nSeven."}
CHATS = [[USER], [USER, ANSWER], [SYSTEM, USER, ANSWER], [USER, ANSWER, USER, ANSWER], [USER, USER], [SYSTEM, USER, ANSWER, USER],
         [USER, CALL, TOOL, ANSWER], [USER, THINKS, USER, THINKS], [ANSWER, USER]]

SNIPPETS = [
    "{{ 1 + 2 * 3 - 4 // 3 ** 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ -7 // 2 }} {{ 7 / 2 }} {{ 2 ** -1 }} {{ 1.5 * 2 }} {{ 10 / 5 }}",
    "{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ {'k': 'v'} }}", "{{ 'ab' * 2 }}{{ 'x' 'y' }}",
    "{{ not true or true and false }} {{ 1 if false else 2 }}[{{ 1 if false }}] {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }}",
    "{{ [1, 2, 3, 4][1:3] }} {{ [1, 2, 3, 4][::-1] }} {{ 'häuser'[1:4] }} {{ 'abc'[-1] }} {{ [1, 2][5] is defined }} {{ (1, 2)[0] }} {{ [1, 2, 3][:-1] }} {{ 'abcdef'[::-2] }}",
    "{% set x = 5 %}{% for i in range(3) %}{% set x = i %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(n=0, s='') %}{% for c in 'abc' %}{% set ns.n = ns.n + 1 %}{% set ns.s = ns.s + c %}{% endfor %}{{ ns.n }}{{ ns.s }}",
    "{% for i in [1, 2, 3, 4] if i is even %}{{ loop.index }}/{{ loop.length }}:{{ i }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}",
    "{% for i in [] %}x{% else %}nothing{% endfor %}", "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in range(3) %}{{ loop.cycle('a', 'b') }}{{ loop.revindex }}{{ loop.previtem is defined }}{{ loop.nextitem }}{% endfor %}",
    "{{ '  x y '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a-b-c'.split('-', 1) }}|{{ 'AbC'.lower() }}|{{ 'abc'.replace('b', 'X') }}|{{ 'hello world'.title() }}|{{ 'hELLO'.capitalize() }}|{{ 'abc'.find('c') }}",
    "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'x'.join(['a', 'b']) }}{{ {'a': 1}.get('b', 3) }}{{ {'a': 1}.get('b') }}",
    "{{ [3, 1, 2] | sort }}{{ ['b', 'A'] | sort }}{{ [1, 2] | reverse | list }}{{ [1, 1, 2] | unique | list }}{{ 'abc' | length }}{{ [1, 2] | first }}{{ [1, 2] | last }}{{ ['a', 'b'] | join('-') }}",
    "{{ [{'r': 'u', 'n': 1}, {'r': 'a', 'n': 2}] | selectattr('r', 'equalto', 'u') | map(attribute='n') | list }}{{ [{'r': 'u'}] | rejectattr('r', '==', 'u') | list }}{{ ['a', 'b'] | map('upper') | list }}{{ [0, 1] | select | list }}{{ [1, 2, 3] | reject('odd') | list }}",
    "{{ {'a': [1, 2.5, none, true, 'ü\"\\n'], 'b': {}} | tojson }} {{ {'a': [1], 'b': {}} | tojson(indent=2) }} {{ '<&>' | tojson }}",
    "{{ none }}[{{ missing }}]{{ missing is undefined }}{{ missing | default('d') }}{{ '' | default('d', true) }}{{ none is none }}",
    "{{ 1 is number }}{{ 'a' is string }}{{ {} is mapping }}{{ [] is sequence }}{{ 'a' is iterable }}{{ 4 is divisibleby 2 }}{{ 1.0 is float }}{{ true is boolean }}{{ 1 is integer }}{{ 3 is odd }}{{ 'a' is in ['a'] }}{{ 1 is not string }}",
    "{% macro greet(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}{{ greet('A') }}{{ greet('B', mark='?') }}{{ greet(name='C') | upper }}",
    "{% macro down(n) %}{{ n }}{% if n > 0 %}{{ down(n - 1) }}{% endif %}{% endmacro %}{{ down(3) }}",
    "{% set text %}a {{ 1 }}\n{% endset %}[{{ text }}]{% set t | upper | trim %} x {% endset %}[{{ t }}]{% filter upper %}abc{% endfilter %}",
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a  {%- if true -%}  b  {%- endif -%}  c", "a\n   {# comment #}\nb {#- x -#} c", "  {{- 'x' -}}  \n y",
    "{%+ if true +%}\n x{% endif %}\n\n", "{% raw %}{{ x }}{% endraw %}!", "x\r\ny\r\n", "{{ 'a\\nb\\t\\\\ \\'q\\' \\x41 \\u00e9' }}", "{{ \"it's\" }} {{ [\"it's\", 'q\"', 'a\\nb'] }}",
    "{{ 1e16 }} {{ 0.1 }} {{ 1e-5 }} {{ 100000.0 }} {{ 3 | float }} {{ '7' | int }} {{ 'x' | int }} {{ 2.7 | int }} {{ -3 | abs }} {{ 2.567 | round(2) }}",
    "{{ ['a\\nb'] | first | indent(2) }}|{{ 'a\\n\\nb' | indent(2, true) }}", "{{ true and 'x' }}{{ '' or 'y' }}{{ 0 or none }}", "{{ [1, 2] + [3] }}{{ [1, 2] == [1, 2] }}{{ {'a': 1} == {'a': 1} }}{{ 'b' > 'a' }}",
    "{% if messages[0].content is string and messages[0].missing is not defined %}yes{% elif true %}no{% endif %}", "{{ messages | length }}{{ messages[-1]['role'] }}{{ messages[0].content.strip() | length }}",
    "{% for k, v in {'a': 1, 'b': 2} | items %}{{ k }}{{ v }}{% endfor %}{% for k, v in {'b': 1, 'a': 2} | dictsort %}{{ k }}{{ v }}{% endfor %}{% for x in {'p': 1} %}{{ x }}{% endfor %}", "{{ range(2, 8, 3) | list }}{{ dict(a=1) }}{{ 'a' if 1 == 1.0 and true == 1 else 'b' }}",
    "{% set a, b = 1, 2 %}{{ b }}{{ a }}{% set (c, d) = [3, 4] %}{{ c }}{{ d }}", "{{ (1, 2) | length }}{{ () | length }}{{ [] | first is defined }}", "{{ 'İıſß' | upper | length > 0 }}{{ 'ÄÖ' | lower }}{{ 'straße' | upper | length }}",
    # errors
    "{{ missing.x }}", "{{ raise_exception('no: ' ~ messages | length) }}", "{{ 1 + 'a' }}", "{{ 'a' + none }}", "{% for i in 5 %}{% endfor %}", "{{ 1 // 0 }}", "{{ x | nofilter }}", "{% if %}{% endif %}", "{% for x in y %}",
    "{{ 'a }}", "{{ (1 }}", "{% endif %}", "{% set x.y = 1 %}{{ x }}", "{{ messages[0].content + missing }}", "{{ 'a' < 1 }}",
]
ONLY_HERE_ERRORS = {"{{ 'İıſß' | upper | length > 0 }}{{ 'ÄÖ' | lower }}{{ 'straße' | upper | length }}"}


def render(source, messages, tools, prompts):
    try:
        text = environment().from_string(source).render(messages=messages, tools=tools, documents=None, bos_token="<s>",
                                                        eos_token="</s>", add_generation_prompt=prompts)
    except Exception as error:
        return {"error": str(error) if isinstance(error, jinja2.exceptions.TemplateError) else type(error).__name__}
    spans, plain, begin = [], "", 0
    for character in text:
        if character == "\x01":
            begin = len(plain.encode())
        elif character == "\x02":
            spans.append([begin, len(plain.encode())])
        else:
            plain += character
    return {"text": plain} | ({"answers": spans} if spans else {})


def main():
    cases = []
    for name, source in TEMPLATES.items():
        for chat, prompts, tools in [(c, p, None) for c in range(len(CHATS)) for p in (False, True)] + [(6, False, TOOLS)]:
            cases.append({"template": name, "chat": chat, "prompts": prompts, "tools": tools}
                         | render(source, CHATS[chat], tools, prompts))
    snippets = [{"source": source} | render(source, CHATS[2], None, False) for source in SNIPPETS if source not in ONLY_HERE_ERRORS]
    made = {"made_with": f"jinja2 {jinja2.__version__}", "templates": TEMPLATES, "chats": CHATS, "cases": cases, "snippets": snippets}
    path = pathlib.Path(__file__).parent / "chats.json"
    path.write_text(json.dumps(made, ensure_ascii=False, indent=0) + "\n")
    print(len(cases), "chats,", len(snippets), "snippets,", sum("error" in c for c in cases + snippets), "refusals")


if __name__ == "__main__":
    main()
