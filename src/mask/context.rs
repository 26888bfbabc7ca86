//! Words that tell what the number behind them is. Evened-out text and a place in it in, whether such
//! a word stands shortly before it out.

/// Bytes before a number in which its word is looked for.
const WINDOW: usize = 32;

/// Words for telephone numbers.
pub(super) const PHONE: &[&str] = &[
    "电话", "電話", "手机", "手機", "座机", "固话", "热线", "传真", "联系", "聯絡", "致电", "拨打",
    "客服", "tel", "phone", "fax", "call", "mobile", "hotline", "contact", "dial", "cell",
    "whatsapp", "sms", "reach me", "ring",
];
/// Words for the numbers of identity cards.
pub(super) const IDENTITY: &[&str] =
    &["身份证", "身份證", "证件", "identity", "id card", "id no", "id number"];
/// Words for the numbers of parcels.
pub(super) const PARCEL: &[&str] =
    &["快递", "运单", "物流单", "单号", "tracking", "parcel", "shipment", "waybill", "awb"];

/// Whether one of these words stands shortly before a place, at the start of a word.
pub(super) fn near(text: &[u8], at: usize, words: &[&str]) -> bool {
    let start = at.saturating_sub(WINDOW);
    let window = text.get(start..at).unwrap_or_default().to_ascii_lowercase();
    let is_start = |found: usize| {
        found
            .checked_sub(1)
            .and_then(|before| window.get(before))
            .is_none_or(|byte| !byte.is_ascii_alphabetic())
    };
    words.iter().any(|word| {
        let mut places = window.windows(word.len()).enumerate();
        places.any(|(found, piece)| piece == word.as_bytes() && is_start(found))
    })
}
