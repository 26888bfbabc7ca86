-- Version 2. Models of image vectors are each tenant's own; those of text belong to no tenant.
ALTER TABLE models ADD COLUMN tenant text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE models DROP CONSTRAINT models_name_what_key;
ALTER TABLE models ADD CONSTRAINT models_tenant_what_name UNIQUE (tenant, what, name);
INSERT INTO models (tenant, name, what, dimensions)
    SELECT DISTINCT r.tenant, m.name, m.what, m.dimensions FROM pictures p
    JOIN models m ON m.id = p.model JOIN versions v ON v.seq = p.seq JOIN realms r ON r.id = v.realm
    ON CONFLICT DO NOTHING;
UPDATE pictures p SET model = n.id FROM versions v, realms r, models m, models n
    WHERE v.seq = p.seq AND r.id = v.realm AND m.id = p.model AND n.tenant = r.tenant
    AND n.what = m.what AND n.name = m.name;
DELETE FROM models m WHERE what = 'image' AND NOT EXISTS (SELECT FROM pictures p WHERE p.model = m.id);

-- When upkeep of the whole memory was last done.
ALTER TABLE meta ADD COLUMN tended bigint;
CREATE INDEX versions_ended ON versions (ended) WHERE ended < 9223372036854775807;
CREATE INDEX writes_unit ON writes (unit) WHERE unit IS NOT NULL;
