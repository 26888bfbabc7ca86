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
    let before = |found: usize| found.checked_sub(1).and_then(|before| text.get(before)).copied();
    words.iter().any(|word| {
        let mut places = window.windows(word.len()).enumerate();
        places.any(|(found, piece)| {
            let found = start + found;
            piece == word.as_bytes()
                && before(found).is_none_or(|byte| !byte.is_ascii_alphabetic())
                && !(before(found) == Some(b'[') && is_placeholder(text, found + word.len()))
        })
    })
}

/// Whether what follows a word behind a bracket makes it a placeholder, such as `[PHONE_1]`, which
/// tells of the value that it stands for and of none behind it.
fn is_placeholder(text: &[u8], behind: usize) -> bool {
    let Some([b'_', rest @ ..]) = text.get(behind..) else { return false };
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    length > 0 && rest.get(length) == Some(&b']')
}
