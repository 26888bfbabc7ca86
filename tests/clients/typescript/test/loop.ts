// The agent of the examples, against each script of the model, streamed and not.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { AgentError, Model, run } from "../examples/agent.js";
import { Client, type Dialect } from "../src/index.js";
import { APPROVER, MODEL, SOCKET } from "./bed.js";

interface Script {
  question: string;
  answer?: string;
  fails?: string;
  steps?: number;
  tools?: number;
  tokens?: number;
  dialect?: Dialect;
  waits?: boolean;
  approves?: boolean;
}

const folder = new URL("../../../model/scripts/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".json")).sort();

/** Everything was asked for that the script has, and nothing that a provider would refuse. */
async function played(base: string): Promise<void> {
  const told = (await (await fetch(base)).json()) as { turns: number; played: number; refused: string[] };
  assert.deepEqual(told.refused, []);
  assert.equal(told.played, told.turns);
}

/** A person who approves what the agent asks for. */
async function approve(signal: AbortSignal): Promise<void> {
  const boss = new Client(SOCKET, { token: APPROVER });
  try {
    for await (const { id, tool, arguments: args } of boss.approvals.watch(["pending"], 0, { signal })) {
      const wanted = tool === "notes.erase" && (args as { id: number }).id === 7;
      if (wanted) await boss.approvals.approve(id, "fine");
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    boss.close();
  }
}

for (const file of names) {
  const script = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Script;
  const name = file.replace(".json", "");
  for (const stream of [false, true]) {
    test(`the agent plays ${name}${stream ? ", streamed" : ""}`, async () => {
      const base = `${MODEL}/${name}/${randomUUID()}`;
      const model = new Model({ baseUrl: `${base}/v1`, name: "scripted", key: "key", stream });
      const client = new Client(SOCKET);
      const ended = new AbortController();
      const person = script.approves ? approve(ended.signal) : Promise.resolve();
      const options = {
        steps: script.steps ?? 8,
        ...(script.dialect && { dialect: script.dialect }),
        ...(script.tools !== undefined && { mostTools: script.tools }),
        ...(script.tokens !== undefined && { mostTokens: script.tokens }),
        ...(script.waits && { waitMs: 30_000 }),
      };
      try {
        const answer = await run(client, model, script.question, options).catch(
          (error: unknown) => {
            if (error instanceof AgentError) return error.message;
            throw error;
          },
        );
        assert.equal(answer, script.fails ?? script.answer);
      } finally {
        ended.abort();
        client.close();
        await person;
      }
      await played(base);
    });
  }
}

test("the agent answers from the command line", async () => {
  const base = `${MODEL}/single-call/${randomUUID()}`;
  const agent = fileURLToPath(new URL("../examples/agent.js", import.meta.url));
  const options = ["--endpoint", SOCKET, "--base-url", `${base}/v1`, "--model", "m", "How many?"];
  const said = await promisify(execFile)(process.execPath, [agent, ...options]);
  assert.equal(said.stdout, "There are three words.\n");
  await played(base);
});
