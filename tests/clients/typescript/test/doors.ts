// Who is let in: certificates, tokens, names.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, status } from "../src/index.js";
import { caller, failure, SOCKET, TCP, tls, TOKEN } from "./bed.js";

test("is known by certificate", async () => {
  const client = new Client(TCP, { tls: tls("client") });
  const reply = await client.call("text.stats", { text: "by certificate, from node" });
  assert.equal(caller(reply), "planner.test");
  client.close();
});

test("is known by token", async () => {
  const remote = new Client(TCP, { tls: tls(), token: async () => TOKEN });
  assert.equal(caller(await remote.call("text.stats", { text: "by token, from node" })), "agent");
  remote.close();
  const local = new Client(SOCKET, { token: TOKEN });
  assert.equal(caller(await local.call("text.stats", { text: "on the socket, from node" })), "agent");
  local.close();
});

test("is refused without proof", async () => {
  for (const more of [{}, { token: "swb_wrong" }]) {
    const client = new Client(TCP, { tls: tls(), ...more });
    const failed = await failure(client.call("text.stats", { text: "a" }));
    assert.ok(failed.code === status.UNAUTHENTICATED && failed.byDaemon, failed.message);
    client.close();
  }
  // Of an authority that the daemon does not trust, or the client does not: no connection.
  const { certificate: ca } = tls("stranger");
  for (const refused of [tls("stranger"), ca ? { ca } : {}]) {
    const client = new Client(TCP, { tls: refused, attempts: 1 });
    const failed = await failure(client.listTools());
    assert.ok(failed.code === status.UNAVAILABLE && !failed.byDaemon, failed.message);
    client.close();
  }
});

test("sends no token where others could read it", () => {
  for (const endpoint of ["switchboard.example:7431", "10.0.0.1:7431", "[2001:db8::1]:7431", "127.evil.example:1"]) {
    assert.throws(
      () => new Client(endpoint, { token: "swb_secret" }),
      (error: Error) => /TLS/.test(error.message) && !/swb_secret/.test(error.message),
    );
  }
  for (const endpoint of ["localhost:7431", "127.0.0.1:7431", "[::1]:7431", "unix:/run/some.sock"]) {
    new Client(endpoint, { token: "swb_secret" }).close();
  }
});

test("names a socket localhost, as every HTTP/2 server takes it", async () => {
  const good = new Client(SOCKET);
  assert.ok((await good.listTools()).length > 0);
  good.close();
  const path = { "grpc.default_authority": SOCKET.replaceAll("/", "%2F") };
  const bad = new Client(SOCKET, { attempts: 1, channel: path });
  assert.equal((await failure(bad.listTools())).byDaemon, false);
  bad.close();
});
