# ruff: noqa: E501 -- templates are long lines
"""Chat templates: real ones render; hostile and broken ones give way to the plain one, in time."""

import time
import tracemalloc
from collections.abc import Iterator
from datetime import datetime

import pytest

from engine import template_sandbox
from engine.chat_template import ChatTemplate
from engine.request import Message
from engine.template_sandbox import TemplateFailedError, TemplateSandbox

CHAT = [Message("system", "Be brief."), Message("user", "Hi {{ 7 * 7 }}")]
NOW = datetime(2026, 1, 31, 12, 0)

CHATML = """{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}{{ '<|im_start|>system\\n<|im_end|>\\n' }}{%-
    endif %} {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>'
    + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def render(source: str) -> str:
    prompt = ChatTemplate(source, "<s>", "</s>").render(CHAT, NOW)
    assert prompt.notice == ""
    return prompt.text


def why_plain(source: str | None) -> str:
    prompt = ChatTemplate(source).render(CHAT, NOW)
    assert prompt.text == "System: Be brief.\nUser: Hi {{ 7 * 7 }}\nAssistant:"
    assert prompt.stop == ("\nUser:",)
    return prompt.notice


def test_a_chatml_template_renders_and_a_message_is_never_a_template() -> None:
    assert render(CHATML) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nHi {{ 7 * 7 }}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}a{{ eos_token }}", "<s>a</s>"),
        ("{{ strftime_now('%d %b %Y') }}", "31 Jan 2026"),
        ("{{ messages[:1] | tojson }}", '[{"role": "system", "content": "Be brief."}]'),
        ("{{ {'é': [1]} | tojson(indent=1) }}", '{\n "é": [\n  1\n ]\n}'),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "2"),
        ("{% for m in messages %}{% if loop.last %}{{ loop.index }}/{{ loop.length }}{% endif %}{% endfor %}", "2/2"),
        ("{% for m in messages %}{% if loop.index == 2 %}{% break %}{% endif %}x{% endfor %}", "x"),
        ("{% generation %}x{% endgeneration %}", "x"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('a') ~ m(1) }}", "<a><1>"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='role') | join(', ') }}", "user"),
        ("{{ 'a-b'.split('-')[1] }}{{ ' x '.strip() }}{{ 'Ab'.startswith('A') }}", "bxTrue"),
        ("{{ '{}-%s'.format(1) }}{{ '%05.1f' % 2 }}", "1-%s002.0"),
        ("{{ ['a', 'b'] | join('. . . . . . . . . . . . ') | length }}", "26"),
        ("a\n  {% if true %}\nb\n  {% endif %}\n", "a\nb\n"),
    ],
)  # fmt: skip
def test_what_real_templates_use_works(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        # CVE-2024-34359: the payload of a GGUF whose template ran outside any sandbox.
        "{% for x in ().__class__.__base__.__subclasses__() %}{% if 'warning' in x.__name__ %}"
        "{{ x()._module.__builtins__['__import__']('os').popen('id').read() }}{% endif %}{% endfor %}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['__builtins__'] }}",
        "{{ range.__class__.mro() }}",
        "{{ ('{0.__class__.__init__.__globals__}').format(raise_exception) }}",
        "{{ ('%s' | attr('format')) }}",
        "{{ messages.append(1) }}",
        "{% set _ = messages[0].update({'role': 'x'}) %}x",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
    ],
)
def test_reaching_for_python_ends_in_the_plain_template(source: str) -> None:
    assert why_plain(source)


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% set x = range(99999) | sum %}{% endfor %}x",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}x",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'a' * 10**10 }}",
        "{{ [1] * 10**10 }}",
        "{{ 9**9**9 }}",
        "{{ range(10**9) | list }}",
        "{% set n = namespace(x='a' * 99) %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}x",
        "{% set n = namespace(x='a' * 99) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}x",
        "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set y %}{{ n.x }}{{ n.x }}{% endset %}"
        "{% set n.x = y %}{% endfor %}x",
        "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}x",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (1000000000, 1) }}",
        "{{ '{:1000000000d}'.format(1) }}",
        "{{ '{:{}}'.format(1, 1000000000) }}",
        "{{ strftime_now('%1000000000d') }}",
        "{{ 'a'.ljust(10**9) }}",
        "{{ 'a' | indent(10**9, true) }}",
        "{{ ('a' * 10**6) | replace('a', 'b' * 10**6) }}",
        "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}",
        "{{ ('a' * 10**6).join('b' * 10**6) }}",
        "{{ ['b', 'c'] | join('x' * 16000000) }}",
        "{{ [1] | tojson(indent=10**9) }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ " + "-" * 20000 + "1 }}",
        "x" * (2 << 20),
    ],
    ids=range(27),
)
def test_asking_for_too_much_ends_in_the_plain_template(source: str) -> None:
    assert why_plain(source)


class Watched(list[object]):
    """A list that hears whoever makes text of it."""

    shown = 0

    def __repr__(self) -> str:
        Watched.shown += 1
        return super().__repr__()


@pytest.mark.parametrize(
    "use",
    [
        "{{ c }}",
        "{{ c | string }}",
        "{{ c ~ '' }}",
        "{{ c | tojson }}",
        "{{ [c] | join }}",
        "{{ '%s' % (c,) }}",
        "{{ '{}'.format(c) }}",
        "{{ c | replace('a', 'b') }}",
    ],
)
@pytest.mark.parametrize(
    "grow",
    [
        "{% set b = [a] * 12 %}{% set c = [b] * 12 %}",
        "{% set b = [a, a, a, a, a, a, a] %}{% set c = [b, b, b, b, b, b, b] %}",
        "{% set b = (a, a, a, a, a, a, a) %}{% set c = {1: b, 2: b, 3: b, 4: b, 5: b, 6: b} %}",
        "{% set b = dict(x=a, y=a, z=a) %}{% set c = dict({1: b, 2: b}, x=b, y=b, z=b, u=b, v=b) %}",
        "{% set b = namespace(x=a) %}{% set c = [b] * 12 %}",
        "{% macro m() %}{{ kwargs.c }}{% endmacro %}{{ m(*[a] * 99) }}{% set c = a %}",
    ],
)
def test_what_holds_much_by_naming_it_often_is_refused_before_it_is_made_text(
    monkeypatch: pytest.MonkeyPatch, grow: str, use: str
) -> None:
    monkeypatch.setattr(Watched, "shown", 0)
    watched = Watched(["x"])
    with monkeypatch.context() as patch:
        patch.setattr(template_sandbox, "MAX_TEXT", 1000)
        with pytest.raises(TemplateFailedError, match=r"over 1000|namespace in a list"):
            TemplateSandbox(NOW).render(f"{{% set a = [w] * 6 %}}{grow}{use}", w=watched)
    assert Watched.shown == 0
    assert "x" in TemplateSandbox(NOW).render(use, c=watched)
    assert Watched.shown or "tojson" in use


@pytest.mark.parametrize(
    "source",
    [
        "{{ ('\t' * 10000).expandtabs(1000) }}",
        "{{ ('\t' * 10000).expandtabs(tabsize=1000) }}",
        "{{ ('\r' * 10000) | indent(1000, true, true) }}",
        "{{ ('\u2028' * 10000) | indent('x' * 1000, true, true) }}",
        "{{ ('%999d' * 10000) % ((1,) * 10000) }}",
        "{{ ('%(a)s' * 200) % {'a': 'x' * 90000} }}",
        "{{ '%(a)99999999d' % {'a': 1} }}",
        "{{ '%((a))99999999d' % {'(a)': 1} }}",
        "{{ ('{0:999d}' * 10000).format(1) }}",
        "{{ ('{0}' * 200).format('x' * 90000) }}",
        "{{ ('{a}' * 200).format_map({'a': 'x' * 90000}) }}",
        "{{ ('{0.x}' * 200).format(namespace(x='x' * 90000)) }}",
        "{{ strftime_now('%999d' * 10000) }}",
        "{{ ('a' * 5000) | replace(old='a', new='b' * 4000) }}",
        "{{ (10**19) | replace('0', 'b' * 1000000) }}",
        "{{ range(19999) | list | tojson(indent=999) }}",
        "{{ 'a'.encode().ljust(10**8) }}",
        "{{ 7.to_bytes(10**8, 'big') }}",
        "{{ 7 | round(10**6, 'ceil') }}",
        "{{ 7 | round(-(10**6)) }}",
        "{{ ([[1] * 99] * 9) | sum(start=[]) }}",
    ],
)
def test_a_result_too_large_is_refused_before_it_is_built(
    monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setattr(template_sandbox, "MAX_TEXT", 2_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(TemplateFailedError, match=r"not allowed \((?!more)"):
            TemplateSandbox(NOW).render(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 << 20


# (2**61 - 1) times anything, which Python's hashes cannot tell apart.
ALIKE = "range(0, 9223372036854775804, 2305843009213693951)"
DEEP = "{% set n = namespace(t=1) %}{% for i in range(9000) %}{% set n.t = ((((n.t,),),),) %}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        # From the right, each character may meet each of what is searched.
        ("{{ ('a' * 9000000).rfind('ab' ~ 'a' * 4000000) }}", "search"),
        ("{{ ('a' * 9000000).rindex('ab' ~ 'a' * 4000000) }}", "search"),
        ("{{ ('a' * 9000000).rsplit('ab' ~ 'a' * 4000000) }}", "search"),
        ("{{ ('a' * 9000000).rsplit(sep='ab' ~ 'a' * 4000000) }}", "search"),
        ("{{ ('a' * 9000000).rpartition('ab' ~ 'a' * 4000000) }}", "search"),
        ("{{ ('a' * 9000000).strip('b' * 4000000 ~ 'a') }}", "search"),
        ("{{ ('a' * 9000000) | trim('b' * 4000000 ~ 'a') }}", "search"),
        ("{{ (('<>' * 8000000) | safe).striptags() }}", "striptags"),
        ("{{ ('ab' * 8000000) | sort }}", "16000000 items"),
        ("{{ ('a-' * 8000000) | title }}", "16000000 items"),
        ("{{ ('a' * 16000000) | map(attribute=0) | join }}", "16000000 items"),
        (
            "{{ range(99999) | list" + " | map(attribute='x', default='a')" * 90 + " | list }}",
            "2 s",
        ),
        *(
            (f"{{{{ range(99999) | list | {name}(attribute='a.' * 8000000) }}}}", "many parts")
            for name in ("groupby", "join", "max", "min", "sort", "sum")
        ),
        ("{{ ('a' * 99999) | sort(attribute='0.' * 8000000 ~ '0') }}", "many parts"),
        ("{{ ['a'] | groupby('0.' * 8000000 ~ '0') }}", "many parts"),
        (f"{{{{ {{}}.fromkeys({ALIKE}) }}}}", "too large"),
        (f"{{{{ {ALIKE} | unique | list }}}}", "too large"),
        ("{{ dict.fromkeys(range(9)) }}", "undefined|no attribute"),
        ("{{ {}.fromkeys(range(9)) }}", "the method fromkeys"),
        # A tuple's hash calls itself for each tuple in it, until the stack is used up.
        (DEEP + "{{ {n.t: 1} | length }}", "nested more than"),
        # Texts of 16 million characters each.
        ("{% set x = 'a' * 16000000 %}" + "{% set y = x[1:] %}" * 99, "turns and calls"),
    ],
    ids=range(26),
)
def test_what_could_take_for_ever_in_one_call_is_refused_before(source: str, reason: str) -> None:
    began = time.process_time()
    with pytest.raises(TemplateFailedError, match=reason):
        TemplateSandbox(NOW).render(source)
    assert time.process_time() - began < 6


def test_the_time_that_other_programs_take_from_a_template_is_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(template_sandbox, "MAX_SECONDS", 0.3)

    class Paused(list[int]):
        def __iter__(self) -> Iterator[int]:
            time.sleep(0.5)
            return super().__iter__()

    source = "{% for each in paused %}{{ each }}{% endfor %}"
    assert TemplateSandbox(NOW).render(source, paused=Paused([1, 2])) == "12"


@pytest.mark.parametrize(
    "source",
    [
        "{{ '' " + "| upper" * 190 + " }}",
        "{{ " + "not " * 90 + "messages }}",
        "".join(f"{{%set a{n}=1%}}{{%if 1%}}{{%endif%}}" for n in range(4000)),
    ],
    ids=range(3),
)
def test_compiling_takes_time_in_proportion_to_the_template(source: str) -> None:
    began = time.process_time()
    ChatTemplate(source).render(CHAT, NOW)
    assert time.process_time() - began < 1


def test_dictionaries_are_made_of_dictionaries_and_pairs() -> None:
    assert render("{{ dict({'a': 1}, b=2) | tojson }}") == '{"a": 1, "b": 2}'
    assert render("{{ dict([('a', 1), ('b', 2)], a=3) | tojson }}") == '{"a": 3, "b": 2}'
    assert render("{{ {('a', 1): 2}[('a', 1)] }}{{ {2 ** 20 * 4096: 3}[4294967296] }}") == "23"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "has no chat template"),
        ("{% if %}", "Expected an expression"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ missing_function() }}", "'missing_function' is undefined"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("  ", "gave no text"),
        ("{{ ''.__class__.__mro__ }}", "not allowed"),
        ("{{ 'a' * 10**10 }}", "over 16777216"),
    ],
)
def test_the_notice_says_why_the_plain_template_is_used(source: str | None, reason: str) -> None:
    assert reason in why_plain(source)
