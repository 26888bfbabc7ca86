use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::memory::embed::charmap::Charmap;

/// Compiled by SentencePiece of the rules `A` to `a`, `e` and U+301 to `é`, `ﬁ` to `fi`, U+200B to
/// nothing, `ab` to `X`, `设` to `设备`.
const COMPILED: &str = "AAQAAAAAAQBBDQAAAwAAgGIdAAABAACAzAgCAIEFAAAIAACAgCgCAIsNAAAAAACAruQCAL4FAAALAACArAACAIF9AAAF\
     AACAEAAAABMAAAASAAAAFQAAABQAAAAXAAAAFgAAABkAAAAYAAAAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAAGEA\
     AQAjAAAAIgAAACUAAABlsAMAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAA\
     ADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAA\
     RQAAAEQAAABHAAAARgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABU\
     AAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcA\
     AABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAA\
     AHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAA\
     iAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACb\
     AAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAOKoAACiAAAApQAAAKQAAACnAAAApgAAAOg0AACoAAAAqwAAAKoA\
     AACtAAAArAAAAK8AAADvNAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAA\
     ALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAA\
     zwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADe\
     AAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEA\
     AADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAWABhAGZp\
     AMOpAOiuvuWkhwA=";

#[test]
fn the_longest_known_sequence_is_replaced() {
    let map = Charmap::read(COMPILED).unwrap();
    for (text, evened) in [
        ("", ""),
        ("A", "a"),
        ("Aab", "aX"),
        ("e\u{301}é", "éé"),
        ("e\u{301}\u{301}", "é\u{301}"),
        ("ﬁsh", "fish"),
        ("x\u{200b}y", "xy"),
        ("a", "a"),
        ("设", "设备"),
        ("日本\0A", "日本\0a"),
    ] {
        assert_eq!(map.apply(text), evened, "{text:?}");
    }
}

#[test]
fn a_damaged_map_is_refused_or_harmless() {
    for text in ["", "AAAA", "AAQAAA==", "not base64!", "BAAAAEEN"] {
        assert!(Charmap::read(text).is_err(), "{text}");
    }
    let bytes = STANDARD.decode(COMPILED).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xa5;
        if let Ok(map) = Charmap::read(&STANDARD.encode(&damaged)) {
            map.apply("Aab e\u{301} ﬁ 设 \u{200b}");
        }
    }
}
