-- Version 3. Numbers with all their digits; what is there keeps the digits that it has.
ALTER TABLE facets ALTER COLUMN number TYPE numeric USING number::text::numeric;
