"""The tensors and keys of a bench model, and the bytes of each."""

from engine.bench_models.families import FAMILIES
from engine.bench_models.gguf_writer import Metadata, TensorSpec, f32, string, u32
from engine.bench_models.network import Network
from engine.bench_models.parts import Chunks, Part, Parts
from engine.bench_models.shapes import Shape
from engine.bench_models.tensor_types import file_type_number
from engine.bench_models.vocabulary import Vocabulary


class Plan:
    """`tensors` are in file order; chunks() gives the bytes of each."""

    def __init__(
        self, shape: Shape, file_type: str, vocabulary: Vocabulary, network: Network
    ) -> None:
        self._shape = shape
        self._file_type = file_type
        self._family = FAMILIES[shape.family]
        parts = Parts(shape, file_type, vocabulary, network)
        every = [
            *_ends(parts, self._family.scales_embedding),
            *self._family.extra(parts),
            *(part for il in range(shape.n_layer) for part in self._family.layer(parts, il)),
        ]
        self._parts: dict[str, Part] = {part.tensor.name: part for part in every}
        self.tensors = [part.tensor for part in every]

    def metadata(self) -> Metadata:
        """All keys but the vocabulary's."""
        s = self._shape
        keys: Metadata = {
            "block_count": u32(s.n_layer),
            "context_length": u32(s.context),
            "embedding_length": u32(s.n_embd),
            "feed_forward_length": u32(s.n_ff),
            "attention.head_count": u32(s.n_head),
            "attention.head_count_kv": u32(s.n_head_kv),
            "attention.key_length": u32(s.head_dim),
            "attention.value_length": u32(s.head_dim),
            "attention.layer_norm_rms_epsilon": f32(s.rms_eps),
            "rope.freq_base": f32(s.rope_base),
            "expert_count": u32(s.n_expert),
            "expert_used_count": u32(s.n_expert_used),
            "expert_feed_forward_length": u32(s.n_ff_exp),
        } | self._family.metadata(s)
        return {
            "general.architecture": string(s.family),
            "general.type": string("model"),
            "general.name": string(f"Random weights like {s.name}"),
            "general.file_type": u32(file_type_number(self._file_type)),
            "general.quantization_version": u32(2),
        } | {f"{s.family}.{key}": value for key, value in keys.items()}

    def expert_bytes(self) -> list[int]:
        """Bytes of one expert of each layer."""
        sizes = [0] * self._shape.n_layer
        for tensor in self.tensors:
            if tensor.name.endswith("_exps.weight"):
                sizes[int(tensor.name.split(".")[1])] += tensor.n_bytes // self._shape.n_expert
        return sizes

    def chunks(self, tensor: TensorSpec) -> Chunks:
        """The bytes of a tensor, in pieces of bounded size."""
        return self._parts[tensor.name].chunks()


def _ends(p: Parts, scales_embedding: bool) -> list[Part]:
    """Embedding, output norm, output; `scales_embedding`: by the root of its length, when used."""
    n_embd, n_vocab = p.shape.n_embd, p.vocabulary.n_vocab
    scale = n_embd**-0.5 if scales_embedding else 1.0
    return [
        p.matrix("token_embd", -1, lambda: scale * p.network.embeddings(n_vocab), n_embd, n_vocab),
        p.vector("output_norm", -1, p.network.output_norm()),
        p.matrix(
            "output",
            -1,
            lambda: p.network.output(n_vocab, p.vocabulary.unlikely),
            n_embd,
            n_vocab,
        ),
    ]
