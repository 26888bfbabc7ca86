"""The agent of the examples, against each script of the model, streamed and not."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.request
import uuid

import agent
from switchboard_client import Client

from .run import check

MODEL = pathlib.Path(__file__).resolve().parents[2] / "model"
SCRIPTS = {path.stem: json.loads(path.read_text()) for path in MODEL.glob("scripts/*.json")}


def approve(bed, ended):
    """A person who approves what the agent asks for."""
    with Client(f"unix:{bed.folder}/first.sock", token=bed.approver) as boss:
        while not ended.wait(0.05):
            for approval in boss.approvals.list("pending"):
                if approval.tool == "notes.erase" and approval.arguments == {"id": 7}:
                    boss.approvals.approve(approval.id, "fine")


def played(base):
    """Everything was asked for that the script has, and nothing that a provider would refuse."""
    with urllib.request.urlopen(base) as response:
        told = json.load(response)
    assert not told["refused"], told["refused"]
    assert told["played"] == told["turns"], told


def play(client, bed, name, stream):
    script, base = SCRIPTS[name], f"{bed.model}/{name}/{uuid.uuid4()}"
    model = agent.Model(f"{base}/v1", "scripted", "key", stream=stream)
    ended = threading.Event()
    person = threading.Thread(target=approve, args=(bed, ended))
    if script.get("approves"):
        person.start()
    try:
        answer = agent.run(
            client,
            model,
            script["question"],
            steps=script.get("steps", 8),
            wait=30 if script.get("waits") else None,
            dialect=script.get("dialect", "openai"),
            most_tools=script.get("tools", agent.MOST_TOOLS),
            most_tokens=script.get("tokens", agent.MOST_TOKENS),
        )
    except agent.AgentError as error:
        answer = str(error)
    finally:
        ended.set()
        if person.is_alive():
            person.join()
    assert answer == script.get("fails", script.get("answer")), answer
    played(base)


def checks():
    for name in sorted(SCRIPTS):
        for stream in (False, True):

            def one(client, bed, name=name, stream=stream):
                play(client, bed, name, stream)

            how = "_streamed" if stream else ""
            one.__name__ = f"agent_plays_{name.replace('-', '_')}{how}"
            check(one)


checks()


@check
def agent_answers_from_the_command_line(bed):
    base = f"{bed.model}/single-call/{uuid.uuid4()}"
    path = pathlib.Path(agent.__file__)
    options = {"endpoint": f"unix:{bed.folder}/first.sock", "base-url": f"{base}/v1", "model": "m"}
    command = [sys.executable, path, *(f"--{key}={value}" for key, value in options.items())]
    environment = os.environ | {"OPENAI_API_KEY": "key"}
    said = subprocess.run(
        [*command, "How many?"], capture_output=True, text=True, env=environment
    )
    assert (said.returncode, said.stdout) == (0, "There are three words.\n"), said
    played(base)


@check
def model_refuses_what_a_provider_would(bed):
    base, good = f"{bed.model}/prose/{uuid.uuid4()}", {"role": "user", "content": "a"}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c", "content": "{}"}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    wrong = [
        {"messages": []},
        {"messages": [{"role": "user"}]},
        {"messages": [{**good, "role": "function"}]},
        {"messages": [good, asked]},
        {"messages": [good, asked, good]},
        {"messages": [good, asked, answer, answer]},
        {"messages": [good, asked, {**answer, "tool_call_id": "d"}]},
        {"messages": [good, answer]},
        {"messages": [good, {**asked, "tool_calls": [call, call]}, answer]},
        {"messages": [good, {**asked, "tool_calls": []}]},
        {"messages": [good, {"role": "assistant", "content": None}]},
        {"messages": [good], "tools": []},
        {"messages": [good], "tools": [tool, tool]},
        {"messages": [good], "tools": [{**tool, "function": {"name": "a.b"}}]},
        {"messages": [good], "tools": [{"type": "function", "name": "f"}]},
        {"messages": [good], "tools": [with_parameters({"type": "string"})]},
        {"messages": [good], "tools": [with_parameters({"type": "object", "anyOf": []})]},
        {
            "messages": [good],
            "tools": [with_parameters({"type": "object", "properties": {"a": {"type": "array"}}})],
        },
        {"messages": [good], "tool_choice": "auto"},
        {"messages": [good], "dialect": "openai"},
    ]
    for body in wrong:
        model = urllib.request.Request(
            f"{base}/v1/chat/completions",
            json.dumps({"model": "m", **body}).encode(),
            {"authorization": "Bearer key"},
        )
        try:
            urllib.request.urlopen(model)
        except urllib.error.HTTPError as error:
            told = json.load(error)["error"]
            assert error.code == 400 and told["type"] == "invalid_request_error", told
        else:
            raise AssertionError(f"took {body}")


def with_parameters(schema):
    return {"type": "function", "function": {"name": "f", "parameters": schema}}
