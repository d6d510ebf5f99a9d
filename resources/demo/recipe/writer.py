"""Writes replies with the PyTorch model, plainly: to look at while training."""

import torch
from tokenizers import Tokenizer

from recipe.chatml import IM_END, chat_text, heading
from recipe.corpus import Turn
from recipe.model import Model


@torch.no_grad()
def reply_text(model: Model, tokenizer: Tokenizer, question: str, n_token: int = 60) -> str:
    """The likeliest reply, at most `n_token` tokens long."""
    text = chat_text((Turn("user", question),)) + heading("assistant")
    tokens = tokenizer.encode(text).ids
    n_prompt = len(tokens)
    end = tokenizer.token_to_id(IM_END)
    while len(tokens) < n_prompt + n_token:
        token = int(model(torch.tensor([tokens]))[0, -1].argmax())
        if token == end:
            break
        tokens.append(token)
    return tokenizer.decode(tokens[n_prompt:])
