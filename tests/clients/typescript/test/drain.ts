// How the daemon ends; the last of all checks.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";

import { Client } from "../src/index.js";
import { PID, SLEEP, SOCKET, until } from "./bed.js";

test("a running call has its reply when the daemon is told to end", async () => {
  const client = new Client(SOCKET);
  let last;
  for await (const event of client.stream("python.run", SLEEP)) {
    if (event.kind === "started") process.kill(PID, "SIGTERM");
    last = event;
  }
  assert.ok(last?.kind === "reply" && last.reply.data === "slept");
  client.close();
  await until(() => !existsSync(SOCKET.slice("unix:".length)));
});
