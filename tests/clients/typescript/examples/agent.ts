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

import { CallFailed, Client, type Dialect, type Json, type NativeCall, parseJson, renderJson } from "../src/index.js";

// Providers take 128 tools; models choose worse long before that.
const MOST_TOOLS = 32;
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
        if (response.ok) return stream ? { message: assemble(body), body } : whole(body);
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

export interface RunOptions {
  /** Most messages of the model; 8 when left out. */
  steps?: number;
  /** Milliseconds to wait for a person who approves the calls of a message; without it the model is
   * told that somebody has to. */
  waitMs?: number;
  /** Most tools that the model is offered; those that fit the question when there are more. */
  mostTools?: number;
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
  const { steps = 8, waitMs, mostTools = MOST_TOOLS, dialect = "openai", tell } = options;
  const conversationId = randomUUID();
  const tools = await choose(client, question, mostTools, dialect);
  const messages: Message[] = [{ role: "user", content: question }];
  for (let step = 0; step < steps; step++) {
    const { message, body } = await model.answer(messages, tools);
    const done = await client.callNative("openai_chat", body, {
      dialect,
      conversationId,
      textCalls: true,
      ...(waitMs !== undefined && { waitForApproval: true, timeoutMs: waitMs }),
    });
    for (const call of done.calls) tell?.(call);
    messages.push(message, ...done.messages);
    if (done.messages.length > 0) continue;
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
  const response = parseJson(body) as { choices?: { message?: Message }[] } | null;
  const message = response?.choices?.[0]?.message;
  if (!message) throw new AgentError(`the model's response has no message: ${body.slice(0, 200)}`);
  return { message, body };
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

/** The message whose pieces a stream brought. */
function assemble(body: Buffer): Message {
  let [content, ended] = ["", false];
  const calls: ToolCall[] = [];
  for (const data of events(body)) {
    ended ||= data === "[DONE]";
    if (data === "[DONE]") continue;
    for (const choice of (JSON.parse(data) as Chunk).choices ?? []) {
      ended ||= typeof choice.finish_reason === "string";
      content += choice.delta?.content ?? "";
      for (const piece of choice.delta?.tool_calls ?? []) join(calls, piece);
    }
  }
  if (!ended) throw new Error("the stream broke off");
  const message: Message = { role: "assistant", content: content === "" ? null : content };
  if (calls.length > 0) message["tool_calls"] = calls;
  return message;
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
    const dialect: Dialect = values.strict ? "openai_strict" : "openai";
    const options = { steps, mostTools, dialect, tell: show, ...waits };
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
