"""The texts that the demo model is trained on: conversations made by grammars of our own.

Sources: all texts, tables of facts and grammars in this folder were written for Runahead and have
its licence, Apache-2.0. Nothing is taken from other collections.
"""

from recipe.corpus.mixture import conversations
from recipe.corpus.prompts import development_prompts, held_out_prompts
from recipe.corpus.turn import Conversation, Turn

__all__ = ["Conversation", "Turn", "conversations", "development_prompts", "held_out_prompts"]
