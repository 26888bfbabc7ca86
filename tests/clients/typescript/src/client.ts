// The client: one channel to a daemon, promises for calls, async iterators for streams.
import type { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import {
  type CallOptions as RpcOptions,
  Client as Channel,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientUnaryCall,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";

import type { _switchboard_tools_v1_CallBatchRequest_OnFailure as OnFailure } from "../generated/switchboard/tools/v1/CallBatchRequest.js";
import type { ListToolsResponse__Output } from "../generated/switchboard/tools/v1/ListToolsResponse.js";
import { Approvals } from "./approvals.js";
import { type Batch, batchFromWire, type Entry } from "./batches.js";
import { channelCredentials, checkToken, OPTIONS, type Token } from "./channel.js";
import * as core from "./core.js";
import type {
  Again,
  Arguments,
  BatchSettings,
  CallOptions,
  ClientOptions,
  ListSettings,
  RpcSettings,
  SearchSettings,
} from "./core.js";
import { CallFailed } from "./errors.js";
import { type Event, eventFromWire } from "./events.js";
import { Memory } from "./memories.js";
import {
  type Message,
  type NativeAnswer,
  nativeFromWire,
  type NativeOptions,
  nativeRequest,
  type Provider,
} from "./native.js";
import { checkChoice, checkCount, checkOptions } from "./options.js";
import { Tools } from "./proto.js";
import { type Reply, replyFromJson, replyFromWire } from "./replies.js";
import {
  type Content,
  type ContentOptions,
  type LineOptions,
  type LinePage,
  linePageFromWire,
  lineRequest,
  type Page,
  pageFromWire,
  type PageOptions,
  pageRequest,
} from "./results.js";
import { Reason } from "./runs.js";
import {
  type Dialect,
  type HitList,
  hitsFromWire,
  type Tool,
  toolFromWire,
  type ToolList,
  toolsFromWire,
  type Verdict,
  verdictFromWire,
  wireDetail,
  wireDialect,
  wireRisk,
} from "./tools.js";

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
  readonly memory: Memory;
  readonly reason: Reason;
  readonly #token: Token | undefined;
  readonly #timeoutMs: number;
  readonly #attempts: number;

  constructor(endpoint: string, options: ClientOptions = {}) {
    checkOptions("a client", options, core.CLIENT);
    checkToken(endpoint, options.tls, options.token);
    this.channel = new Channel(endpoint, channelCredentials(options.tls), {
      ...OPTIONS,
      ...options.channel,
    });
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#attempts = options.attempts ?? 5;
    this.approvals = new Approvals(this);
    this.memory = new Memory(this);
    this.reason = new Reason(this);
  }

  close(): void {
    this.channel.close();
  }

  /** Runs one call. An error of the tool or a refusal is a reply; CallFailed is a status. */
  async call(tool: string, args: Arguments, options: CallOptions = {}): Promise<Reply> {
    checkOptions("a call", options, core.CALL);
    const make = () => core.callRequest(tool, args, options);
    const { reply } = await this.ask(Tools.Call, make, options, core.again(options));
    if (!reply) throw new TypeError("the response has no reply");
    return replyFromWire(reply);
  }

  /** As `call`, but tells how it goes on the way. Leaving the loop early ends the call. Never sent
   * again by itself. */
  async *stream(tool: string, args: Arguments, options: CallOptions = {}): AsyncGenerator<Event, void> {
    checkOptions("a call", options, core.CALL);
    const request = core.callRequest(tool, args, options);
    for await (const part of this.watch(Tools.CallStream, request, options)) {
      const event = eventFromWire(part);
      if (event) yield event;
    }
  }

  /** Everything but the execution. */
  async validate(tool: string, args: Arguments, options: CallOptions = {}): Promise<Verdict> {
    checkOptions("a call", options, core.CALL);
    const request = core.callRequest(tool, args, options);
    return verdictFromWire(await this.ask(Tools.Validate, () => request, options));
  }

  /** All tools that this caller may be able to use, by name. */
  async listTools(settings: ListSettings = {}): Promise<ToolList> {
    checkOptions("listTools", settings, core.LIST);
    const found: ListToolsResponse__Output[] = [];
    const [dialect, detail] = [wireDialect(settings.dialect), wireDetail(settings.detail)];
    const namePrefix = settings.prefix ?? "";
    for (let pageToken = ""; ; ) {
      const request = { namePrefix, dialect, detail, pageSize: 1000, pageToken };
      const page = await this.ask(Tools.ListTools, () => request, settings);
      found.push(page);
      pageToken = page.nextPageToken;
      if (pageToken === "") return toolsFromWire(found);
    }
  }

  /** By its own name, whatever the dialect. */
  async getTool(name: string, settings: RpcSettings & { dialect?: Dialect } = {}): Promise<Tool> {
    checkOptions("getTool", settings, core.GET);
    const request = { name, dialect: wireDialect(settings.dialect) };
    return toolFromWire(await this.ask(Tools.GetTool, () => request, settings));
  }

  /** The tools that fit a question best, best first. */
  async searchTools(query: string, settings: SearchSettings = {}): Promise<HitList> {
    checkOptions("searchTools", settings, core.SEARCH);
    const request = {
      query,
      limit: checkCount("limit", settings.limit ?? 10),
      namePrefix: settings.prefix ?? "",
      sources: [...(settings.sources ?? [])],
      risks: (settings.risks ?? []).map(wireRisk),
      dialect: wireDialect(settings.dialect),
      detail: wireDetail(settings.detail),
    };
    return hitsFromWire(await this.ask(Tools.SearchTools, () => request, settings));
  }

  /** Runs the calls in a model's own message, and gives the messages with their results. `maxTokens` is
   * of each result, as for a call. */
  async callNative(
    provider: Provider,
    message: Message,
    options: NativeOptions & RpcSettings = {},
  ): Promise<NativeAnswer> {
    checkOptions("callNative", options, core.NATIVE);
    const request = nativeRequest(provider, message, options);
    const again = options.idempotencyPrefix ? "always" : "refused";
    return nativeFromWire(await this.ask(Tools.CallNative, () => request, options, again));
  }

  /** Runs several calls, by name, each as soon as those that it refers to have succeeded. */
  async batch(
    calls: Readonly<Record<string, Entry>>,
    settings: BatchSettings = {},
  ): Promise<Batch> {
    checkOptions("batch", settings, core.BATCH);
    for (const [name, { options = {} }] of Object.entries(calls)) {
      checkOptions(`call \`${name}\` of a batch`, options, core.ENTRY);
    }
    const chosen = checkChoice("onFailure", settings.onFailure ?? "continue", ["continue", "stop"]);
    const onFailure = `ON_FAILURE_${chosen.toUpperCase()}`;
    const make = () => ({
      calls: Object.entries(calls).map(([name, entry]) => ({
        name,
        call: core.callRequest(entry.tool, entry.arguments, entry.options ?? {}),
      })),
      onFailure: onFailure as OnFailure,
    });
    return batchFromWire(await this.ask(Tools.CallBatch, make, settings, "refused"));
  }

  /** Reads a recorded reply again, whole; its files have no content then. */
  async result(callId: string, settings: RpcSettings = {}): Promise<Reply> {
    checkOptions("result", settings, core.RPC);
    let json = "";
    for (let offset = 0; ; ) {
      const request = { callId, offset };
      const page = await this.ask(Tools.GetResult, () => request, settings);
      json += page.json;
      offset = page.nextOffset;
      if (offset === 0) return replyFromJson(json);
    }
  }

  /**
   * One value of a recorded reply, by JSON Pointer from the reply's root, for example `/data/orders/17`;
   * of an array, an object or a text as much as fits, from `first` on.
   */
  async resultPage(
    callId: string,
    pointer = "",
    options: PageOptions & RpcSettings = {},
  ): Promise<Page> {
    checkOptions("resultPage", options, core.PAGE);
    const request = pageRequest(callId, pointer, options);
    return pageFromWire(await this.ask(Tools.GetResult, () => request, options));
  }

  /** As `resultPage`, and all pages after that one; the bounds are those of each page. */
  async *resultPages(
    callId: string,
    pointer = "",
    options: PageOptions & RpcSettings = {},
  ): AsyncGenerator<Page, void> {
    for (let first = options.first; ; ) {
      const from = first === undefined ? {} : { first };
      const page = await this.resultPage(callId, pointer, { ...options, ...from });
      yield page;
      if (page.nextFirst === undefined) return;
      first = page.nextFirst;
    }
  }

  /**
   * The bytes behind a handle, or any text in base64 or as a data: URL. All from `first` on, or at most
   * `count` of them.
   */
  async resultContent(
    callId: string,
    pointer: string,
    options: ContentOptions & RpcSettings = {},
  ): Promise<Content> {
    checkOptions("resultContent", options, core.CONTENT);
    const request = { ...pageRequest(callId, pointer, options), decode: true };
    const found: Buffer[] = [];
    for (let left = options.count || Infinity; ; ) {
      const page = await this.ask(Tools.GetResult, () => request, options);
      found.push(page.content);
      left -= page.content.length;
      if (page.nextFirst === 0 || left <= 0) {
        const { mediaType, total, origin } = page;
        return { content: Buffer.concat(found), mediaType, total, origin: origin ?? undefined };
      }
      request.first = page.nextFirst;
      request.count = Number.isFinite(left) ? left : 0;
    }
  }

  /** A page of the reply's one line of JSON. */
  async resultLine(callId: string, options: LineOptions & RpcSettings = {}): Promise<LinePage> {
    checkOptions("resultLine", options, core.LINE);
    const request = lineRequest(callId, options);
    return linePageFromWire(await this.ask(Tools.GetResult, () => request, options));
  }

  /** Ends a running call. False when it had ended already. */
  async cancel(callId: string, settings: RpcSettings = {}): Promise<boolean> {
    checkOptions("cancel", settings, core.RPC);
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

  /**
   * Sends messages and gives the answers, as both come: no more is sent than the daemon reads. Leaving the
   * loop early, or the signal, ends it.
   */
  async *exchange<Request extends object, Response extends object>(
    method: Method<Request, Response>,
    requests: AsyncIterable<Request>,
    settings: RpcSettings,
  ): AsyncGenerator<Response, void> {
    const end = this.#end(settings);
    const metadata = await this.#metadata(false);
    settings.signal?.throwIfAborted();
    const stream: ClientDuplexStream<Request, Response> = this.channel.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      metadata,
      deadline(end),
    );
    const abort = () => stream.cancel();
    settings.signal?.addEventListener("abort", abort, { once: true });
    let wrong: unknown;
    const sent = (async () => {
      for await (const request of requests) {
        if (stream.destroyed) return;
        if (!stream.write(request)) {
          await drained(stream);
        }
      }
      stream.end();
    })().catch((error: unknown) => {
      wrong = error;
      stream.cancel();
    });
    try {
      yield* stream as AsyncIterable<Response>;
      await sent;
    } catch (error) {
      settings.signal?.throwIfAborted();
      if (wrong !== undefined) throw wrong;
      throw failure(error, {});
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

/** Waits until more can be written; the end of the stream ends the wait, too. */
function drained(stream: EventEmitter): Promise<void> {
  const events = ["drain", "close", "error", "end"];
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    for (const event of events) stream.on(event, done);
  });
}

function deadline(end: number): RpcOptions {
  return Number.isFinite(end) ? { deadline: end } : {};
}

function failure(error: unknown, request: object): unknown {
  const service = error as ServiceError;
  if (typeof service?.code !== "number") return error;
  return new CallFailed(service, (request as { callId?: string }).callId);
}
