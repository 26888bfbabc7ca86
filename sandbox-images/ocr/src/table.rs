//! Tesseract's table of words in, text and words out. Every figure is in pixels of the image.

use serde_json::{Value, json};

/// Columns of the table: level, page, block, paragraph, line, word, left, top, width, height,
/// confidence, text.
const COLUMNS: usize = 12;
/// The level of a row that is a word.
const WORD: &str = "5";

/// What was read in an image.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Read {
    lines: Vec<Line>,
}

#[derive(Debug, Default, PartialEq)]
struct Line {
    /// Page, block, paragraph and line.
    place: [u32; 4],
    words: Vec<Word>,
}

#[derive(Debug, PartialEq)]
struct Word {
    text: String,
    /// Percent.
    confidence: f64,
    /// Left, top, width, height.
    r#box: [u32; 4],
}

/// Reads the table; `None` when it is none.
pub(crate) fn parse(table: &str) -> Option<Read> {
    let mut rows = table.lines();
    if !rows.next()?.starts_with("level\t") {
        return None;
    }
    let mut read = Read::default();
    for row in rows {
        let cells: Vec<&str> = row.splitn(COLUMNS, '\t').collect();
        let [level, place @ .., text] = cells.as_slice() else { return None };
        if *level != WORD || text.trim().is_empty() {
            continue;
        }
        let [page, block, paragraph, line, _, left, top, width, height, confidence] = place else {
            return None;
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let place = [number(page)?, number(block)?, number(paragraph)?, number(line)?];
        let word = Word {
            text: text.trim().to_owned(),
            confidence: round(confidence.parse().ok()?),
            r#box: [number(left)?, number(top)?, number(width)?, number(height)?],
        };
        match read.lines.last_mut() {
            Some(last) if last.place == place => last.words.push(word),
            _ => read.lines.push(Line { place, words: vec![word] }),
        }
    }
    Some(read)
}

/// To one decimal.
fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

impl Read {
    /// As JSON: the text, how sure it is, and each word if that is wanted.
    pub(crate) fn tell(&self, words: bool) -> Value {
        let all = || self.lines.iter().flat_map(|line| &line.words);
        let count = u32::try_from(all().count()).unwrap_or(u32::MAX);
        let sum: f64 = all().map(|word| word.confidence).sum();
        let mean = round(sum / f64::from(count.max(1)));
        let confidence = if count == 0 { Value::Null } else { json!(mean) };
        let text = self.text();
        if words {
            json!({"text": text, "confidence": confidence, "words": self.words()})
        } else {
            json!({"text": text, "confidence": confidence})
        }
    }

    fn words(&self) -> Vec<Value> {
        let lines = self.lines.iter().zip(1_u32..);
        let words =
            lines.flat_map(|(line, number)| line.words.iter().map(move |word| (word, number)));
        words
            .map(|(Word { text, confidence, r#box }, line)| {
                json!({"text": text, "confidence": confidence, "box": r#box, "line": line})
            })
            .collect()
    }

    /// Lines as they stand, with an empty one between paragraphs.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut before: Option<&Line> = None;
        for line in &self.lines {
            if let Some(before) = before {
                let same = before.place.iter().zip(&line.place).take(3).all(|(a, b)| a == b);
                text.push_str(if same { "\n" } else { "\n\n" });
            }
            for (index, word) in line.words.iter().enumerate() {
                let last = text.chars().next_back();
                let first = word.text.chars().next();
                // Tesseract takes single characters of Chinese for words.
                let joined = last.is_some_and(is_wide) && first.is_some_and(is_wide);
                if index > 0 && !joined {
                    text.push(' ');
                }
                text.push_str(&word.text);
            }
            before = Some(line);
        }
        text
    }
}

/// Whether a character is Chinese or Japanese script or punctuation, which has no spaces beside it.
fn is_wide(character: char) -> bool {
    matches!(character,
        '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    const HEAD: &str = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext";

    fn table(words: &[(u32, u32, &str)]) -> String {
        let row = |(par, line, text): &(u32, u32, &str)| {
            format!("\n5\t1\t1\t{par}\t{line}\t1\t10\t20\t30\t40\t90.26\t{text}")
        };
        let words: String = words.iter().map(row).collect();
        format!("{HEAD}\n1\t1\t0\t0\t0\t0\t0\t0\t500\t200\t-1\t{words}")
    }

    #[test]
    fn words_become_lines_and_paragraphs() {
        let read = parse(&table(&[(1, 1, "Total"), (1, 1, "due"), (1, 2, "now"), (2, 1, "End")]));
        let told = read.unwrap().tell(false);
        assert_eq!(told, json!({"text": "Total due\nnow\n\nEnd", "confidence": 90.3}));
    }

    #[test]
    fn chinese_is_written_without_spaces_and_latin_beside_it_with() {
        let read = parse(&table(&[
            (1, 1, "订单"),
            (1, 1, "已"),
            (1, 1, "，"),
            (1, 1, "OK"),
            (1, 1, "货"),
        ]));
        assert_eq!(read.unwrap().tell(false)["text"], "订单已， OK 货");
    }

    #[test]
    fn each_word_has_its_box() {
        let told = parse(&table(&[(1, 1, "a\"\tb")])).unwrap().tell(true);
        let word =
            json!({"text": "a\"\tb", "confidence": 90.3, "box": [10, 20, 30, 40], "line": 1});
        assert_eq!(told["words"], json!([word]));
    }

    #[test]
    fn an_image_without_text_has_none() {
        let told = parse(&table(&[])).unwrap().tell(true);
        assert_eq!(told, json!({"text": "", "confidence": null, "words": []}));
    }

    #[test]
    fn what_is_no_table_is_none() {
        for text in [
            "",
            "hello",
            &format!("{HEAD}\n5\t1\tx"),
            &format!("{HEAD}\n5\t1\t1\t1\t1\t1\t-1\t2\t3\t4\t9\ta"),
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
