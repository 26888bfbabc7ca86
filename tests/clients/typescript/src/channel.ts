// How a client reaches a daemon, and proves who it is.
import { isIP } from "node:net";

import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";

/** TLS for a TCP endpoint; all three are PEM. */
export interface Tls {
  /** Authorities to trust; without it, those that Node trusts. */
  ca?: Buffer;
  /** The client's own certificate, with its chain, for a daemon that asks for one. */
  certificate?: Buffer;
  key?: Buffer;
}

/** A function is asked each time, for tokens that are renewed. */
export type Token = string | (() => string | Promise<string>);

export const OPTIONS: ChannelOptions = {
  // Pings also while no call runs, so that a dead peer is found before the next one.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.keepalive_permit_without_calls": 1,
  // A daemon is near: when it restarts, it is back within a second.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2_000,
  // Files come with a reply; the default is 4 MiB.
  "grpc.max_receive_message_length": 32 << 20,
  "grpc.max_send_message_length": 32 << 20,
};

export function channelCredentials(tls: Tls | undefined): ChannelCredentials {
  return tls
    ? credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.certificate ?? null)
    : credentials.createInsecure();
}

/** A token is never sent where others can read it. */
export function checkToken(endpoint: string, tls: Tls | undefined, token: Token | undefined): void {
  if (token === undefined || tls || onThisMachine(endpoint)) return;
  throw new TypeError(`a token for \`${endpoint}\` needs TLS: give \`tls\``);
}

function onThisMachine(endpoint: string): boolean {
  if (endpoint.startsWith("unix:")) return true;
  const address = endpoint.replace(/^(dns:\/*|ipv4:|ipv6:)/, "");
  const host = address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  if (host === "localhost" || host === "::1") return true;
  return isIP(host) === 4 && host.startsWith("127.");
}
