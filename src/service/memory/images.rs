//! Images that come along with a draft: bytes in, text and description by tools of this daemon out. The
//! bytes are not kept; what cannot be read is stored without, and a remark says so. Nothing is read of a
//! draft that will be refused.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::proto;
use crate::call::{Call, File, MAX_FILES_BYTES};
use crate::memory::{Desk, Draft, IMAGE_BYTES, Image, Vision, Visit};
use crate::pipeline::Pipeline;

/// The tool that reads text.
const OCR: &str = "image.ocr";
/// Images of one draft.
const MOST: usize = 16;

/// Reads images.
#[derive(Debug, Clone)]
pub(super) struct Images {
    pipeline: Arc<Pipeline>,
    desk: Desk,
    vision: Option<Arc<Vision>>,
}

/// Fields of a message that are wrong, each with what is.
pub(super) type Wrong = Vec<(String, String)>;

impl Images {
    pub(super) fn new(pipeline: Arc<Pipeline>, desk: Desk) -> Self {
        let vision = desk.vision();
        Self { pipeline, desk, vision }
    }

    /// The draft, with what is written and shown on its images; and what could not be read.
    pub(super) async fn read(
        &self,
        visit: &Visit,
        mut draft: Draft,
        images: Vec<proto::ImageFile>,
    ) -> Result<(Draft, Vec<String>), Wrong> {
        if images.is_empty() {
            return Ok((draft, Vec::new()));
        }
        fits(&images)?;
        // What is wrong with it is answered by the desk; a model outside sees nothing of it.
        let known = self.desk.images(visit, unread(&draft, &images)).await;
        let mut remarks = Vec::new();
        if known.is_none() {
            remarks.push("its images were not looked at".to_owned());
        }
        for (at, image) in images.into_iter().enumerate() {
            let proto::ImageFile { uri, content, vector_model, vector } = image;
            let file = file(content).await?;
            let (ocr_text, description) = match &known {
                Some(known) => {
                    let known = known.iter().find(|one| one.sha256 == file.facts.sha256);
                    self.words(visit, (at, &file), known, &mut remarks).await
                }
                None => Default::default(),
            };
            let (media_type, sha256) = (file.facts.media_type, file.facts.sha256);
            draft.images.push(Image {
                uri,
                media_type,
                sha256,
                description,
                ocr_text,
                vector_model,
                vector,
            });
        }
        Ok((draft, remarks))
    }

    /// Text and description of one image. What an earlier write of it had read is not read again: the
    /// same import makes no new version, and none that says less.
    async fn words(
        &self,
        visit: &Visit,
        (at, file): (usize, &File),
        known: Option<&Image>,
        remarks: &mut Vec<String>,
    ) -> (String, String) {
        if !file.facts.media_type.starts_with("image/") {
            let what = &file.facts.media_type;
            remarks.push(format!("image {at}: is no image but `{what}`: only its digest is kept"));
            return Default::default();
        }
        let had = |part: fn(&Image) -> &String| known.map(part).filter(|text| !text.is_empty());
        let text = async {
            match had(|one| &one.ocr_text) {
                Some(text) => Ok(text.clone()),
                None => Box::pin(self.text(visit, file)).await,
            }
        };
        let shown = async {
            match had(|one| &one.description) {
                Some(text) => Ok(text.clone()),
                None => self.shown(file).await,
            }
        };
        let (text, shown) = tokio::join!(text, shown);
        let mut read = |what: &str, read: Result<String, String>| match read {
            Ok(text) => {
                let (text, whole) = tidy(&text);
                if !whole {
                    remarks.push(format!(
                        "image {at}: {what} has over {IMAGE_BYTES} bytes and is cut"
                    ));
                }
                text
            }
            Err(why) => {
                remarks.push(format!("image {at}: {what} is missing: {why}"));
                String::new()
            }
        };
        (read("its text", text), read("its description", shown))
    }

    /// What an image shows, by the model that sees; nothing where none is configured.
    async fn shown(&self, file: &File) -> Result<String, String> {
        match &self.vision {
            Some(vision) => vision.describe(&file.facts.media_type, &file.content).await,
            None => Ok(String::new()),
        }
    }

    /// What is written on an image, by the tool in the sandbox, as the caller who brings it.
    async fn text(&self, visit: &Visit, file: &File) -> Result<String, String> {
        let mut call = Call::new(OCR, "{}");
        call.files = vec![file.clone()];
        (call.deadline, call.full) = (visit.deadline, true);
        call.proof.clone_from(&visit.proof);
        let entered = self.pipeline.enter(&call.id, &visit.caller);
        let entered = entered.ok_or_else(|| "its call could not begin".to_owned())?;
        let recorded = self.pipeline.call(call, entered, &visit.caller, None).await;
        if let Some(error) = &recorded.reply.error {
            return Err(format!("{}: {}", error.code.as_str(), error.message));
        }
        let text = recorded.reply.data.get("text").and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| "it gave no text".to_owned())
    }
}

/// Whether there are not too many.
fn fits(images: &[proto::ImageFile]) -> Result<(), Wrong> {
    let length = |image: &proto::ImageFile| u64::try_from(image.content.len());
    let bytes: u64 = images.iter().map(|image| length(image).unwrap_or(u64::MAX)).sum();
    let what = if images.len() > MOST {
        format!("has {} images, at most {MOST} are taken", images.len())
    } else if bytes > MAX_FILES_BYTES {
        format!("has {bytes} bytes, at most {MAX_FILES_BYTES} are taken")
    } else {
        return Ok(());
    };
    Err(vec![("images".to_owned(), format!("{what}; send the others in units of one `group`"))])
}

/// The draft as it will be, with a word in the place of those that are still to be read.
fn unread(draft: &Draft, images: &[proto::ImageFile]) -> Draft {
    let image = |image: &proto::ImageFile| Image {
        uri: image.uri.clone(),
        media_type: String::new(),
        sha256: "0".repeat(64),
        description: "unread".to_owned(),
        ocr_text: String::new(),
        vector_model: image.vector_model.clone(),
        vector: image.vector.clone(),
    };
    let mut draft = draft.clone();
    draft.images.extend(images.iter().map(image));
    draft
}

/// A reading without the characters that no draft has, and whether that is all of it.
fn tidy(text: &str) -> (String, bool) {
    let plain = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
    let end = text.floor_char_boundary(IMAGE_BYTES);
    let kept = text.get(..end).unwrap_or_default();
    (kept.chars().map(plain).collect::<String>().trim().to_owned(), end == text.len())
}

/// The image as a file; its digest takes some milliseconds a MiB.
async fn file(content: Bytes) -> Result<File, Wrong> {
    let made = tokio::task::spawn_blocking(move || File::new("image", "", content)).await;
    made.map_err(|_lost| vec![("images".to_owned(), "could not be looked at".to_owned())])
}
