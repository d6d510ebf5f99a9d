"""What the tree of a chat template becomes before it is compiled, see `engine.template_sandbox`."""

from typing import Any

from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.visitor import NodeTransformer

LARGE = 1 << 32  # numbers in the source over this are weighed as computed ones are


def bounded(tree: nodes.Template) -> nodes.Template:
    """The tree in which all that costs goes through the environment."""
    made: nodes.Template = _Bounded().visit(tree)
    return made


def branching(tree: nodes.Template) -> int:
    """Names times branches: compiling copies what it knows of all names for each branch."""
    names = {name.name for name in tree.find_all(nodes.Name)}
    return len(names) * sum(1 for _ in tree.find_all(nodes.If))


class _Generation(Extension):
    """`{% generation %}` marks the assistant's text for training; here it is only its body."""

    tags = {"generation"}  # noqa: RUF012, as jinja declares it

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Bounded(NodeTransformer):
    """Sends what the sandbox does not see through the environment: loops, `~`, lists, compares,
    slices, large numbers."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.iter = _call("turns", node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", *node.nodes)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        return self._checked(node, node.items)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        return self._checked(node, node.items) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        parts = [part for pair in node.items for part in (pair.key, pair.value)]
        checked = self._checked(node, parts)
        for pair in node.items:  # in time: keys may have been chosen to be slow to tell apart
            if not isinstance(pair.key, nodes.Const):
                pair.key = _call("checked", pair.key)
        return checked

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("checked", node) if isinstance(node.arg, nodes.Slice) else node

    def visit_Const(self, node: nodes.Const) -> nodes.Node:  # noqa: N802
        large = isinstance(node.value, int) and abs(node.value) > LARGE
        return _call("checked", node) if large else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        return self._checked(node, [each.expr for each in node.ops])

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        return self._checked(node, [*node.args, node.dyn_args] if node.dyn_args else node.args)

    def _checked(self, node: nodes.Expr, parts: list[nodes.Expr]) -> nodes.Node:
        """With constants it is as small as the source, and no work."""
        self.generic_visit(node)
        return (
            node if all(isinstance(part, nodes.Const) for part in parts) else _call("checked", node)
        )


EXTENSIONS: list[type[Extension]] = [loopcontrols, _Generation]


def _call(name: str, *arguments: nodes.Node) -> nodes.Expr:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None)
