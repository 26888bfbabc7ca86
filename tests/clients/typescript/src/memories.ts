// The memory of a daemon: `client.memory`.
import { type Client } from "./client.js";
import { type Again, RPC, type RpcSettings } from "./core.js";
import {
  type Assembled,
  assembledFromWire,
  type Consolidated,
  consolidatedFromWire,
  type Decided,
  type Explained,
  explainedFromWire,
  type MemoryStats,
  type Recalled,
  recalledFromWire,
  type Receipt,
  receiptFromWire,
  type Review,
  reviewFromWire,
  statsFromWire,
  type Unit,
  unitFromWire,
  type UnitState,
  type Written,
  writtenFromWire,
} from "./evidence.js";
import {
  ASKING,
  type Asking,
  type Draft,
  type Filter,
  type Kind,
  type Picture,
  type Spot,
  type When,
  wireDraft,
  wireFilter,
  wireKind,
  wirePictures,
  wireQuestion,
  wireSpot,
  wireTime,
  word,
} from "./memory.js";
import { checkCount, checkOptions, type Names } from "./options.js";
import { Memories } from "./proto.js";

const PAGE = 500;

export interface RememberSettings extends RpcSettings {
  pictures?: readonly Picture[];
  /** The receipt comes once the unit is found, not only durable. */
  wait?: boolean;
}

export interface RecallSettings extends Asking {
  /** Ids of receipts whose writes the question waits for. */
  after?: readonly string[];
}

export interface ContextSettings extends RecallSettings {
  /** Tokens of the whole; 8,000 when left out. */
  budget?: number;
  instructions?: string;
  tools?: readonly string[];
  turns?: readonly string[];
  results?: readonly string[];
}

/** Which units are listed; all that hold now without any. */
export interface Listing extends RpcSettings {
  collections?: readonly string[];
  kinds?: readonly Kind[];
  filters?: readonly Filter[];
  spot?: Spot;
  asOf?: When;
  knownAt?: When;
  timeZone?: string;
  held?: boolean;
  archived?: boolean;
}

/** A draft, or one with its pictures. */
export type Ready = Draft | { draft: Draft; pictures: readonly Picture[] };

const REMEMBER: Names<RememberSettings> = { ...RPC, pictures: true, wait: true };
const RECEIPT: Names<RpcSettings & { waitMs?: number }> = { ...RPC, waitMs: true };
const RECALL: Names<RecallSettings> = { ...ASKING, after: true };
const CONTEXT: Names<ContextSettings> = {
  ...RECALL,
  budget: true,
  instructions: true,
  tools: true,
  turns: true,
  results: true,
};
const LISTING: Names<Listing> = {
  ...RPC,
  collections: true,
  kinds: true,
  filters: true,
  spot: true,
  asOf: true,
  knownAt: true,
  timeZone: true,
  held: true,
  archived: true,
};
const FORGET: Names<RpcSettings & { erase?: boolean }> = { ...RPC, erase: true };
const REVIEWS: Names<RpcSettings & { collections?: readonly string[] }> = { ...RPC, collections: true };
const APPROVE: Names<RpcSettings & { keepBoth?: boolean }> = { ...RPC, keepBoth: true };
const EXPLAIN: Names<Asking & { unitId?: string }> = { ...ASKING, unitId: true };
const UPKEEP: Names<RpcSettings & { collections?: readonly string[]; apply?: boolean }> = {
  ...REVIEWS,
  apply: true,
};
const RUNS: Names<RpcSettings & { limit?: number }> = { ...RPC, limit: true };

export class Memory {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Writes one unit. The receipt comes once it is durable; with `wait` once it is found. */
  async remember(draft: Draft, settings: RememberSettings = {}): Promise<Receipt> {
    checkOptions("remember", settings, REMEMBER);
    const request = {
      draft: wireDraft(draft),
      images: wirePictures(settings.pictures ?? []),
      wait: settings.wait ?? false,
    };
    // Without a time at its source, a draft that is sent again could overtake a newer one.
    const again = draft.sourceTime ? "always" : "refused";
    return receiptFromWire(
      await this.#client.ask(Memories.Remember, () => request, settings, again),
    );
  }

