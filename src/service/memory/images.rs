//! Images that come along with a draft: bytes in, text and description by tools of this daemon out. The
//! bytes are not kept; what cannot be read is stored without, and a remark says so.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tonic::Status;

use super::fields::Fields;
use super::{proto, status};
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

/// Whether there are more images than one draft can have, or too large ones.
pub(super) fn check(images: &[proto::ImageFile], fields: &mut Fields) {
    let length = |image: &proto::ImageFile| u64::try_from(image.content.len());
    let bytes: u64 = images.iter().map(|image| length(image).unwrap_or(u64::MAX)).sum();
    if images.len() > MOST || bytes > MAX_FILES_BYTES {
        let what = format!("has more than {MOST} images, or {MAX_FILES_BYTES} bytes of them");
        fields.wrong("images", what);
    }
}

impl Images {
    pub(super) fn new(pipeline: Arc<Pipeline>, desk: Desk) -> Self {
        Self { pipeline, vision: desk.vision(), desk }
    }

    /// The draft, with what is written and shown on its images; and what could not be read. Nothing is
    /// read for a draft that will be refused.
    pub(super) async fn read(
        &self,
        visit: &Visit,
        mut draft: Draft,
        images: Vec<proto::ImageFile>,
    ) -> Result<(Draft, Vec<String>), Status> {
        let mut remarks = Vec::new();
        if !images.is_empty() && !self.desk.welcomes(visit, unread(&draft, &images)).await {
            remarks.push("its images were not looked at".to_owned());
            return Ok((draft, remarks));
        }
        for (at, image) in images.into_iter().enumerate() {
            let file = file(image.content).await?;
            let (text, shown) = tokio::join!(self.text(visit, &file), self.shown(&file));
            let mut known = |what: &str, read: Result<String, String>| {
                let text = read.unwrap_or_else(|why| {
                    remarks.push(format!("image {at}: {what}: {why}"));
                    String::new()
                });
                let kept = text.get(..text.floor_char_boundary(IMAGE_BYTES)).unwrap_or_default();
                if kept.len() < text.len() {
                    let (kept, all) = (kept.len(), text.len());
                    remarks
                        .push(format!("image {at}: {kept} bytes of {all} are kept of its words"));
                }
                plain(kept)
            };
            draft.images.push(Image {
                uri: image.uri,
                media_type: file.facts.media_type,
                sha256: file.facts.sha256,
                ocr_text: known("its text was not read", text),
                description: known("what it shows was not described", shown),
                vector_model: image.vector_model,
                vector: image.vector,
            });
        }
        Ok((draft, remarks))
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

/// A text without the control characters that no unit has.
fn plain(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'), " ")
}

/// The image as a file; its digest takes some milliseconds a MiB.
async fn file(content: Bytes) -> Result<File, Status> {
    let made = tokio::task::spawn_blocking(move || File::new("image", "", content)).await;
    made.map_err(|_lost| status::internal(""))
}
