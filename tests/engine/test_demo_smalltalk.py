"""What users tell of themselves, and what they ask the demo model about itself."""

from random import Random

import pytest
from recipe.corpus.forms import section_of, sections
from recipe.corpus.scripts import AFTER, ScriptTopic


def test_what_users_tell_of_their_day_asks_for_no_tip() -> None:
    topic = ScriptTopic("people")
    told = [s for s in sections("people.forms") if s.name.startswith("tell ")]
    assert len(told) > 70
    for section in told:
        for seed in range(20):
            question = topic.exchange(section, Random(seed), follows=False).question
            assert not question.endswith(AFTER)


@pytest.mark.parametrize(
    "name", ["person", "robot", "alive", "feelings", "taste", "smell", "see", "hear", "sleep"]
)
def test_what_is_asked_about_the_model_has_one_answer(name: str) -> None:
    section = section_of("identity.forms", name)
    assert len(section.answers) == 1
    assert len(section.questions) >= 5
