//! Models of vectors, each with its number and length, a part of the table of its own and an index on
//! it; vectors that are added later, and those of models that are no longer used.

use std::collections::HashMap;

use deadpool_postgres::Transaction;

use super::query::Query;
use super::row::{FOREVER, give, keep};
use super::sheet::vector;
use super::{Error, Link};
use crate::memory::store::{Bare, IMAGE_MODELS};

/// What a model's vectors are of: a chunk's text.
pub(super) const TEXT: &str = "text";
/// An image.
pub(super) const IMAGE: &str = "image";

/// Dimensions up to which pgvector indexes half-precision vectors; longer ones are compared one by one.
pub(super) const INDEXED: usize = 4000;
/// Dimensions of a vector, at most, as pgvector has it.
const MOST: usize = 16_000;

/// Keeps vectors from being added to chunks that are erased at that moment.
const ADDING: &str = "SELECT pg_advisory_xact_lock_shared(hashtext($1), 1)";

/// What a model's vectors are of, whose it is, and its name. Models of text are nobody's.
pub(super) type Key = (&'static str, String, String);

/// A model of text.
pub(super) fn text(name: &str) -> Key {
    (TEXT, String::new(), name.to_owned())
}

/// A tenant's model of images.
pub(super) fn image(tenant: &str, name: &str) -> Key {
    (IMAGE, tenant.to_owned(), name.to_owned())
}

/// Numbers of models.
#[derive(Debug, Default)]
pub(super) struct Models {
    known: HashMap<Key, i32>,
}

impl Models {
    /// Looks up models and makes those that are new; refuses vectors of another length.
    pub(super) async fn make(
        link: &Link,
        wanted: impl Iterator<Item = (Key, usize)>,
    ) -> Result<Self, Error> {
        let mut models = Self::default();
        let mut lengths: HashMap<Key, usize> = HashMap::new();
        for (key, given) in wanted {
            let model = key.2.clone();
            let expected = *lengths.entry(key).or_insert(given);
            if expected != given || given == 0 || given > MOST {
                return Err(Error::Dimensions { model, expected, given });
            }
        }
        for (key, given) in lengths {
            let (number, expected) = match find(link, &key).await? {
                Some(found) => found,
                None => add(link, &key, given).await?,
            };
            if expected != given {
                return Err(Error::Dimensions { model: key.2, expected, given });
            }
            models.known.insert(key, number);
        }
        Ok(models)
    }

    /// The number of a model.
    pub(super) fn number(&self, key: &Key) -> Result<i32, Error> {
        let missing = || Error::Engine(format!("the model `{}` is not known", key.2));
        self.known.get(key).copied().ok_or_else(missing)
    }

    /// Sees that those of images are still there, where nobody else can remove one until the end.
    pub(super) async fn check(&self, step: &Transaction<'_>) -> Result<(), Error> {
        let images = self.known.iter().filter(|((what, ..), _)| *what == IMAGE);
        let numbers: Vec<i32> = images.map(|(_, number)| *number).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let statement =
            step.prepare_cached("SELECT count(*) FROM models WHERE id = ANY($1)").await?;
        let there: i64 = step.query_one(&statement, &[&numbers]).await?.try_get(0)?;
        if usize::try_from(there).is_ok_and(|there| there == numbers.len()) {
            return Ok(());
        }
        Err(Error::Engine("a model is removed at this moment".to_owned()))
    }
}

/// Number and dimensions of a model that has vectors here.
pub(super) async fn find(link: &Link, key: &Key) -> Result<Option<(i32, usize)>, Error> {
    let client = link.client().await?;
    find_on(&client, key).await
}

/// The same, on a connection that is there.
pub(super) async fn find_on(
    client: &deadpool_postgres::Object,
    (what, tenant, name): &Key,
) -> Result<Option<(i32, usize)>, Error> {
    let statement = client
        .prepare_cached(
            "SELECT id, dimensions FROM models WHERE what = $1 AND tenant = $2 AND name = $3",
        )
        .await?;
    let found = client.query_opt(&statement, &[what, &keep(tenant), &keep(name)]).await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let dimensions = usize::try_from(row.try_get::<_, i32>(1)?).unwrap_or_default();
    Ok(Some((row.try_get(0)?, dimensions)))
}

async fn add(link: &Link, key: &Key, dimensions: usize) -> Result<(i32, usize), Error> {
    let (what, tenant, name) = key;
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    if *what == IMAGE {
        make_room(&step, tenant, name).await?;
    }
    step.execute("SELECT pg_advisory_xact_lock(hashtext($1), 2)", &[&link.schema()]).await?;
    let size = i32::try_from(dimensions).unwrap_or(i32::MAX);
    let made = "INSERT INTO models (what, tenant, name, dimensions) VALUES ($1, $2, $3, $4) \
                ON CONFLICT (tenant, what, name) DO NOTHING RETURNING id";
    let made = step.query_opt(made, &[what, &keep(tenant), &keep(name), &size]).await?;
    let Some(row) = made else {
        // Another daemon was faster.
        drop(step);
        drop(client);
        return find(link, key)
            .await?
            .ok_or_else(|| Error::Engine(format!("the model `{name}` is removed at this moment")));
    };
    let id: i32 = row.try_get(0)?;
    if *what == TEXT {
        let part = format!("CREATE TABLE vectors_{id} PARTITION OF vectors FOR VALUES IN ({id})");
        step.batch_execute(&part).await?;
        if dimensions <= INDEXED {
            // Half precision to walk by, at half the size; what is found is compared in full.
            let index = format!(
                "CREATE INDEX ON vectors_{id} USING hnsw ((vector::halfvec({dimensions})) \
                 halfvec_cosine_ops) WITH (m = 24, ef_construction = 128)"
            );
            step.batch_execute(&index).await?;
        }
    }
    step.commit().await?;
    Ok((id, dimensions))
}

/// Refuses one more model of images than a tenant can have, those left out that have no image any
/// more. Nobody stores one meanwhile.
async fn make_room(step: &Transaction<'_>, tenant: &str, model: &str) -> Result<(), Error> {
    step.execute("UPDATE meta SET recorded = recorded", &[]).await?;
    let asked = "SELECT count(*) FROM models WHERE what = 'image' AND tenant = $1";
    let full = async || -> Result<bool, Error> {
        let count: i64 = step.query_one(asked, &[&keep(tenant)]).await?.try_get(0)?;
        Ok(count >= IMAGE_MODELS)
    };
    if !full().await? {
        return Ok(());
    }
    forget_images(step, tenant).await?;
    if full().await? {
        return Err(Error::Models { model: model.to_owned(), most: IMAGE_MODELS });
    }
    Ok(())
}

/// Removes a tenant's models that have no image any more. Nobody stores one meanwhile.
pub(super) async fn forget_images(step: &Transaction<'_>, tenant: &str) -> Result<(), Error> {
    let gone = "DELETE FROM models m WHERE what = 'image' AND tenant = $1 \
                AND NOT EXISTS (SELECT FROM pictures p WHERE p.model = m.id)";
    step.execute(gone, &[&keep(tenant)]).await?;
    Ok(())
}

/// Chunks of versions that have not ended without a vector of this model, oldest first; but those of
/// the collections `without` vectors.
pub(super) async fn bare(
    link: &Link,
    (model, without): (&str, &[String]),
    limit: usize,
) -> Result<Vec<Bare>, Error> {
    let number = find(link, &text(model)).await?.map_or(-1, |(number, _)| number);
    let client = link.client().await?;
    let statement = client
        .prepare_cached(&format!(
            "SELECT c.seq, c.ordinal, c.body FROM chunks c JOIN versions v ON v.seq = c.seq \
             JOIN realms r ON r.id = v.realm WHERE r.collection <> ALL($4) AND c.seq >= $3 AND v.ended = {FOREVER} AND NOT EXISTS (SELECT FROM vectors x \
             WHERE x.model = $1 AND x.seq = c.seq AND x.ordinal = c.ordinal) \
             AND NOT EXISTS (SELECT FROM unnest($5::bigint[], $6::int[]) AS p(seq, ordinal) \
             WHERE p.seq = c.seq AND p.ordinal = c.ordinal) \
             ORDER BY c.seq, c.ordinal LIMIT $2"
        ))
        .await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // All before the last answer's first have vectors, but for what was opened again since.
    let from = link.first_bare(model);
    let (seqs, ordinals): (Vec<i64>, Vec<i32>) = link.passed(model).into_iter().unzip();
    let ask = async |from: i64| {
        client.query(&statement, &[&number, &limit, &from, &without, &seqs, &ordinals]).await
    };
    let mut rows = ask(from).await?;
    if rows.is_empty() && from > 0 {
        rows = ask(0).await?;
    }
    let read = |row: &tokio_postgres::Row| {
        let ordinal = u32::try_from(row.try_get::<_, i32>(1)?).unwrap_or_default();
        Ok(Bare { seq: row.try_get(0)?, ordinal, text: give(row.try_get(2)?) })
    };
    let found = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    link.set_first_bare(model, found.first().map_or(0, |bare| bare.seq));
    Ok(found)
}

/// How many chunks of versions that have not ended have no vector of this model, by tenant.
pub(super) async fn count_bare(
    link: &Link,
    model: &str,
    without: &[String],
) -> Result<Vec<(String, u64)>, Error> {
    let number = find(link, &text(model)).await?.map_or(-1, |(number, _)| number);
    let client = link.client().await?;
    let statement = client
        .prepare_cached(&format!(
            "SELECT r.tenant, count(*) FROM chunks c JOIN versions v ON v.seq = c.seq \
             JOIN realms r ON r.id = v.realm WHERE r.collection <> ALL($2) AND v.ended = {FOREVER} \
             AND NOT EXISTS (SELECT FROM vectors x WHERE x.model = $1 AND x.seq = c.seq \
             AND x.ordinal = c.ordinal) GROUP BY r.tenant"
        ))
        .await?;
    let rows = client.query(&statement, &[&number, &without]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok((give(row.try_get(0)?), row.try_get::<_, i64>(1)?.cast_unsigned()))
    };
    rows.iter().map(read).collect()
}

/// Keeps vectors of chunks that are still there.
pub(super) async fn embed(
    link: &Link,
    model: &str,
    vectors: &[(i64, u32, Vec<f32>)],
) -> Result<(), Error> {
    let lengths = vectors.iter().map(|(_, _, numbers)| (text(model), numbers.len()));
    let models = Models::make(link, lengths).await?;
    if vectors.is_empty() {
        return Ok(());
    }
    let mut last: HashMap<(i64, u32), &[f32]> = HashMap::new();
    for (seq, ordinal, numbers) in vectors {
        last.insert((*seq, *ordinal), numbers);
    }
    let mut query = Query::default();
    let (mut seqs, mut ordinals, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for ((seq, ordinal), numbers) in last {
        seqs.push(seq);
        ordinals.push(i32::try_from(ordinal).unwrap_or(i32::MAX));
        texts.push(vector(numbers));
    }
    let model = query.bind(models.number(&text(model))?);
    let (seqs, ordinals, texts) = (query.bind(seqs), query.bind(ordinals), query.bind(texts));
    query.add(&format!(
        "INSERT INTO vectors (model, seq, ordinal, vector) SELECT {model}, c.seq, c.ordinal, w.v::vector \
         FROM unnest({seqs}::bigint[], {ordinals}::int[], {texts}::text[]) AS w(s, o, v) \
         JOIN chunks c ON c.seq = w.s AND c.ordinal = w.o ORDER BY c.seq, c.ordinal \
         ON CONFLICT (model, seq, ordinal) DO UPDATE SET vector = excluded.vector"
    ));
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    step.execute(ADDING, &[&link.schema()]).await?;
    let statement = step.prepare_cached(&query.text).await?;
    step.execute(&statement, &query.values()).await?;
    step.commit().await?;
    Ok(())
}

/// Removes vectors of other models of text; answers how many.
pub(super) async fn forget(link: &Link, keep_model: &str) -> Result<u64, Error> {
    let mut client = link.client().await?;
    let step = client.transaction().await?;
    step.execute("SELECT pg_advisory_xact_lock(hashtext($1), 2)", &[&link.schema()]).await?;
    let gone = "DELETE FROM models WHERE name <> $1 AND what = 'text' RETURNING id";
    let mut removed = 0;
    for row in step.query(gone, &[&keep(keep_model)]).await? {
        let id: i32 = row.try_get(0)?;
        let counted = format!("SELECT count(*) FROM vectors_{id}");
        removed += step.query_one(&counted, &[]).await?.try_get::<_, i64>(0)?.cast_unsigned();
        step.batch_execute(&format!("DROP TABLE vectors_{id}")).await?;
    }
    step.commit().await?;
    Ok(removed)
}
