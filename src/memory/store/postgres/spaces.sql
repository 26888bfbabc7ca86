-- Version 2. What a realm's chunks and their length are by owner, for those who may know of one owner's only.
CREATE TABLE spaces (
    realm int NOT NULL,
    owner text COLLATE "C" NOT NULL,
    chunks bigint NOT NULL,
    length bigint NOT NULL,
    PRIMARY KEY (realm, owner)
);
INSERT INTO spaces SELECT v.realm, v.owner, count(*), sum(p.length)
    FROM (SELECT DISTINCT realm, seq, ordinal, length FROM postings) p
    JOIN versions v ON v.seq = p.seq GROUP BY v.realm, v.owner;
