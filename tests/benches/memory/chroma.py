"""The peer of the memory's bench: chromadb, on the vectors and filters that ours gets.

Usage: chroma.py fill FOLDER, or chroma.py ask FOLDER. FOLDER holds units.jsonl, units.f32,
questions.jsonl, questions.f32; see data.rs. Prints one JSON object a line.
"""

import json
import pathlib
import sys
import time

begun = time.perf_counter()

import chromadb  # noqa: E402
import numpy  # noqa: E402

DIMENSIONS = 384
TOP = 20
BATCH = 2000


def opened(folder):
    settings = chromadb.config.Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(str(folder / "chroma"), settings=settings)


def rows(folder, name):
    with open(folder / f"{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def vectors(folder, name):
    return numpy.fromfile(folder / f"{name}.f32", dtype="<f4").reshape(-1, DIMENSIONS)


def size(key):
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(key):
                return int(line.split()[1]) / 1024


def fill(folder):
    client = opened(folder)
    units, numbers = rows(folder, "units"), vectors(folder, "units")
    collection = client.create_collection(
        "units", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    start = time.perf_counter()
    for at in range(0, len(units), BATCH):
        part = units[at : at + BATCH]
        collection.add(
            ids=[str(number) for number in range(at, at + len(part))],
            embeddings=numbers[at : at + len(part)],
            documents=[unit["text"] for unit in part],
            metadatas=[{key: unit[key] for key in ("tenant", "line", "from", "to")} for unit in part],
        )
    took = time.perf_counter() - start
    print(json.dumps({"rate": len(units) / took, "version": chromadb.__version__}))


def condition(width, asked):
    parts = [
        {"tenant": asked["tenant"]},
        {"from": {"$lte": asked["day"]}},
        {"to": {"$gt": asked["day"]}},
    ]
    if width == "narrow":
        parts.append({"line": asked["line"]})
    return {"$and": parts}


def ask(folder):
    collection = opened(folder).get_collection("units", embedding_function=None)
    questions, numbers = rows(folder, "questions"), vectors(folder, "questions")

    def one(width, place):
        return collection.query(
            query_embeddings=numbers[place : place + 1],
            n_results=TOP,
            where=condition(width, questions[place]),
            include=["distances"],
        )["ids"][0]

    one("tenant", 0)
    start = (time.perf_counter() - begun) * 1000
    used = time.process_time() * 1000
    print(json.dumps({"start": start, "processor": used, "resident": size("VmRSS:")}))
    for width in ("tenant", "narrow"):
        took, found = [], []
        for place in range(len(questions)):
            start = time.perf_counter()
            ids = one(width, place)
            took.append((time.perf_counter() - start) * 1000)
            found.append([int(number) for number in ids])
        print(json.dumps({"width": width, "took": took, "found": found}))
    print(json.dumps({"peak": size("VmHWM:")}))


if __name__ == "__main__":
    {"fill": fill, "ask": ask}[sys.argv[1]](pathlib.Path(sys.argv[2]))
