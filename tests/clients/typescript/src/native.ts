// A model's own message in, the messages to append to its conversation out.
import type { CallNativeRequest } from "../generated/switchboard/tools/v1/CallNativeRequest.js";
import type { CallNativeResponse__Output } from "../generated/switchboard/tools/v1/CallNativeResponse.js";
import type { Provider as WireProvider } from "../generated/switchboard/tools/v1/Provider.js";
import { type Json, maybeJson, parseJson, renderJson } from "./exact.js";
import { checkChoice, checkCount } from "./options.js";
import { type Reply, replyFromWire } from "./replies.js";
import { type Dialect, wireDialect } from "./tools.js";

const PROVIDERS = [
  "openai_chat",
  "openai_responses",
  "anthropic",
  "gemini",
  "ollama",
  "text",
] as const;
export type Provider = (typeof PROVIDERS)[number];

/** What a text was; `unspecified` when it was not searched for calls. */
export type Reading = "unspecified" | "prose" | "final" | "calls" | "unclear";

/** A message, or the response that holds it, as JSON; or, as bytes, the body of a streamed one. */
export type Message = object | string | Uint8Array;

/** How the calls of a message are made. */
export interface NativeOptions {
  dialect?: Dialect;
  conversationId?: string;
  idempotencyPrefix?: string;
  waitForApproval?: boolean;
  /** Also looks for calls in the text of a message that has no others. */
  textCalls?: boolean;
  /** Of each result, as in CallOptions. */
  maxTokens?: number;
}

/** One call of the message. */
export interface NativeCall {
  nativeId: string;
  nativeName: string;
  callId: string;
  reply: Reply;
}

/** What became of a model's message. */
export interface NativeAnswer {
  /** To append to the conversation after the model's own message, in this order. */
  messages: { [key: string]: Json }[];
  calls: NativeCall[];
  stopReason: string;
  /** What the message says around its calls. */
  text: string;
  reading: Reading;
  /** The answer in a text that was `final`. */
  answer: string;
  /** The JSON object that this answer stood in; null without one. */
  answerObject: Json;
}

export function nativeRequest(
  provider: Provider,
  message: Message,
  options: NativeOptions,
): CallNativeRequest {
  const chosen = checkChoice("provider", provider, PROVIDERS);
  return {
    provider: `PROVIDER_${chosen.toUpperCase()}` as WireProvider,
    dialect: wireDialect(options.dialect),
    conversationId: options.conversationId ?? "",
    idempotencyPrefix: options.idempotencyPrefix ?? "",
    waitForApproval: options.waitForApproval ?? false,
    textCalls: options.textCalls ?? false,
    maxTokens: checkCount("maxTokens", options.maxTokens),
    ...body(provider, message),
  };
}

export function nativeFromWire(wire: CallNativeResponse__Output): NativeAnswer {
  return {
    messages: wire.messagesJson.map((text) => parseJson(text) as { [key: string]: Json }),
    calls: wire.calls.map((call) => {
      if (!call.reply) throw new TypeError("a call has no reply");
      const { nativeId, nativeName, callId } = call;
      return { nativeId, nativeName, callId, reply: replyFromWire(call.reply) };
    }),
    stopReason: wire.stopReason,
    text: wire.text,
    reading: wire.reading.replace("READING_", "").toLowerCase() as Reading,
    answer: wire.answer,
    answerObject: maybeJson(wire.answerJson),
  };
}

function body(provider: Provider, message: Message): Partial<CallNativeRequest> {
  if (message instanceof Uint8Array) return { stream: message };
  if (typeof message !== "string") return { messageJson: renderJson(message) };
  return provider === "text" ? { text: message } : { messageJson: message };
}
