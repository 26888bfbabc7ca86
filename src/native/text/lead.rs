//! What stands above a call: the text before it in, whether it announces something that is only shown
//! out. Headings count with whatever sets them off: signs, lines below them, or tags of HTML.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Lines above a call in which the heading of its section is looked for.
const MAX_LINES: usize = 16;
/// Bytes of a line that are looked at.
const MAX_LINE: usize = 2048;

/// What sets a heading off and says nothing.
static MARKS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"</?[A-Za-z][^<>\n]{0,80}>|\*+|~~|\b_{1,3}|_{1,3}\b").ok());

/// A line that is set off: all of it stands between marks of emphasis, or it begins as headings do.
static SET_OFF: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?ix) ^ \s* ( \#{1,6} \s+ \S | (\*{1,3}|_{1,3}) \S .* \S? (\*{1,3}|_{1,3}) \s* [:：]? \s* $
        | < (h[1-6]|b|strong|u|em|i|summary|figcaption|caption|dt|legend) \b )";
    Regex::new(text).ok()
});

/// A heading that is nothing but a word for something shown, in the languages that models write.
static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?ix) ^ [^\w]* (\d+ [.)]? \s+)?
        ( examples? \b .*
        | ((an?|the|some|one|more|another|further|first|second|third|next|our|your|here\ is\ an?) \s+)?
          ((tool|function|api|calls?|calling|requests?|json|messages?|output|input|response|payload|basic|simple
            |minimal|typical|correct|valid|expected|general|quick|code|command|invocation|desired|required
            |full|complete|sample|example|usage|argument|parameter)s? [\s-]+)*
          ( (examples?|samples?|formats?|templates?|syntax|skeletons?|illustrations?|snippets?)
            (\s+ (calls?|requests?|usage|json|output|input|response|invocation|payload|code|message|query|format
              |(of|for|to|in|with|using)\b .*))*
          | usage | schema | structure | shape | pattern | demos? | demonstrations? | placeholders? | prototype
          | boilerplate | mock-?ups? | notation | signature | pseudo-?\w+ )
        | wrong | incorrect | invalid | bad | not\ like\ this | (do\ not|don['’]t) (\ (do|send|use)\ (this|it))?
        | (per|por|ad|na)\ (esempio|exemplo|ejemplo|przykład) .* | z\.\ ?b\.? | p\.\ ?ex\.?
        | (beispiel|muster|vorlage|verwendung|exemple|modèle|utilisation|ejemplo|formato|plantilla|muestra|uso
          |esempio|modello|utilizzo|exemplo|modelo|voorbeeld|sjabloon|gebruik|exempel|eksempel|esimerkki
          |przykład|szablon|użycie|příklad|šablona|použití|példa|sablon|exemplu|örnek|şablon|kullanım|contoh
          |templat|penggunaan|ví\ dụ|mẫu|пример|образец|шаблон|формат|использование|приклад|зразок
          |παράδειγμα|πρότυπο|مثال|نموذج|דוגמה|תבנית|उदाहरण|ตัวอย่าง)
          \p{L}{0,3} (\s* [\d(:：–—-] .*)?
        | (调用|請求|请求|输出|輸出|输入|函数|工具|使用|响应|JSON)* (例|示例|范例|範例|样例|示范|格式|模板|範本|用法|语法)
          [\s\d一二三]*
        | (使用|呼び出し|出力|入力|リクエスト)* (例|サンプル|見本|書式|形式|使い方|テンプレート|フォーマット) [\s\d]*
        | (호출|출력|입력|요청|사용)? \s* (예|예시|예제|보기|형식|양식|사용법|템플릿) [\s\d]* )
        [\s\d\W]* (\s[a-z])? [\s\W]* $";
    Regex::new(text).ok()
});

/// Words in the sentence before a call that make it something shown.
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = r"(?ix)
        \b( (here|this|that) (['’]s|\ is)\ how\ (an?|the|this|that|such|each|one|you|to|it|your|calls?|requests?
             |tools?|functions?)
          | (how|what)\ (an?|the|such\ an?|each|your)\ ([\w-]+\ ){0,3} (calls?|requests?|messages?|invocations?)
             \ (looks?|works?|is|are|should|would|can|must|may)
          | looks?\ (roughly\ |something\ |a\ bit\ )? (as\ follows|like\ (this|that|so|the\ following))
          | something\ (like\ (this|that|so|the\ following)|along\ the\ lines)
          | (is|are|be)\ (written|formatted|structured|invoked|spelled)\ (like|as|so|this)
          | (sample|example|dummy|mock|fake|fictional|fictitious|imaginary|placeholder)\ ([\w-]+\ ){0,2}
             (calls?|requests?|invocations?|usage|json|messages?|payloads?)
          | for\ (demonstration|illustration) | pseudo-?\w+ | final\ (answer|response|output)\ is
          | so\ (sieht|rufst|ruft|wird)\ .* | voici\ (comment|à\ quoi) | así\ (es|se) | ecco\ come | veja\ como
          | zo\ ziet | вот\ как | выглядит | виглядає | wygląda | vypadá
          | (per|ad)\ esempio | por\ exemplo | na\ przykład | na\ příklad | till\ exempel | for\ eksempel
          | bijvoorbeeld | например | наприклад | örneğin | misalnya | például | esimerkiksi
          | de\ exemplo | chẳng\ hạn | για\ παράδειγμα ) (\b|$)
        | \b ( (like\ (so|the\ following)|something\ like)
            | (in|of|using|with|follows?|has|have|takes?|expected|required|correct|general|usual)
              \ ((the|this|that|an?|such\ a)\ )? (following\ |same\ |general\ )?
              (format|form|shape|structure|syntax|notation|pattern|template)
          ) \s* [:：,]? \s* $
        | \b final\ (answer|response|output) \s* [:：]
        | \b examples? \s* (no\.?|nr\.?|\#)? \s* [\d\p{L}]? \s* [)\].\-–—:：]* \s* $
        | 譬如 | 範例 | 范例 | 样例 | 举个例子 | (格式|形式) (如下|为|是) | 调用方式 | たとえば | (次|以下)の形式 | のように呼び出
        | 예컨대 | 다음\ 형식 | 이렇게\ 호출 | مثلا | مثال | לדוגמה | उदाहरण | ตัวอย่าง";
    Regex::new(text).ok()
});

/// Whether the text before a call, of which `sentence` is the last one, announces something shown.
pub(super) fn shows(before: &str, sentence: &str) -> bool {
    let lines = before.lines().rev().map(short).filter(|line| !line.trim().is_empty());
    let (mut underlined, mut next) = (false, true);
    for line in lines.take(MAX_LINES) {
        if is_rule(line) {
            underlined = true;
            continue;
        }
        let set_off = underlined || says(&SET_OFF, line);
        if (next || set_off) && says(&HEADING, &plain(line)) {
            return true;
        }
        // The heading of the section decides; what stands above it is of another.
        if set_off {
            break;
        }
        (underlined, next) = (false, false);
    }
    let sentence = plain(short(sentence));
    says(&HEADING, &sentence) || says(&WORDS, &sentence)
}

/// Whether a line is nothing but a rule, or what underlines the line above it.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 2 && line.chars().all(|c| matches!(c, '-' | '=' | '_' | '*' | '~' | '─' | '—'))
}

/// The words of a line without what sets them off.
fn plain(line: &str) -> Cow<'_, str> {
    MARKS.as_ref().map_or(Cow::Borrowed(line), |marks| marks.replace_all(line, ""))
}

fn short(line: &str) -> &str {
    line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or(line)
}

/// Without its words the rule cannot be applied, so everything is in doubt.
fn says(words: &LazyLock<Option<Regex>>, text: &str) -> bool {
    words.as_ref().is_none_or(|words| words.is_match(text))
}
