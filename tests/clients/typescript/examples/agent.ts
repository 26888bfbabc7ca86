// An agent: any model behind the OpenAI chat completions API, with the tools of Switchboard.
//
//   npm run build
//   export OPENAI_API_KEY=...
//   node dist/examples/agent.js --endpoint unix:/run/switchboard/switchboard.sock \
//     --base-url https://models.example/v1 --model NAME "How many words are in this sentence?"
//
// The model's messages go to Switchboard as they came; what comes back goes to the model as it came.
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import {
  CallFailed,
  Client,
  type Dialect,
  type Json,
  type NativeCall,
  parseJson,
  renderJson,
  type Reply,
} from "../src/index.js";

// Providers take 128 tools; models choose worse long before that.
const MOST_TOOLS = 32;
// Of a result at once. The model is shown what is left out, and reads on where it wants to.
const MOST_TOKENS = 4000;
const CUT_OFF = "Your answer was cut off. Give a shorter one.";

/** Why there is no answer. */
export class AgentError extends Error {
  override readonly name = "AgentError";
}

/** A message of a conversation, in OpenAI's form. */
export type Message = { [key: string]: Json };

/** A model's message, and the body of the response that it came in. */
interface Turn {
  message: Message;
  body: string | Uint8Array;
  finish: string | null;
}

export interface ModelOptions {
  baseUrl: string;
  name: string;
  key: string;
  stream?: boolean;
  attempts?: number;
}

/** A chat completions endpoint. */
export class Model {
  readonly #options: ModelOptions;

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  /** The model's next message. Waits and asks again while the provider is busy or broken. */
  async answer(messages: readonly Message[], tools: readonly Json[]): Promise<Turn> {
    const { baseUrl, name, key, stream = false, attempts = 5 } = this.#options;
    const asked = {
      model: name,
      messages,
      ...(tools.length > 0 && { tools }),
      ...(stream && { stream }),
    };
    const request = {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: renderJson(asked),
    };
    let why = "";
    for (let attempt = 1; attempt <= attempts; attempt++) {
      let wait = Math.min(8000, 250 * 2 ** attempt);
      try {
        const response = await fetch(`${baseUrl.replace(/\/$/, "")}/chat/completions`, {
          ...request,
          signal: AbortSignal.timeout(120_000),
        });
        const body = Buffer.from(await response.arrayBuffer());
        if (response.ok) return stream ? { ...assemble(body), body } : whole(body);
        why = refusal(response.status, body);
        const busy = [408, 409, 429].includes(response.status) || response.status >= 500;
        if (!busy) throw new AgentError(`the model refused: ${why}`);
        wait = retryAfter(response) ?? wait;
      } catch (error) {
        if (error instanceof AgentError) throw error;
        why = String(error);
      }
      if (attempt < attempts) await sleep(wait);
    }
    throw new AgentError(`the model cannot be reached: ${why}`);
  }
}

const READ = {
  type: "function",
  function: {
    name: "read_result",
    description:
      "Reads on in a result of which you were shown a part. What was left out is marked by " +
      '{"$more": {"pointer": POINTER, "first": FIRST}} or, at the end of a text, by ' +
      "[... more characters: POINTER from FIRST]. Read no more than you need.",
    parameters: {
      type: "object",
      properties: {
        call_id: { type: "string", description: "call_id of the result." },
        pointer: { type: "string", description: "pointer of the marker." },
        first: { type: "integer", description: "first of the marker, or later." },
      },
      required: ["call_id", "pointer", "first"],
      additionalProperties: false,
    },
  },
};

/** A function of the agent's own, by which the model reads on in what it was shown in part. */
class Reader {
  readonly #client: Client;
  readonly #mostTokens: number;
  // Only results of this conversation: what another one brought has no place here.
  readonly #shown = new Map<string, Reply>();

  constructor(client: Client, mostTokens: number) {
    this.#client = client;
    this.#mostTokens = mostTokens;
  }

  /** Offered once there is something to read. */
  get tools(): Json[] {
    return this.#shown.size > 0 ? [READ] : [];
  }

  note(calls: readonly NativeCall[]): void {
    for (const { callId, reply } of calls) {
      if (reply.metadata.view) this.#shown.set(callId, reply);
    }
  }

