"""A small language for ONNX graphs: expressions of tensors become nodes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin._linalg import Array

OPSET = 18
IR_VERSION = 9
"""Of 2023: any runtime since then reads it."""


@dataclass
class Graph:
    """Nodes and constants of a graph in the making."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, value: Any) -> "Tensor":
        """A tensor of fixed values."""
        from onnx import helper, numpy_helper

        array = np.asarray(value)
        name = f"c{len(self.constants)}"
        if array.dtype.kind in "UO":
            text: Any = [str(entry).encode() for entry in array.ravel()]
            self.constants.append(helper.make_tensor(name, 8, array.shape, text))
        else:
            self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return Tensor(self, name)

    def call(self, op: str, *inputs: Any, **attributes: Any) -> "Tensor":
        """The result of an operator; numbers and arrays among its inputs become constants."""
        from onnx import helper

        given = [x if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [x.name for x in given], [name], **attributes))
        return Tensor(self, name)

    def sort(self, x: "Tensor", size: int) -> "Tensor":
        """The numbers of every row in increasing order, for rows of the given size."""
        from onnx import helper

        name, count = f"t{len(self.nodes)}", self.constant(np.array([size]))
        self.nodes.append(
            helper.make_node("TopK", [x.name, count.name], [name, f"{name}_index"], axis=-1, largest=0, sorted=1)
        )
        return Tensor(self, name)

    def output(self, x: "Tensor", name: str) -> None:
        """Give a tensor the name of an output."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [x.name], [name]))


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph; arithmetic on it adds nodes."""

    graph: Graph
    name: str

    def __add__(self, other: Any) -> "Tensor":
        return self.graph.call("Add", self, other)

    def __radd__(self, other: Any) -> "Tensor":
        return self + other

    def __sub__(self, other: Any) -> "Tensor":
        return self.graph.call("Sub", self, other)

    def __rsub__(self, other: Any) -> "Tensor":
        return self.graph.call("Sub", other, self)

    def __mul__(self, other: Any) -> "Tensor":
        return self.graph.call("Mul", self, other)

    def __rmul__(self, other: Any) -> "Tensor":
        return self * other

    def __truediv__(self, other: Any) -> "Tensor":
        return self.graph.call("Div", self, other)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return self.graph.call("Div", other, self)

    def __matmul__(self, other: Any) -> "Tensor":
        return self.graph.call("MatMul", self, other)

    def __neg__(self) -> "Tensor":
        return self.graph.call("Neg", self)

    def __ge__(self, other: Any) -> "Tensor":
        return self.graph.call("GreaterOrEqual", self, other)

    def exp(self) -> "Tensor":
        """e^x."""
        return self.graph.call("Exp", self)

    def log(self) -> "Tensor":
        """ln x."""
        return self.graph.call("Log", self)

    def sqrt(self) -> "Tensor":
        """Square root."""
        return self.graph.call("Sqrt", self)

    def abs(self) -> "Tensor":
        """Size."""
        return self.graph.call("Abs", self)

    def sigmoid(self) -> "Tensor":
        """1/(1 + e^-x)."""
        return self.graph.call("Sigmoid", self)

    def softmax(self) -> "Tensor":
        """Softmax over the last axis."""
        return self.graph.call("Softmax", self, axis=-1)

    def clip(self, low: Any, high: Any) -> "Tensor":
        """Values kept between two bounds, which broadcast."""
        return self.graph.call("Min", self.graph.call("Max", self, low), high)

    def maximum(self, other: Any) -> "Tensor":
        """The larger of two."""
        return self.graph.call("Max", self, other)

    def sum(self, axis: int = -1) -> "Tensor":
        """Sum over an axis, which stays as one of size 1."""
        return self.graph.call("ReduceSum", self, np.array([axis]), keepdims=1)

    def where(self, yes: Any, no: Any) -> "Tensor":
        """Yes where true, no elsewhere."""
        return self.graph.call("Where", self, yes, no)

    def unsqueeze(self) -> "Tensor":
        """A new last axis."""
        return self.graph.call("Unsqueeze", self, np.array([-1]))

    def squeeze(self) -> "Tensor":
        """Without the last axis."""
        return self.graph.call("Squeeze", self, np.array([-1]))

    def columns(self, start: int, stop: int) -> "Tensor":
        """Part of the last axis."""
        return self.graph.call("Slice", self, np.array([start]), np.array([stop]), np.array([-1]))

    def as_float(self) -> "Tensor":
        """Truth values or integers as numbers."""
        return self.graph.call("Cast", self, to=11)

    def as_index(self) -> "Tensor":
        """Numbers as integers."""
        return self.graph.call("Cast", self, to=7)


def concat(parts: list[Tensor]) -> Tensor:
    """Join tensors along the last axis."""
    return parts[0] if len(parts) == 1 else parts[0].graph.call("Concat", *parts, axis=-1)


def lookup(table: Array, index: Tensor) -> Tensor:
    """table[index]."""
    return index.graph.call("Gather", index.graph.constant(np.asarray(table)), index)
