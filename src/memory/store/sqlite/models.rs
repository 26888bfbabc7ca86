//! Models of vectors, each with its number and length: those of text are the daemon's own, those of
//! images each tenant's, since callers name them. A name in, a number out, or why there is none.

use rusqlite::{Connection, OptionalExtension, Params, params};

use super::super::{Error, IMAGE_MODELS};
use super::fault::Fault;
use super::rows::MODELS;

/// The number of a model of text; one that is new here gets the lowest that is free.
pub(super) fn text(connection: &Connection, model: &str, dimensions: usize) -> Result<i64, Fault> {
    if let Some(known) = known_text(connection, model)? {
        return checked(known, model, dimensions);
    }
    let sql =
        "SELECT coalesce(min(id) + 1, 0) FROM (SELECT -1 AS id UNION ALL SELECT id FROM model)
        WHERE id + 1 NOT IN (SELECT id FROM model)";
    let id: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    if id >= MODELS {
        let most = MODELS;
        return Err(Error::Models { model: model.to_owned(), most }.into());
    }
    let sql = "INSERT INTO model VALUES (?1, ?2, 'text', ?3)";
    connection.prepare_cached(sql)?.execute(params![id, model, size(dimensions)])?;
    Ok(id)
}

/// Number and dimensions of a model that has vectors of text here.
pub(super) fn known_text(
    connection: &Connection,
    model: &str,
) -> Result<Option<(i64, usize)>, Fault> {
    let sql = "SELECT id, dimensions FROM model WHERE name = ?1";
    known(connection, sql, [model])
}

/// The number of a tenant's model of images, for one vector more; one that is new gets the lowest that
/// is free.
pub(super) fn add_image(
    connection: &Connection,
    (tenant, model): (&str, &str),
    dimensions: usize,
) -> Result<i64, Fault> {
    let id = match known_image(connection, (tenant, model))? {
        Some(known) => checked(known, model, dimensions)?,
        None => make_image(connection, (tenant, model), dimensions)?,
    };
    let sql = "UPDATE image_model SET pictures = pictures + 1 WHERE tenant = ?1 AND id = ?2";
    connection.prepare_cached(sql)?.execute(params![tenant, id])?;
    Ok(id)
}

fn make_image(
    connection: &Connection,
    (tenant, model): (&str, &str),
    dimensions: usize,
) -> Result<i64, Fault> {
    let sql = "SELECT count(*) FROM image_model WHERE tenant = ?1";
    let count: i64 = connection.query_row(sql, [tenant], |row| row.get(0))?;
    if count >= IMAGE_MODELS {
        let most = IMAGE_MODELS;
        return Err(Error::Models { model: model.to_owned(), most }.into());
    }
    let sql = "SELECT min(id) + 1 FROM
        (SELECT -1 AS id UNION ALL SELECT id FROM image_model WHERE tenant = ?1)
        WHERE id + 1 NOT IN (SELECT id FROM image_model WHERE tenant = ?1)";
    let id: i64 = connection.query_row(sql, [tenant], |row| row.get(0))?;
    let sql = "INSERT INTO image_model VALUES (?1, ?2, ?3, ?4, 0)";
    connection.execute(sql, params![tenant, id, model, size(dimensions)])?;
    Ok(id)
}

/// Number and dimensions of a model that has vectors of a tenant's images.
pub(super) fn known_image(
    connection: &Connection,
    (tenant, model): (&str, &str),
) -> Result<Option<(i64, usize)>, Fault> {
    let sql = "SELECT id, dimensions FROM image_model WHERE tenant = ?1 AND name = ?2";
    known(connection, sql, [tenant, model])
}

/// Counts vectors of images that are gone; gives the models that have none left, which are gone too.
pub(super) fn remove_images(
    connection: &Connection,
    tenant: &str,
    gone: &[i64],
) -> Result<Vec<i64>, Fault> {
    let sql = "UPDATE image_model SET pictures = pictures - 1 WHERE tenant = ?1 AND id = ?2";
    for model in gone {
        connection.prepare_cached(sql)?.execute(params![tenant, model])?;
    }
    let sql = "DELETE FROM image_model WHERE tenant = ?1 AND pictures <= 0 RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([tenant], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn known(
    connection: &Connection,
    sql: &str,
    of: impl Params,
) -> Result<Option<(i64, usize)>, Fault> {
    let row = connection
        .prepare_cached(sql)?
        .query_row(of, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let row = row.optional()?;
    Ok(row.map(|(id, dimensions)| (id, usize::try_from(dimensions).unwrap_or(usize::MAX))))
}

fn checked((id, expected): (i64, usize), model: &str, given: usize) -> Result<i64, Fault> {
    if expected == given {
        return Ok(id);
    }
    Err(Error::Dimensions { model: model.to_owned(), expected, given }.into())
}

fn size(dimensions: usize) -> i64 {
    i64::try_from(dimensions).unwrap_or(i64::MAX)
}
