// What the checks run against; tests/clients/bed/bed.py describes each.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { CallFailed, type Client, type Reply, type Tls } from "../src/index.js";

function named(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by tests/clients/bed/bed.py`);
  return value;
}

const pem = named("SWITCHBOARD_PEM");
export const SOCKET = `unix:${named("SWITCHBOARD_SOCKET")}`;
export const SLOW = `unix:${pem}/slow.sock`;
export const TCP = named("SWITCHBOARD_TCP");
export const TOKEN = named("SWITCHBOARD_TOKEN");
export const APPROVER = named("SWITCHBOARD_APPROVER");
export const CURATOR = named("SWITCHBOARD_CURATOR");
export const REVIEWER = named("SWITCHBOARD_REVIEWER");
export const PID = Number(named("SWITCHBOARD_PID"));
export const INSTANCE = named("SWITCHBOARD_INSTANCE");
export const MODEL = named("MODEL_URL");
export const SLEEP = { code: "import time; time.sleep(1.2); result = 'slept'" };

export function tls(name?: string): Tls {
  const read = (file: string) => readFileSync(`${pem}/${file}`);
  if (name === undefined) return { ca: read("ca.pem") };
  return { ca: read("ca.pem"), certificate: read(`${name}.pem`), key: read(`${name}.key`) };
}

/** Waits until the condition gives something true, and gives that. */
export async function until<T>(condition: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const found = await condition();
    if (found) return found;
    await sleep(20);
  }
  throw new Error(`not within ${ms} ms: ${condition}`);
}

/** The error that the promise ends with. */
export async function failure(promise: Promise<unknown>): Promise<CallFailed> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof CallFailed) return error;
    throw error;
  }
  throw new Error("did not fail");
}

/** The code of a call's record, once it is there. */
export function recorded(client: Client, callId: string): Promise<string> {
  return until(() =>
    client.result(callId).then(
      (reply) => reply.error?.code ?? "SUCCESS",
      () => undefined,
    ),
  );
}

/** Whom the ledger names as the caller. */
export function caller(reply: Reply): string {
  const shown = execFileSync(named("SWITCHBOARD_BINARY"), [
    ..."ledger show --json --config".split(" "),
    `${pem}/first.toml`,
    reply.metadata.callId,
  ]);
  return (JSON.parse(shown.toString()) as { caller: string }).caller;
}
