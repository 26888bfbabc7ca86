// The client: one channel to a daemon, promises for calls, async iterators for streams.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import {
  type CallOptions as RpcOptions,
  type ChannelOptions,
  Client as Channel,
  type ClientReadableStream,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";

import type { _switchboard_tools_v1_CallBatchRequest_OnFailure as OnFailure } from "../generated/switchboard/tools/v1/CallBatchRequest.js";
import type { CallRequest } from "../generated/switchboard/tools/v1/CallRequest.js";
import { Approvals } from "./approvals.js";
import { type Batch, batchFromWire, type Entry } from "./batches.js";
import { channelCredentials, checkToken, OPTIONS, type Tls, type Token } from "./channel.js";
import { CallFailed } from "./errors.js";
import { type Event, eventFromWire } from "./events.js";
import { renderJson } from "./exact.js";
import {
  type Message,
  type NativeAnswer,
  nativeFromWire,
  type NativeOptions,
  nativeRequest,
  type Provider,
} from "./native.js";
import { Tools } from "./proto.js";
import { type Reply, replyFromJson, replyFromWire } from "./replies.js";
import {
  type Detail,
  type Dialect,
  type Hit,
  type Risk,
  type Tool,
  toolFromWire,
  type Verdict,
  verdictFromWire,
  wireDetail,
  wireDialect,
  wireRisk,
} from "./tools.js";

export interface ClientOptions {
  tls?: Tls;
  token?: Token;
  /** Milliseconds for each RPC with all its attempts; 60,000 when left out, Infinity for no end. */
  timeoutMs?: number;
  /** How often a request is sent at most, where sending it again is safe; 5 when left out. */
  attempts?: number;
  channel?: ChannelOptions;
}

export interface RpcSettings {
  timeoutMs?: number;
  /** Ends the RPC, and with it the call in its sandbox. */
  signal?: AbortSignal;
}

/** What a call can have beside tool and arguments; the proto file says more about each. */
export interface CallOptions extends RpcSettings {
  conversationId?: string;
  idempotencyKey?: string;
  callId?: string;
  files?: Readonly<Record<string, Uint8Array>>;
  outputFiles?: readonly string[];
  approvalId?: string;
  waitForApproval?: boolean;
  /** In whose terms tool and arguments are written; the tool's own when left out. */
  dialect?: Dialect;
}

/** Which tools, and how they are described. */
export interface ListSettings extends RpcSettings {
  prefix?: string;
  dialect?: Dialect;
  detail?: Detail;
}

/** Among which tools is searched. */
export interface SearchSettings extends RpcSettings {
  limit?: number;
  prefix?: string;
  sources?: readonly string[];
  risks?: readonly Risk[];
  dialect?: Dialect;
  detail?: Detail;
}

/** JSON text is sent as it stands. */
export type Arguments = object | string;

/**
 * After which failures a request is sent again. `refused`: after the daemon's own UNAVAILABLE and
 * RATE_LIMITED, which mean that nothing ran. `always`: also after a connection that broke, when the
 * tool may have run.
 */
export type Again = "always" | "refused" | "never";

interface Method<Request, Response> {
  path: string;
  requestSerialize: (request: Request) => Buffer;
  responseDeserialize: (bytes: Buffer) => Response;
}

/** `endpoint` is `unix:/path/of/the.sock` or `host:port`. */
export class Client {
  /** For services beside Switchboard's own, such as grpc.health.v1. */
  readonly channel: Channel;
  readonly approvals: Approvals;
  readonly #token: Token | undefined;
  readonly #timeoutMs: number;
  readonly #attempts: number;

  constructor(endpoint: string, options: ClientOptions = {}) {
    checkToken(endpoint, options.tls, options.token);
    this.channel = new Channel(endpoint, channelCredentials(options.tls), {
      ...OPTIONS,
      ...options.channel,
    });
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#attempts = options.attempts ?? 5;
    this.approvals = new Approvals(this);
  }

  close(): void {
    this.channel.close();
  }

  /** Runs one call. An error of the tool or a refusal is a reply; CallFailed is a status. */
  async call(tool: string, args: Arguments, options: CallOptions = {}): Promise<Reply> {
    const make = () => callRequest(tool, args, options);
    const { reply } = await this.ask(Tools.Call, make, options, again(options));
    if (!reply) throw new TypeError("the response has no reply");
    return replyFromWire(reply);
  }