  /** The calls of this function, and the response without them; undefined when nothing is left. */
  split({ message, body, finish }: Turn): { own: ToolCall[]; body: string | Uint8Array | undefined } {
    const calls = (message["tool_calls"] ?? []) as ToolCall[];
    const isOwn = (call: ToolCall) =>
      this.#shown.size > 0 && call.function.name === READ.function.name;
    const [own, others] = [calls.filter(isOwn), calls.filter((call) => !isOwn(call))];
    if (own.length === 0) return { own, body };
    const choice = { message: { ...message, tool_calls: others }, finish_reason: finish };
    return { own, body: others.length > 0 ? renderJson({ choices: [choice] }) : undefined };
  }

  /** The message with what such a call reads, or with what is wrong with it. */
  async answer(call: ToolCall): Promise<Message> {
    const result = await this.#read(call.function.arguments).catch((error: unknown) => {
      if (!(error instanceof CallFailed)) throw error;
      return wrong(error.violations.map((one) => `${one.field} ${one.description}`).join("; ") || error.message);
    });
    return { role: "tool", tool_call_id: call.id, content: renderJson(result) };
  }

  async #read(text: string): Promise<object> {
    const { call_id: callId, pointer, first } = object(text);
    const reply = this.#shown.get(String(callId));
    const counts = typeof first === "number" && Number.isInteger(first) && first >= 0;
    if (!reply || typeof pointer !== "string" || !counts) {
      return wrong("read_result needs call_id, pointer and first of a result that was shown in part");
    }
    const bounds = { first, maxTokens: this.#mostTokens };
    const page = await this.#client.resultPage(reply.metadata.callId, pointer, bounds);
    // The same envelope as that of the result itself.
    const { untrusted, origin, flags } = reply.metadata.more;
    return {
      status: "success",
      ...{ untrusted, origin, flags },
      data: page.value,
      page: { first, total: page.total, next_first: page.nextFirst ?? null },
    };
  }
}

function wrong(message: string): object {
  return { status: "error", error: { message } };
}

/** The object that a text is; an empty one for anything else. */
function object(text: string): { [key: string]: Json } {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? (value as { [key: string]: Json }) : {};
  } catch {
    return {};
  }
}

export interface RunOptions {
  /** Most messages of the model; 8 when left out. */
  steps?: number;
  /** Milliseconds to wait for a person who approves the calls of a message; without it the model is
   * told that somebody has to. */
  waitMs?: number;
  /** Most tools that the model is offered; those that fit the question when there are more. */
  mostTools?: number;
  /** Tokens of each result that the model is shown at once; 4000 when left out. */
  mostTokens?: number;
  dialect?: Dialect;
  tell?: (call: NativeCall) => void;
}

/** Lets the model call tools until it answers. */
export async function run(
  client: Client,
  model: Model,
  question: string,
  options: RunOptions = {},
): Promise<string> {
  const { steps = 8, waitMs, dialect = "openai", tell } = options;
  const { mostTools = MOST_TOOLS, mostTokens: maxTokens = MOST_TOKENS } = options;
  const conversationId = randomUUID();
  const tools = await choose(client, question, mostTools, dialect);
  const reader = new Reader(client, maxTokens);
  const messages: Message[] = [{ role: "user", content: question }];
  for (let step = 0; step < steps; step++) {
    const turn = await model.answer(messages, [...tools, ...reader.tools]);
    const { own, body } = reader.split(turn);
    messages.push(turn.message);
    for (const call of own) messages.push(await reader.answer(call));
    if (body === undefined) continue;
    const done = await client.callNative("openai_chat", body, {
      dialect,
      conversationId,
      textCalls: true,
      maxTokens,
      ...(waitMs !== undefined && { waitForApproval: true, timeoutMs: waitMs }),
    });
    for (const call of done.calls) tell?.(call);
    reader.note(done.calls);
    messages.push(...done.messages);
    if (own.length > 0 || done.messages.length > 0) continue;
    if (done.stopReason !== "length") return done.answer || done.text;
    messages.push({ role: "user", content: CUT_OFF });
  }
  throw new AgentError(`no answer within ${steps} steps`);
}

/** All tools when they are few, else those that fit the question, in the terms of the model host. */
async function choose(
  client: Client,
  question: string,
  most: number,
  dialect: Dialect,
): Promise<Json[]> {
  const tools = await client.listTools({ dialect });
  if (tools.length <= most) return tools.map((tool) => tool.definition);
  const hits = await client.searchTools(question.slice(0, 250), { limit: most, dialect });
  return hits.map((hit) => hit.tool.definition);
}

function whole(bytes: Buffer): Turn {
  const body = bytes.toString();
  const response = parseJson(body) as {
    choices?: { message?: Message; finish_reason?: string | null }[];
  } | null;
  const { message, finish_reason: finish = null } = response?.choices?.[0] ?? {};
  if (!message) throw new AgentError(`the model's response has no message: ${body.slice(0, 200)}`);
  return { message, body, finish };
}

