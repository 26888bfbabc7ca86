// What the package makes of the wire: values, errors, sending again, ending early.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { connectivityState } from "@grpc/grpc-js";

import { approvalId, Client, type Event, type Json, LosslessNumber, ref, status } from "../src/index.js";
import { APPROVER, failure, recorded, SLEEP, SLOW, SOCKET, TCP, tls, until } from "./bed.js";

const client = new Client(SOCKET);

test("gives numbers as they were sent", async () => {
  const big = 2n ** 80n;
  const digits = new LosslessNumber("12345678901234567890.10");
  const input = [big, 0.1, digits, 1.5, true, null];
  const reply = await client.call("python.run", { code: "result = input[0] + 1", input });
  assert.equal(reply.data, big + 1n);
  const verdict = await client.validate("python.run", { code: "1", input });
  assert.deepEqual(verdict.arguments, { code: "1", input } as Json);
  const kept = (verdict.arguments as { input: Json[] }).input[2] as LosslessNumber;
  assert.equal(kept.value, digits.value);
  const text = '{"code":"1","input":12345678901234567890.10}';
  assert.deepEqual(
    (await client.validate("python.run", text)).arguments,
    { code: "1", input: digits } as unknown as Json,
  );
});

test("gives an error of a tool or a refusal as a value", async () => {
  const broken = await client.call("python.run", { code: "1 / 0" });
  assert.equal(broken.status, "error");
  assert.equal(broken.error?.code, "EXECUTION_ERROR");
  const wrong = await client.call("text.stats", { text: 5, txt: "x" });
  assert.equal(wrong.error?.code, "SCHEMA_VALIDATION_ERROR");
  assert.ok((wrong.error.details as { violations: Json[] }).violations.length > 0);
  const denied = await client.call("text.stats", { text: "top secret" });
  assert.equal(denied.error?.code, "POLICY_DENIED");
  assert.deepEqual((denied.error.details as { policies: Json }).policies, ["no-secret-texts"]);
  const unknown = await client.call("text.statistics", {});
  assert.equal(unknown.error?.code, "UNKNOWN_TOOL");
  assert.match(unknown.json, /text\.stats/);
});

test("gives a status as an error with its reason", async () => {
  const unknown = await failure(client.getTool("no.such"));
  assert.deepEqual([unknown.code, unknown.reason], [status.NOT_FOUND, "UNKNOWN_TOOL"]);
  const malformed = await failure(client.call("", {}));
  assert.ok(malformed.byDaemon && malformed.reason === "MALFORMED_REQUEST");
  assert.deepEqual(malformed.violations.map((wrong) => wrong.field), ["tool_name"]);
  const nowhere = new Client("unix:/nowhere.sock", { attempts: 1 });
  const unreachable = await failure(nowhere.listTools());
  assert.ok(unreachable.code === status.UNAVAILABLE && !unreachable.byDaemon);
  nowhere.close();
});

test("lists and describes tools", async () => {
  const stats = (await client.listTools()).find((tool) => tool.name === "text.stats");
  assert.ok(stats);
  assert.deepEqual((stats.inputSchema as { required: Json }).required, ["text"]);
  assert.deepEqual([stats.risk, stats.idempotent, stats.cacheTtlMs, stats.timeoutMs], ["read", true, 300_000, 3000]);
  assert.deepEqual(await client.getTool("text.stats"), stats);
  assert.deepEqual((await client.listTools({ prefix: "text." })).map((tool) => tool.name), ["text.stats"]);
});

test("describes and calls a tool in the terms of a model host", async () => {
  const stats = await client.getTool("text.stats", { dialect: "openai" });
  const definition = stats.definition as { type: string; function: { name: string } };
  assert.equal(definition.type, "function");
  const { name } = definition.function;
  assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  const reply = await client.call(name, { text: "a b" }, { dialect: "openai" });
  assert.deepEqual([reply.tool, reply.status], ["text.stats", "success"]);
});

test("finds tools by what they do", async () => {
  const hits = await client.searchTools("count the words of a text", { limit: 3, detail: "compact" });
  assert.equal(hits[0]?.tool.name, "text.stats");
  assert.deepEqual(hits[0]?.tool.arguments, ["text"]);
  assert.ok(hits.length <= 3);
  const [hit] = await client.searchTools("count words", { dialect: "anthropic", risks: ["read"] });
  assert.deepEqual((hit?.tool.definition as { input_schema: { required: Json } }).input_schema.required, ["text"]);
});

