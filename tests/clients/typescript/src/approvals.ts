// The calls that wait for a person, as far as this caller may see them.
import type { Approval__Output } from "../generated/switchboard/policy/v1/Approval.js";
import type { State as WireState } from "../generated/switchboard/policy/v1/State.js";
import { type Client, rest } from "./client.js";
import { RPC, type RpcSettings } from "./core.js";
import { CallFailed } from "./errors.js";
import { type Json, maybeJson } from "./exact.js";
import { checkChoice, checkOptions } from "./options.js";
import { Policies } from "./proto.js";

const STATES = ["pending", "approved", "denied", "expired", "used", "unspecified"] as const;
export type State = (typeof STATES)[number];

/** Holds for exactly one call, once, and until it expires. */
export interface Approval {
  id: string;
  state: State;
  revision: number;
  callId: string;
  caller: string;
  tenant: string;
  roles: string[];
  conversationId: string;
  tool: string;
  risk: string;
  /** As they will run, but for what is masked; null once the approval is settled. */
  arguments: Json;
  asked: Date;
  decideBy: Date;
  decidedBy: string;
  reason: string;
  useBy: Date | undefined;
  /** Whether the one who asks may decide it now. */
  decidable: boolean;
}

export class Approvals {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Newest first; of all states when none is named. */
  async list(states: readonly State[] = [], settings: RpcSettings = {}): Promise<Approval[]> {
    checkOptions("list", settings, RPC);
    const found: Approval[] = [];
    for (let pageToken = ""; ; ) {
      const request = { states: states.map(wireState), pageSize: 1000, pageToken };
      const page = await this.#client.ask(Policies.ListApprovals, () => request, settings);
      found.push(...page.approvals.map(fromWire));
      pageToken = page.nextPageToken;
      if (pageToken === "") return found;
    }
  }

  async get(approvalId: string, settings: RpcSettings = {}): Promise<Approval> {
    checkOptions("get", settings, RPC);
    return fromWire(await this.#client.ask(Policies.GetApproval, () => ({ approvalId }), settings));
  }

  approve(approvalId: string, reason = "", settings: RpcSettings = {}): Promise<Approval> {
    return this.#decide(approvalId, "DECISION_APPROVE", reason, settings);
  }

  deny(approvalId: string, reason = "", settings: RpcSettings = {}): Promise<Approval> {
    return this.#decide(approvalId, "DECISION_DENY", reason, settings);
  }

  /**
   * Every approval that changed after this revision and each that changes from now on. Goes on when
   * the daemon ends the stream or restarts; ends with the loop, the signal, or `timeoutMs`.
   */
  async *watch(
    states: readonly State[] = [],
    afterRevision = 0,
    settings: RpcSettings = {},
  ): AsyncGenerator<Approval, void> {
    checkOptions("watch", settings, RPC);
    const end = Date.now() + (settings.timeoutMs ?? Infinity);
    for (let attempt = 1; ; attempt++) {
      const request = { states: states.map(wireState), afterRevision };
      const left = { ...settings, timeoutMs: end - Date.now() };
      try {
        for await (const wire of this.#client.watch(Policies.WatchApprovals, request, left)) {
          [attempt, afterRevision] = [1, wire.revision];
          yield fromWire(wire);
        }
        return;
      } catch (error) {
        const pause =
          error instanceof CallFailed
            ? this.#client.pause(error, attempt, end, "always")
            : undefined;
        if (pause === undefined) throw error;
        await rest(pause, settings.signal);
      }
    }
  }

  async #decide(
    approvalId: string,
    decision: "DECISION_APPROVE" | "DECISION_DENY",
    reason: string,
    settings: RpcSettings,
  ): Promise<Approval> {
    checkOptions("a decision", settings, RPC);
    const request = { approvalId, decision, reason };
    // After a broken connection it may have been decided already.
    return fromWire(
      await this.#client.ask(Policies.DecideApproval, () => request, settings, "refused"),
    );
  }
}

function wireState(state: State): WireState {
  return `STATE_${checkChoice("states", state, STATES).toUpperCase()}` as WireState;
}

function fromWire(wire: Approval__Output): Approval {
  return {
    id: wire.id,
    state: wire.state.replace("STATE_", "").toLowerCase() as State,
    revision: wire.revision,
    callId: wire.callId,
    caller: wire.caller,
    tenant: wire.tenant,
    roles: wire.roles,
    conversationId: wire.conversationId,
    tool: wire.toolName,
    risk: wire.risk,
    arguments: maybeJson(wire.argumentsJson),
    asked: new Date(wire.askedMs),
    decideBy: new Date(wire.decideByMs),
    decidedBy: wire.decidedBy,
    reason: wire.reason,
    useBy: wire.useByMs === 0 ? undefined : new Date(wire.useByMs),
    decidable: wire.decidable,
  };
}
