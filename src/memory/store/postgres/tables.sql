-- Version 1. Instants that are compared are microseconds since 1970; the greatest bigint is "never", the
-- least "since ever". Text is compared by code points.
CREATE TABLE meta (version int NOT NULL, recorded bigint NOT NULL);
INSERT INTO meta VALUES (0, 0);
-- Numbers of daemons are second keys of advisory locks; those below are of other locks.
CREATE SEQUENCE daemons AS int MINVALUE 1000 CYCLE;
CREATE SEQUENCE seqs AS bigint;

-- A collection of a tenant; chunks and their length over all its versions, for BM25.
CREATE TABLE realms (
    id serial PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,
    UNIQUE (tenant, collection)
);

-- A write and its receipt in one row; the body is gone once it is settled.
CREATE TABLE writes (
    id bigserial PRIMARY KEY,
    receipt text COLLATE "C" NOT NULL UNIQUE,
    tenant text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    source text NOT NULL,
    body text,
    claimed int,
    stage text NOT NULL,
    unit text COLLATE "C",
    seq bigint,
    made bigint,
    remarks text NOT NULL,
    arrived text NOT NULL,
    changed text NOT NULL
);
CREATE INDEX writes_waiting ON writes (id) WHERE body IS NOT NULL;
CREATE INDEX writes_claimed ON writes (tenant, collection)
    WHERE body IS NOT NULL AND claimed IS NOT NULL;

CREATE TABLE versions (
    seq bigint PRIMARY KEY,
    realm int NOT NULL,
    unit text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    series text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    valid_from bigint NOT NULL,
    valid_to bigint NOT NULL,
    recorded bigint NOT NULL,
    ended bigint NOT NULL,
    digest text COLLATE "C" NOT NULL,
    ending text,
    remarks text NOT NULL,
    conflicts text NOT NULL,
    body text NOT NULL
);
CREATE INDEX versions_realm ON versions (realm, seq);
CREATE INDEX versions_unit ON versions (unit);
CREATE INDEX versions_source ON versions (realm, md5(source_id));
CREATE INDEX versions_digest ON versions (realm, digest);
CREATE INDEX versions_series ON versions (realm, md5(series), position, seq) WHERE series <> '';

-- Metadata as filters compare it: a row a value, a row a member of a list; what has no value that can be
-- compared has a row all the same.
CREATE TABLE facets (
    seq bigint NOT NULL,
    realm int NOT NULL,
    field text COLLATE "C" NOT NULL,
    listed boolean NOT NULL,
    word text COLLATE "C",
    number double precision,
    instant numeric,
    truth boolean
);
CREATE INDEX facets_seq ON facets (seq);
CREATE INDEX facets_word ON facets (realm, field, left(word, 100)) WHERE word IS NOT NULL;
CREATE INDEX facets_number ON facets (realm, field, number) WHERE number IS NOT NULL;
CREATE INDEX facets_instant ON facets (realm, field, instant) WHERE instant IS NOT NULL;

CREATE TABLE triggers (
    seq bigint NOT NULL,
    realm int NOT NULL,
    terms text[] COLLATE "C" NOT NULL,
    whole text COLLATE "C" NOT NULL
);
CREATE INDEX triggers_seq ON triggers (seq);
CREATE INDEX triggers_first ON triggers (realm, (terms[1]));
CREATE INDEX triggers_whole ON triggers (realm, md5(whole));

CREATE TABLE entities (
    seq bigint NOT NULL,
    realm int NOT NULL,
    kind text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL
);
CREATE INDEX entities_seq ON entities (seq);
CREATE INDEX entities_value ON entities (realm, left(value, 100));

CREATE TABLE facts (
    seq bigint NOT NULL,
    realm int NOT NULL,
    entity text COLLATE "C" NOT NULL,
    attribute text COLLATE "C" NOT NULL
);
CREATE INDEX facts_seq ON facts (seq);
CREATE INDEX facts_entity ON facts (realm, left(entity, 100));

CREATE TABLE chunks (
    seq bigint NOT NULL,
    ordinal int NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (seq, ordinal)
);

-- Full text: how often a term stands in a chunk of so many terms.
CREATE TABLE postings (
    realm int NOT NULL,
    term text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    ordinal int NOT NULL,
    times int NOT NULL,
    length int NOT NULL,
    PRIMARY KEY (realm, term, seq, ordinal) INCLUDE (times, length)
);

-- What a model's vectors are of: text or image.
CREATE TABLE models (
    id serial PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    what text NOT NULL,
    dimensions int NOT NULL,
    UNIQUE (name, what)
);
-- A part a model, with an index of its own.
CREATE TABLE vectors (
    model int NOT NULL,
    seq bigint NOT NULL,
    ordinal int NOT NULL,
    vector vector NOT NULL,
    PRIMARY KEY (model, seq, ordinal)
) PARTITION BY LIST (model);
CREATE TABLE pictures (
    seq bigint NOT NULL,
    model int NOT NULL,
    vector vector NOT NULL
);
CREATE INDEX pictures_model ON pictures (model, seq);

CREATE TABLE places (
    seq bigint PRIMARY KEY,
    realm int NOT NULL,
    kind text COLLATE "C" NOT NULL,
    latitude double precision NOT NULL,
    longitude double precision NOT NULL
);
CREATE INDEX places_point ON places USING gist (point(longitude, latitude));

CREATE TABLE uses (
    seq bigint PRIMARY KEY,
    used bigint,
    uses bigint NOT NULL,
    said bigint
);
CREATE TABLE votes (
    seq bigint NOT NULL,
    voter text COLLATE "C" NOT NULL,
    approve boolean NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (seq, voter)
);
CREATE TABLE runs (
    id text COLLATE "C" PRIMARY KEY,
    number bigserial NOT NULL,
    began bigint NOT NULL,
    summary text NOT NULL,
    changed bigint NOT NULL,
    undone boolean NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    collections text[] COLLATE "C" NOT NULL
);
-- What a version was before a run's first change of it, and after its last.
CREATE TABLE journal (
    run text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    before text NOT NULL,
    after text NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE INDEX journal_seq ON journal (seq);