test("answers the messages of several model hosts", async () => {
  const made = { name: "text_dot_stats", arguments: '{"text":"a b"}' };
  const call = { id: "call_1", type: "function", function: made };
  const openai = { role: "assistant", content: null, tool_calls: [call] };
  const chat = await client.callNative("openai_chat", openai);
  assert.deepEqual(chat.messages.map((message) => [message["role"], message["tool_call_id"]]), [["tool", "call_1"]]);
  assert.equal((chat.calls[0]?.reply.data as { words: number }).words, 2);
  const anthropic = await client.callNative("anthropic", {
    role: "assistant",
    stop_reason: "tool_use",
    content: [
      { type: "text", text: "I count." },
      { type: "tool_use", id: "t1", name: "text_dot_stats", input: { text: "a" } },
      { type: "tool_use", id: "t2", name: "no_such", input: {} },
    ],
  });
  assert.equal(anthropic.text, "I count.");
  assert.deepEqual(anthropic.calls.map(({ nativeId, reply }) => [nativeId, reply.status]), [
    ["t1", "success"],
    ["t2", "error"],
  ]);
  assert.deepEqual(anthropic.messages.map((message) => message["role"]), ["user"]);
  const text = await client.callNative("text", 'I will: {"name": "text.stats", "arguments": {"text": "a b c"}}');
  assert.equal(text.reading, "calls");
  assert.deepEqual((await client.callNative("text", "Three.")).messages, []);
  const failed = await failure(client.callNative("anthropic", openai));
  assert.ok(failed.reason === "MALFORMED_REQUEST" && failed.violations.length > 0);
});

test("runs calls that use the results of others", async () => {
  const code = "result = {'twice': input * 2}";
  const done = await client.batch({
    first: { tool: "python.run", arguments: { code, input: 2n ** 70n } },
    second: { tool: "python.run", arguments: { code, input: ref("first", "/twice") } },
    broken: { tool: "python.run", arguments: { code: "1 / 0" } },
    after: { tool: "text.stats", arguments: { text: ref("broken") } },
  });
  assert.equal(done.refused, false);
  assert.deepEqual(done.replies.get("second")?.data, { twice: 2n ** 72n });
  const codes = [...done.replies.values()].map((reply) => reply.error?.code);
  assert.deepEqual(codes, [undefined, undefined, "EXECUTION_ERROR", "SKIPPED"]);
  const circle = await client.batch({
    a: { tool: "text.stats", arguments: { text: ref("b") } },
    b: { tool: "text.stats", arguments: { text: ref("a") } },
  });
  assert.ok(circle.refused && [...circle.replies.values()].every((reply) => reply.error));
});

test("repairs arguments and says so", async () => {
  const reply = await client.call("text.stats", { Text: "two words" });
  assert.equal((reply.data as { words: number }).words, 2);
  assert.deepEqual(reply.metadata.repairs.map((one) => [one.kind, one.pointer]), [["rename", "/text"]]);
});

test("streams events and ends with the reply", async () => {
  const events: Event[] = [];
  for await (const event of client.stream("python.run", { code: "print('seen', flush=True); result = 7" })) {
    events.push(event);
  }
  const kinds = events.map((event) => event.kind);
  assert.deepEqual(kinds.slice(0, 2), ["accepted", "started"]);
  assert.equal(kinds.filter((kind) => kind === "reply").length, 1);
  const last = events.at(-1);
  assert.ok(last?.kind === "reply" && last.reply.data === 7);
  const written = events.flatMap((event) => (event.kind === "output" ? [event.data] : []));
  assert.match(Buffer.concat(written).toString(), /seen/);
});

test("ends the call when a stream is left", async () => {
  let callId = "";
  for await (const event of client.stream("python.run", SLEEP)) {
    if (event.kind === "accepted") callId = event.callId;
    if (event.kind === "started") break;
  }
  assert.equal(await recorded(client, callId), "CANCELLED");
});

test("ends a call and a stream by their signals", async () => {
  const callId = randomUUID();
  const run = client.call("python.run", SLEEP, { callId, signal: AbortSignal.timeout(300) });
  await assert.rejects(run, { name: "TimeoutError" });
  assert.equal(await recorded(client, callId), "CANCELLED");

  const abort = new AbortController();
  const why = new Error("no longer needed");
  await assert.rejects(async () => {
    for await (const event of client.stream("python.run", SLEEP, { signal: abort.signal })) {
      if (event.kind === "started") abort.abort(why);
    }
  }, why);
  await assert.rejects(client.call("text.stats", { text: "a" }, { signal: abort.signal }), why);
});

test("cancels by id", async () => {
  const callId = randomUUID();
  const run = failure(client.call("python.run", SLEEP, { callId }));
  await until(() => client.cancel(callId).catch(() => false));
  const failed = await run;
  assert.deepEqual([failed.reason, failed.callId], ["CANCELLED", callId]);
  assert.equal(failed.reply?.error?.code, "CANCELLED");
});

test("keeps the deadline and tells which call it was", async () => {
  const began = Date.now();
  const failed = await failure(client.call("python.run", SLEEP, { timeoutMs: 500 }));
  assert.ok(Date.now() - began < 1200, "as long as the tool");
  assert.equal(failed.code, status.DEADLINE_EXCEEDED);
  assert.match(await recorded(client, failed.callId), /^(DEADLINE_EXCEEDED|CANCELLED)$/);
});