  /** As `call`, but tells how it goes on the way. Leaving the loop early ends the call. Never sent
   * again by itself. */
  async *stream(tool: string, args: Arguments, options: CallOptions = {}): AsyncGenerator<Event, void> {
    const request = callRequest(tool, args, options);
    for await (const part of this.watch(Tools.CallStream, request, options)) {
      const event = eventFromWire(part);
      if (event) yield event;
    }
  }

  /** Everything but the execution. */
  async validate(tool: string, args: Arguments, options: CallOptions = {}): Promise<Verdict> {
    const request = callRequest(tool, args, options);
    return verdictFromWire(await this.ask(Tools.Validate, () => request, options));
  }

  /** All tools that this caller may be able to use, by name. */
  async listTools(settings: ListSettings = {}): Promise<Tool[]> {
    const found: Tool[] = [];
    const [dialect, detail] = [wireDialect(settings.dialect), wireDetail(settings.detail)];
    const namePrefix = settings.prefix ?? "";
    for (let pageToken = ""; ; ) {
      const request = { namePrefix, dialect, detail, pageSize: 1000, pageToken };
      const page = await this.ask(Tools.ListTools, () => request, settings);
      found.push(...page.tools.map(toolFromWire));
      pageToken = page.nextPageToken;
      if (pageToken === "") return found;
    }
  }

  /** By its own name, whatever the dialect. */
  async getTool(name: string, settings: RpcSettings & { dialect?: Dialect } = {}): Promise<Tool> {
    const request = { name, dialect: wireDialect(settings.dialect) };
    return toolFromWire(await this.ask(Tools.GetTool, () => request, settings));
  }

  /** The tools that fit a question best, best first. */
  async searchTools(query: string, settings: SearchSettings = {}): Promise<Hit[]> {
    const request = {
      query,
      limit: settings.limit ?? 10,
      namePrefix: settings.prefix ?? "",
      sources: [...(settings.sources ?? [])],
      risks: (settings.risks ?? []).map(wireRisk),
      dialect: wireDialect(settings.dialect),
      detail: wireDetail(settings.detail),
    };
    const { hits } = await this.ask(Tools.SearchTools, () => request, settings);
    return hits.flatMap(({ tool, score }) => (tool ? [{ tool: toolFromWire(tool), score }] : []));
  }

  /** Runs the calls in a model's own message, and gives the messages with their results. */
  async callNative(
    provider: Provider,
    message: Message,
    options: NativeOptions & RpcSettings = {},
  ): Promise<NativeAnswer> {
    const request = nativeRequest(provider, message, options);
    const again = options.idempotencyPrefix ? "always" : "refused";
    return nativeFromWire(await this.ask(Tools.CallNative, () => request, options, again));
  }

  /** Runs several calls, by name, each as soon as those that it refers to have succeeded. */
  async batch(
    calls: Readonly<Record<string, Entry>>,
    settings: RpcSettings & { onFailure?: "continue" | "stop" } = {},
  ): Promise<Batch> {
    const onFailure = settings.onFailure === "stop" ? "ON_FAILURE_STOP" : "ON_FAILURE_CONTINUE";
    const make = () => ({
      calls: Object.entries(calls).map(([name, entry]) => ({
        name,
        call: callRequest(entry.tool, entry.arguments, entry.options ?? {}),
      })),
      onFailure: onFailure as OnFailure,
    });
    return batchFromWire(await this.ask(Tools.CallBatch, make, settings, "refused"));
  }

  /** Reads a recorded reply again; its files have no content then. */
  async result(callId: string, settings: RpcSettings = {}): Promise<Reply> {
    let json = "";
    for (let offset = 0; ; ) {
      const request = { callId, offset };
      const page = await this.ask(Tools.GetResult, () => request, settings);
      json += page.json;
      offset = page.nextOffset;
      if (offset === 0) return replyFromJson(json);
    }
  }

  /** Ends a running call. False when it had ended already. */
  async cancel(callId: string, settings: RpcSettings = {}): Promise<boolean> {
    return (await this.ask(Tools.Cancel, () => ({ callId }), settings)).cancelled;
  }

