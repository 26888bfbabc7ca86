// The reasoning of a daemon: `client.reason`.
import type { RunEvent__Output } from "../generated/switchboard/reason/v1/RunEvent.js";
import { type Client, rest } from "./client.js";
import { RPC, type RpcSettings } from "./core.js";
import { CallFailed } from "./errors.js";
import { type Json, maybeJson } from "./exact.js";
import { checkCount, checkOptions, type Names } from "./options.js";
import { Reasons } from "./proto.js";
import {
  endOf,
  eventFromWire,
  type RunEnd,
  type RunEvent,
  type RunOptions,
  runRequest,
  type RunState,
  type RunSummary,
  stateFromWire,
  summaryFromWire,
  wireStates,
} from "./reason.js";

const PAGE = 200;

/** Where a run is taken up. */
export interface ResumeSettings extends RpcSettings {
  /** The last `seq` that was seen; 0 for all. */
  after?: number;
  cancelOnDrop?: boolean;
}

export interface RunsSettings extends RpcSettings {
  states?: readonly RunState[];
  conversationId?: string;
}

/** The evidence of a run, as far as it has come. */
export interface Trace {
  runId: string;
  state: RunState;
  /** One line of JSON, as the daemon wrote it; `switchboard trace verify` checks it. */
  text: string;
  data: Json;
}

const RESUME: Names<ResumeSettings> = { ...RPC, after: true, cancelOnDrop: true };
const LIST: Names<RunsSettings> = { ...RPC, states: true, conversationId: true };

export class Reason {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Has a question answered: gives the events of the run as they come, the last of which is its end. A
   * stream that breaks, or whose daemon drains, is taken up again where it was. Leaving the loop early, the
   * signal and `timeoutMs` (none when left out) end the stream, and the run with `cancelOnDrop` only.
   */
  run(question: string, options: RunOptions = {}): AsyncGenerator<RunEvent, void> {
    const request = runRequest(question, options);
    const start = (settings: RpcSettings) => this.#client.watch(Reasons.Run, request, settings);
    return this.#follow(start, { runId: "", after: 0 }, options);
  }

  /** As `run`, but gives the end alone: an answer, or why there is none. */
  async answer(question: string, options: RunOptions = {}): Promise<RunEnd> {
    for await (const event of this.run(question, options)) {
      const end = endOf(event);
      if (end) return end;
    }
    throw new Error("the stream ended before its run");
  }

  /** The events of a run behind `after`. One that waits for a person goes on, once decided. */
  resume(runId: string, settings: ResumeSettings = {}): AsyncGenerator<RunEvent, void> {
    checkOptions("resume", settings, RESUME);
    const after = checkCount("after", settings.after, Number.MAX_SAFE_INTEGER);
    return this.#follow(undefined, { runId, after }, settings);
  }

  /** Ends a run. False when it had ended already. */
  async cancel(runId: string, settings: RpcSettings = {}): Promise<boolean> {
    checkOptions("cancel", settings, RPC);
    return (await this.#client.ask(Reasons.Cancel, () => ({ runId }), settings)).cancelled;
  }

  /** The evidence of a run, as far as it has come. */
  async trace(runId: string, settings: RpcSettings = {}): Promise<Trace> {
    checkOptions("trace", settings, RPC);
    const wire = await this.#client.ask(Reasons.GetTrace, () => ({ runId }), settings);
    const data = maybeJson(wire.traceJson);
    return { runId: wire.runId, state: stateFromWire(wire.state), text: wire.traceJson, data };
  }

  /** Those started last first; of all states when none is named. */
  async *list(settings: RunsSettings = {}): AsyncGenerator<RunSummary, void> {
    checkOptions("list", settings, LIST);
    const { states = [], conversationId = "", ...more } = settings;
    for (let pageToken = ""; ; ) {
      const request = { states: wireStates(states), conversationId, pageSize: PAGE, pageToken };
      const page = await this.#client.ask(Reasons.ListRuns, () => request, more);
      yield* page.runs.map(summaryFromWire);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  }

  async *#follow(
    start: ((settings: RpcSettings) => AsyncIterable<RunEvent__Output>) | undefined,
    place: { runId: string; after: number },
    options: RpcSettings & { cancelOnDrop?: boolean },
  ): AsyncGenerator<RunEvent, void> {
    const end = Date.now() + (options.timeoutMs ?? Infinity);
    const { cancelOnDrop = false, signal } = options;
    for (let attempt = 1; ; attempt++) {
      const left = { timeoutMs: end - Date.now(), ...(signal ? { signal } : {}) };
      const stream =
        start && place.runId === ""
          ? start(left)
          : this.#client.watch(Reasons.Resume, { ...place, cancelOnDrop }, left);
      try {
        for await (const wire of stream) {
          [attempt, place] = [1, { runId: wire.runId, after: wire.seq }];
          const event = eventFromWire(wire);
          if (event) yield event;
        }
        return;
      } catch (error) {
        // A run that may have been started is not started again.
        const again = place.runId === "" ? "refused" : "always";
        const pause =
          error instanceof CallFailed
            ? this.#client.pause(error, attempt, end, again)
            : undefined;
        if (pause === undefined) throw error;
        await rest(pause, signal);
      }
    }
  }
}
