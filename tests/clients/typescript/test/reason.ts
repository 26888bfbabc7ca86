// What the package makes of the reasoning: runs followed, left, taken up, ended and listed.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, type RunEvent, type RunOptions, status } from "../src/index.js";
import { APPROVER, failure, SOCKET, TOKEN, until } from "./bed.js";

const QUESTION = "How many words has the text `one two three`?";
const client = new Client(SOCKET);
const { reason } = client;

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function first(question: string, options: RunOptions = {}): Promise<RunEvent> {
  for await (const event of reason.run(question, options)) return event;
  throw new Error("no event came");
}

test("answers with evidence", async () => {
  // The runs open beside the daemon's start.
  await until(() => all(reason.list()).then(() => true, () => false));
  const events = await all(reason.run(QUESTION, { noCache: true, timeoutMs: 30_000 }));
  assert.deepEqual(events.map((one) => one.seq), events.map((_, index) => index + 1));
  const [started, answer] = [events[0]?.what, events.at(-1)?.what];
  assert.ok(started?.kind === "started" && started.limits.steps === 5, JSON.stringify(started));
  assert.ok(answer?.kind === "answer" && answer.text.includes("3 words"), JSON.stringify(answer));
  const steps = events.map((one) => one.what);
  const observed = steps.find((one) => one.kind === "observation");
  assert.ok(observed?.success && answer.evidence.includes(observed.item?.label ?? ""));
  const thought = steps.find((one) => one.kind === "thought");
  assert.deepEqual([thought?.asked?.endpoint, thought?.calls], ["scripted", 1]);
  assert.equal(thought?.asked?.attempts[0]?.outcome, "ok");
  assert.ok(answer.usage.inputTokens === 200 && answer.confidence > 0, JSON.stringify(answer));
  const runId = events[0]?.runId ?? "";
  const trace = await reason.trace(runId);
  assert.equal(trace.state, "answered");
  assert.ok(trace.text.includes("3 words"));
});

test("takes a run up again", async () => {
  let [runId, seen] = ["", 0];
  for await (const event of reason.run(QUESTION, { noCache: true })) {
    [runId, seen] = [event.runId, event.seq];
    if (event.what.kind === "thought") break;
  }
  const more = await all(reason.resume(runId, { after: seen, timeoutMs: 30_000 }));
  assert.equal(more[0]?.seq, seen + 1);
  assert.equal(more.at(-1)?.what.kind, "answer");
  assert.deepEqual((await all(reason.resume(runId))).slice(seen), more);
});

test("ends and lists runs", async () => {
  const { runId } = await first("Be silent.", { conversationId: "quiet-ts" });
  const running = await all(reason.list({ states: ["running"], conversationId: "quiet-ts" }));
  assert.deepEqual(running.map((one) => [one.runId, one.ended]), [[runId, undefined]]);
  assert.deepEqual([await reason.cancel(runId), await reason.cancel(runId)], [true, false]);
  const left = await first("Be silent again.", { cancelOnDrop: true });
  await until(async () => {
    for await (const one of reason.list()) return one.runId === left.runId && one.state === "cancelled";
    return false;
  });
  const other = new Client(SOCKET, { token: TOKEN });
  const foreign = await failure(other.reason.trace(runId));
  assert.deepEqual([foreign.code, foreign.reason], [status.NOT_FOUND, "UNKNOWN_RUN"]);
  other.close();
});

test("keeps to limits and says what is wrong with a question", async () => {
  for (const limit of [{ tokens: 0 }, { money: "0" }, { steps: 0 }]) {
    const end = await reason.answer(QUESTION, { noCache: true, timeoutMs: 30_000, ...limit });
    assert.ok(end.kind === "failed" || end.kind === "partial", JSON.stringify(end));
  }
  const end = await reason.answer("Be silent.", { wallMs: 1000, timeoutMs: 30_000 });
  assert.ok(end.kind === "failed" || end.kind === "partial", JSON.stringify(end));
  const late = await failure(reason.answer("Be silent.", { timeoutMs: 500 }));
  assert.equal(late.code, status.DEADLINE_EXCEEDED);
  const wrong = await failure(reason.answer(" ", { previous: "seven" }));
  const fields = wrong.violations.map((one) => one.field);
  assert.deepEqual(fields, ["question", "previous_run_id"]);
  const misspelt = { convesationId: "b" } as RunOptions;
  assert.throws(() => reason.run("a", misspelt), /the nearest is `conversationId`/);
});

test("goes on once a person has approved", async () => {
  const agent = new Client(SOCKET, { token: TOKEN });
  const boss = new Client(SOCKET, { token: APPROVER });
  let last: RunEvent | undefined;
  for await (const event of agent.reason.run("Please erase note 7.", { noCache: true })) {
    if (event.what.kind === "waiting") await boss.approvals.approve(event.what.approvalId, "as asked");
    last = event;
  }
  assert.equal(last?.what.kind, "answer");
  agent.close();
  boss.close();
  client.close();
});