  /**
   * Writes units as they come, and gives what became of each, in their order. One that is refused does
   * not end it. Never sent again by itself: the same drafts can be, what is there already costs next to
   * nothing.
   */
  async *rememberMany(
    drafts: Iterable<Ready> | AsyncIterable<Ready>,
    settings: RpcSettings = {},
  ): AsyncGenerator<Written, void> {
    checkOptions("rememberMany", settings, RPC);
    async function* requests() {
      for await (const ready of drafts) {
        const { draft, pictures } = "draft" in ready ? ready : { draft: ready, pictures: [] };
        yield { draft: wireDraft(draft), images: wirePictures(pictures) };
      }
    }
    const ends = { timeoutMs: Infinity, ...settings };
    for await (const answer of this.#client.exchange(Memories.RememberMany, requests(), ends)) {
      yield* answer.written.map(writtenFromWire);
    }
  }

  /** What became of a write; waits so long, at most 60 s, for its last stage. */
  async receipt(
    receiptId: string,
    settings: RpcSettings & { waitMs?: number } = {},
  ): Promise<Receipt> {
    checkOptions("receipt", settings, RECEIPT);
    const request = { receiptId, waitMs: checkCount("waitMs", settings.waitMs) };
    return receiptFromWire(await this.#client.ask(Memories.GetReceipt, () => request, settings));
  }

  /** Finds evidence, best first. */
  async recall(text: string, settings: RecallSettings = {}): Promise<Recalled> {
    checkOptions("a question", settings, RECALL);
    const question = wireQuestion(text, settings);
    const request = { question, afterReceipts: [...(settings.after ?? [])] };
    return recalledFromWire(await this.#client.ask(Memories.Recall, () => request, settings));
  }

  /** A model's context within a budget of tokens: what it is told, its work, and what is recalled. */
  async context(text: string, settings: ContextSettings = {}): Promise<Assembled> {
    checkOptions("a context", settings, CONTEXT);
    const request = {
      question: wireQuestion(text, settings),
      budgetTokens: checkCount("budget", settings.budget),
      instructions: settings.instructions ?? "",
      tools: [...(settings.tools ?? [])],
      turns: [...(settings.turns ?? [])],
      results: [...(settings.results ?? [])],
      afterReceipts: [...(settings.after ?? [])],
    };
    return assembledFromWire(await this.#client.ask(Memories.Context, () => request, settings));
  }

  /** A unit by its id, or exactly one version by its evidence id. */
  async get(id: string, settings: RpcSettings = {}): Promise<Unit> {
    checkOptions("get", settings, RPC);
    const { unit } = await this.#client.ask(Memories.Get, () => ({ id }), settings);
    if (!unit) throw new TypeError("the response has no unit");
    return unitFromWire(unit);
  }

  /** All versions of a unit, newest first. */
  async history(id: string, settings: RpcSettings = {}): Promise<Unit[]> {
    checkOptions("history", settings, RPC);
    const request = { id, history: true };
    const { history } = await this.#client.ask(Memories.Get, () => request, settings);
    return history.map(unitFromWire);
  }

  /** Units, those recorded last first. */
  async *list(listing: Listing = {}): AsyncGenerator<Unit, void> {
    checkOptions("a list", listing, LISTING);
    for (let pageToken = ""; ; ) {
      const request = {
        collections: [...(listing.collections ?? [])],
        kinds: (listing.kinds ?? []).map(wireKind),
        filters: (listing.filters ?? []).map(wireFilter),
        asOf: wireTime(listing.asOf),
        knownAt: wireTime(listing.knownAt),
        timeZone: listing.timeZone ?? "",
        held: listing.held ?? false,
        archived: listing.archived ?? false,
        pageSize: PAGE,
        pageToken,
        ...(listing.spot ? { spot: wireSpot(listing.spot) } : {}),
      };
      const page = await this.#client.ask(Memories.List, () => request, listing);
      yield* page.units.map(unitFromWire);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  }

  /**
   * Hides a unit, by its id or its source, or erases it with its history for ever; gives the number of
   * versions.
   */
  async forget(
    which: string | Pick<Draft, "collection" | "source" | "sourceId">,
    settings: RpcSettings & { erase?: boolean } = {},
  ): Promise<number> {
    checkOptions("forget", settings, FORGET);
    const erase = settings.erase ?? false;
    const request =
      typeof which === "string" ? { unitId: which, erase } : { source: { ...which }, erase };
    return (await this.#client.ask(Memories.Forget, () => request, settings, "refused")).versions;
  }

  /** What waits for a reviewer; of all collections when none is named. */
  async *reviews(
    settings: RpcSettings & { collections?: readonly string[] } = {},
  ): AsyncGenerator<Review, void> {
    checkOptions("reviews", settings, REVIEWS);
    const collections = [...(settings.collections ?? [])];
    for (let pageToken = ""; ; ) {
      const request = { collections, pageSize: PAGE, pageToken };
      const page = await this.#client.ask(Memories.ListReviews, () => request, settings);
      yield* page.reviews.map(reviewFromWire);
      pageToken = page.nextPageToken;
      if (pageToken === "") return;
    }
  }

  /**
   * Agrees that a version is used. What it contradicts ends where it begins to hold, unless both are
   * kept.
   */
  async approve(
    evidenceId: string,
    reason: string,
    settings: RpcSettings & { keepBoth?: boolean } = {},
  ): Promise<Decided> {
    checkOptions("approve", settings, APPROVE);
    const manner = settings.keepBoth ? "MANNER_KEEP_BOTH" : "MANNER_UNSPECIFIED";
    return this.#decide({ evidenceId, reason, decision: "DECISION_APPROVE", manner }, settings);
  }

  async reject(evidenceId: string, reason: string, settings: RpcSettings = {}): Promise<Decided> {
    checkOptions("reject", settings, RPC);
    return this.#decide({ evidenceId, reason, decision: "DECISION_REJECT" }, settings);
  }

  /** How an answer comes about, and why a unit is or is not in it. */
  async explain(text: string, settings: Asking & { unitId?: string } = {}): Promise<Explained> {
    checkOptions("a question", settings, EXPLAIN);
    const request = { question: wireQuestion(text, settings), unitId: settings.unitId ?? "" };
    return explainedFromWire(await this.#client.ask(Memories.Explain, () => request, settings));
  }

  /** Tells what upkeep would do; with `apply` does it. */
  async consolidate(
    settings: RpcSettings & { collections?: readonly string[]; apply?: boolean } = {},
  ): Promise<Consolidated> {
    checkOptions("consolidate", settings, UPKEEP);
    const collections = [...(settings.collections ?? [])];
    const action = settings.apply ? { apply: {} } : { dryRun: {} };
    return this.#upkeep({ ...action, collections }, settings, settings.apply ? "refused" : "always");
  }

  /** Puts back what a run of upkeep changed; gives the number of versions. */
  async undo(runId: string, settings: RpcSettings = {}): Promise<number> {
    checkOptions("undo", settings, RPC);
    return (await this.#upkeep({ undo: runId }, settings, "refused")).undone;
  }

  /** The runs of upkeep that there were, newest first. */
  runs(settings: RpcSettings & { limit?: number } = {}): Promise<Consolidated> {
    checkOptions("runs", settings, RUNS);
    return this.#upkeep({ runs: { limit: checkCount("limit", settings.limit) } }, settings, "always");
  }

  async stats(settings: RpcSettings = {}): Promise<MemoryStats> {
    checkOptions("stats", settings, RPC);
    return statsFromWire(await this.#client.ask(Memories.Stats, () => ({}), settings));
  }

  async #decide(
    request: Parameters<typeof Memories.DecideReview.requestSerialize>[0],
    settings: RpcSettings,
  ): Promise<Decided> {
    const done = await this.#client.ask(Memories.DecideReview, () => request, settings, "refused");
    return { state: word(done.state, "STATE_") as UnitState, missing: done.missing };
  }

  async #upkeep(
    request: Parameters<typeof Memories.Consolidate.requestSerialize>[0],
    settings: RpcSettings,
    again: Again,
  ): Promise<Consolidated> {
    return consolidatedFromWire(
      await this.#client.ask(Memories.Consolidate, () => request, settings, again),
    );
  }
}