test("sends again after the delay that it is told", async () => {
  const [once, again] = [new Client(SLOW, { attempts: 1 }), new Client(SLOW)];
  const stats = (settings = {}) =>
    again.call("text.stats", { text: "b" }, { idempotencyKey: randomUUID(), ...settings });
  const failed = await until(async () => {
    const call = once.call("text.stats", { text: "b" });
    return call.then(() => undefined, (error) => error);
  });
  assert.equal(failed.reason, "RATE_LIMITED");
  assert.ok(failed.retryAfterMs > 0 && failed.retryAfterMs <= 1000);
  for (let turn = 0; turn < 2; turn++) assert.equal((await stats()).status, "success");
  // No time for the delay: the status is given at once.
  const began = Date.now();
  const late = await failure(stats({ timeoutMs: 300 }));
  assert.ok(late.reason === "RATE_LIMITED" && Date.now() - began < 300);
  once.close();
  again.close();
});

test("runs a call once with a key, and reads it again", async () => {
  const code = "import random; result = random.random()";
  const idempotencyKey = randomUUID();
  const first = await client.call("python.run", { code }, { idempotencyKey });
  const second = await client.call("python.run", { code }, { idempotencyKey });
  assert.equal(first.status, "success");
  assert.deepEqual(first.data, second.data);
  assert.deepEqual(await client.result(first.metadata.callId), first);
});

test("carries files both ways", async () => {
  const code = "open('/tmp/out/b.txt', 'w').write(open('/tmp/in/a.txt').read().upper())";
  const files = { "a.txt": Buffer.from("seen") };
  const reply = await client.call("python.run", { code }, { files, outputFiles: ["b.txt"] });
  assert.equal(reply.files[0]?.content?.toString(), "SEEN", reply.json);
  const [again] = (await client.result(reply.metadata.callId)).files;
  assert.ok(again && again.content === undefined && again.size === 4);
  // More than gRPC's default of 4 MiB, both ways.
  const large = Buffer.alloc(6 << 20, "x");
  const copy = "open('/tmp/out/c.txt', 'w').write(open('/tmp/in/a.txt').read())";
  const copied = await client.call("python.run", { code: copy }, { files: { "a.txt": large }, outputFiles: ["c.txt"] });
  assert.ok(copied.files[0]?.content?.equals(large), copied.json.slice(0, 400));
});

test("waits for a person and lets one decide", async () => {
  const boss = new Client(SOCKET, { token: APPROVER });
  const asked = await client.call("notes.erase", { id: 11 });
  const id = approvalId(asked);
  assert.ok(id, asked.json);
  const pending = (await boss.approvals.list(["pending"])).find((one) => one.id === id);
  assert.deepEqual([pending?.tool, pending?.arguments], ["notes.erase", { id: 11 }]);
  assert.ok(pending?.decidable && Math.abs(Date.now() - pending.asked.getTime()) < 60_000);
  assert.equal((await failure(client.approvals.approve(id))).reason, "NOT_AN_APPROVER");
  await boss.approvals.deny(id, "not this one");
  const denied = await client.call("notes.erase", { id: 11 });
  assert.equal(denied.error?.code, "APPROVAL_REJECTED");

  const person = (async () => {
    for await (const approval of boss.approvals.watch(["pending"], 0, { timeoutMs: 20_000 })) {
      if ((approval.arguments as { id: number }).id !== 12) continue;
      return boss.approvals.approve(approval.id, "fine");
    }
    return undefined;
  })();
  const events: Event[] = [];
  for await (const event of client.stream("notes.erase", { id: 12 }, { waitForApproval: true })) {
    events.push(event);
  }
  const approved = await person;
  const waited = events.flatMap((event) => (event.kind === "waiting" ? [event.approvalId] : []));
  assert.deepEqual(waited, [approved?.id]);
  const last = events.at(-1);
  assert.ok(last?.kind === "reply");
  assert.deepEqual(last.reply.data, { erased: true, id: 12 });
  assert.equal((await client.approvals.get(waited[0] ?? "")).state, "used");
  boss.close();
});

test("keeps its connections under pings, with and without calls", async () => {
  const channel = { "grpc.keepalive_time_ms": 200, "grpc.keepalive_timeout_ms": 1000 };
  const clients = [
    new Client(SOCKET, { attempts: 1, channel }),
    new Client(TCP, { attempts: 1, channel, tls: tls("client") }),
  ];
  const replies = await Promise.all(clients.map((often) => often.call("python.run", SLEEP)));
  assert.deepEqual(replies.map((reply) => reply.data), ["slept", "slept"]);
  // Nothing but pings for a while; a channel would leave this state when it is sent away.
  const end = Date.now() + 2000;
  const left = clients.map(
    (often) =>
      new Promise<boolean>((resolve) => {
        const whole = often.channel.getChannel();
        whole.watchConnectivityState(connectivityState.READY, end, (late) => resolve(!late));
      }),
  );
  assert.deepEqual(await Promise.all(left), [false, false]);
  for (const often of clients) {
    assert.equal((await often.call("text.stats", { text: "a" })).status, "success");
    often.close();
  }
});

test("closes", () => client.close());