interface Piece {
  index?: number | null;
  id?: string;
  function?: { name?: string; arguments?: string };
}

interface Chunk {
  choices?: {
    delta?: { content?: string | null; tool_calls?: Piece[] };
    finish_reason?: string | null;
  }[];
}

type ToolCall = { id: string; type: string; function: { name: string; arguments: string } };

/** The message whose pieces a stream brought, and why the model ended it. */
function assemble(body: Buffer): { message: Message; finish: string | null } {
  let [content, ended] = ["", false];
  let finish: string | null = null;
  const calls: ToolCall[] = [];
  for (const data of events(body)) {
    ended ||= data === "[DONE]";
    if (data === "[DONE]") continue;
    for (const choice of (JSON.parse(data) as Chunk).choices ?? []) {
      finish = choice.finish_reason ?? finish;
      content += choice.delta?.content ?? "";
      for (const piece of choice.delta?.tool_calls ?? []) join(calls, piece);
    }
  }
  if (!ended && finish === null) throw new Error("the stream broke off");
  const message: Message = { role: "assistant", content: content === "" ? null : content };
  if (calls.length > 0) message["tool_calls"] = calls;
  return { message, finish };
}

/** Adds a piece to its call. Some servers leave the index out: then a name begins a call. */
function join(calls: ToolCall[], piece: Piece): void {
  const index = piece.index ?? (piece.function?.name ? calls.length : calls.length - 1);
  const call = (calls[index] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
  call.id = piece.id || call.id;
  call.function.name += piece.function?.name ?? "";
  call.function.arguments += piece.function?.arguments ?? "";
}

function events(body: Buffer): string[] {
  return body
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim());
}

/** What the provider says, in its error shape or another. */
function refusal(status: number, body: Buffer): string {
  const text = body.toString();
  try {
    return `${status} ${(JSON.parse(text) as { error: { message: string } }).error.message}`;
  } catch {
    return `${status} ${text.slice(0, 200)}`;
  }
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number.parseFloat(response.headers.get("retry-after") ?? "");
  return Number.isNaN(seconds) ? undefined : Math.min(60, seconds) * 1000;
}

function show({ nativeName, callId, reply }: NativeCall): void {
  console.error(`${nativeName}: ${reply.error?.code ?? "ok"}, call ${callId}`);
}

const USAGE = `usage: agent.js --base-url URL --model NAME [OPTIONS] QUESTION
  --endpoint ENDPOINT  of Switchboard, default unix:/run/switchboard/switchboard.sock
  --stream             have the answers streamed
  --steps N            most messages of the model, default 8
  --wait SECONDS       for a person's approval
  --tools N            most tools to offer, default ${MOST_TOOLS}
  --tokens N           most tokens of a result at once, default ${MOST_TOKENS}
  --strict             offer them in strict mode`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      endpoint: { type: "string", default: "unix:/run/switchboard/switchboard.sock" },
      "base-url": { type: "string" },
      model: { type: "string" },
      stream: { type: "boolean", default: false },
      steps: { type: "string", default: "8" },
      wait: { type: "string" },
      strict: { type: "boolean", default: false },
      tools: { type: "string", default: String(MOST_TOOLS) },
      tokens: { type: "string", default: String(MOST_TOKENS) },
    },
  });
  const { "base-url": baseUrl, model: name, wait } = values;
  const [question] = positionals;
  if (baseUrl === undefined || name === undefined || question === undefined) {
    console.error(USAGE);
    return 2;
  }
  const key = process.env["OPENAI_API_KEY"] ?? "none";
  const model = new Model({ baseUrl, name, key, stream: values.stream });
  const client = new Client(values.endpoint);
  try {
    const waits = wait === undefined ? {} : { waitMs: Number(wait) * 1000 };
    const [steps, mostTools] = [Number(values.steps), Number(values.tools)];
    const mostTokens = Number(values.tokens);
    const dialect: Dialect = values.strict ? "openai_strict" : "openai";
    const options = { steps, mostTools, mostTokens, dialect, tell: show, ...waits };
    console.log(await run(client, model, question, options));
    return 0;
  } catch (error) {
    if (!(error instanceof AgentError || error instanceof CallFailed)) throw error;
    console.error(`agent: ${error.message}`);
    return 1;
  } finally {
    client.close();
  }
}

// Not by a top-level await, which would make every module that imports this one asynchronous.
if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  void main().then((code) => {
    process.exitCode = code;
  });
}