  /** One unary RPC, sent again where that is safe; each attempt with a request of its own. */
  async ask<Request extends object, Response extends object>(
    method: Method<Request, Response>,
    make: () => Request,
    settings: RpcSettings,
    again: Again = "always",
  ): Promise<Response> {
    const end = this.#end(settings);
    // A daemon that drains may have a successor, which is about to start.
    let waitForReady = false;
    for (let attempt = 1; ; attempt++) {
      const request = make();
      const metadata = await this.#metadata(waitForReady);
      try {
        return await this.#unary(method, request, end, metadata, settings.signal);
      } catch (error) {
        const pause =
          error instanceof CallFailed ? this.pause(error, attempt, end, again) : undefined;
        if (pause === undefined) throw error;
        waitForReady = (error as CallFailed).byDaemon;
        await rest(pause, settings.signal);
      }
    }
  }

  /** The messages of one stream; leaving the loop early, or the signal, ends it. */
  async *watch<Request extends object, Response extends object>(
    method: Method<Request, Response>,
    request: Request,
    settings: RpcSettings,
  ): AsyncGenerator<Response, void> {
    const end = this.#end(settings);
    const metadata = await this.#metadata(false);
    settings.signal?.throwIfAborted();
    const stream: ClientReadableStream<Response> = this.channel.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      deadline(end),
    );
    const abort = () => stream.cancel();
    settings.signal?.addEventListener("abort", abort, { once: true });
    try {
      yield* stream as AsyncIterable<Response>;
    } catch (error) {
      settings.signal?.throwIfAborted();
      throw failure(error, request);
    } finally {
      settings.signal?.removeEventListener("abort", abort);
      stream.cancel();
    }
  }

  /** Milliseconds until a request is sent again; undefined when it must not be, or has no time. */
  pause(failed: CallFailed, attempt: number, end: number, again: Again): number | undefined {
    const unavailable = failed.code === status.UNAVAILABLE;
    const refused =
      failed.byDaemon && (unavailable || failed.code === status.RESOURCE_EXHAUSTED);
    const lost = !failed.byDaemon && unavailable;
    const allowed = (refused && again !== "never") || (lost && again === "always");
    if (attempt >= this.#attempts || !allowed) return undefined;
    const backoff = Math.min(2000, 100 * 2 ** attempt) * (0.5 + Math.random() / 2);
    const pause = Math.max(failed.retryAfterMs ?? 0, backoff);
    return Date.now() + pause < end ? pause : undefined;
  }

  #end(settings: RpcSettings): number {
    return Date.now() + (settings.timeoutMs ?? this.#timeoutMs);
  }

  async #metadata(waitForReady: boolean): Promise<Metadata> {
    const metadata = new Metadata({ waitForReady });
    if (this.#token !== undefined) {
      const token = typeof this.#token === "string" ? this.#token : await this.#token();
      metadata.set("authorization", `Bearer ${token}`);
    }
    return metadata;
  }

  async #unary<Request extends object, Response extends object>(
    method: Method<Request, Response>,
    request: Request,
    end: number,
    metadata: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    signal?.throwIfAborted();
    let abort = () => {};
    try {
      return await new Promise<Response>((resolve, reject) => {
        const call: ClientUnaryCall = this.channel.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          metadata,
          deadline(end),
          (error, response) => {
            if (response) resolve(response);
            else reject(signal?.aborted ? signal.reason : failure(error, request));
          },
        );
        abort = () => call.cancel();
        signal?.addEventListener("abort", abort, { once: true });
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Waits, or throws the signal's reason. */
export async function rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
}

function deadline(end: number): RpcOptions {
  return Number.isFinite(end) ? { deadline: end } : {};
}

function failure(error: unknown, request: object): unknown {
  const service = error as ServiceError;
  if (typeof service?.code !== "number") return error;
  return new CallFailed(service, (request as { callId?: string }).callId);
}

/** An id can be used once. An equal call with the same key is answered with the first reply. */
function again(options: CallOptions): Again {
  if (options.callId) return "never";
  return options.idempotencyKey ? "always" : "refused";
}

/** The id is made here, so that the call can be cancelled and looked up whatever happens to it. */
function callRequest(tool: string, args: Arguments, options: CallOptions): CallRequest {
  return {
    toolName: tool,
    argumentsJson: typeof args === "string" ? args : renderJson(args),
    conversationId: options.conversationId ?? "",
    idempotencyKey: options.idempotencyKey ?? "",
    callId: options.callId || randomUUID(),
    files: Object.entries(options.files ?? {}).map(([name, content]) => ({ name, content })),
    outputFiles: [...(options.outputFiles ?? [])],
    approvalId: options.approvalId ?? "",
    waitForApproval: options.waitForApproval ?? false,
    dialect: wireDialect(options.dialect),
  };
}
