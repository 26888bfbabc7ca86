//! What instructions to a model look like, in several languages. One reading of a text in, the
//! rules that hit and where out. All patterns are matched in linear time over the bytes of
//! evened-out text, without Unicode tables: those cost memory and a hundred milliseconds to build.

use std::ops::Range;
use std::sync::LazyLock;

use super::keys::Keys;
use super::laws::Hit;
use super::sought::Sought;
use super::{Reading, Rule};

/// What stands before a verb that orders: the start of a clause, or a word that urges. After a noun
/// (`agents ignore ...`) the verb only tells.
const ORDER: &str = r#"(?:^|(?:[.!?:;,>"'()\[\]{}*#`-]|–|—|“|”|‘|’)\s*|\n|\b(?:please|now|must|should|shall|just|then|and|simply|immediately|first|always|kindly|also|instead|important|therefore|so|you(?: are to| need to| have to| will| can)?|assistant|ai|agent|model)\s+)(?:please |kindly |now |just |immediately )?"#;

/// Patterns that need [`ORDER`] before them, and how much each weighs, in percent.
const ORDERS: [(Rule, u32, &str); 8] = [
    (
        Rule::Override,
        70,
        r"(?:ignore|disregard|forget|override|bypass|discard|do not follow|don't follow|stop following) (?:the |all |any |all the |every )?(?:instructions?|prompts?|rules?|directions?|guidelines?|commands?|text|content|everything|anything) (?:above|before|so far|(?:you were|that were|you have been) (?:given|told)|given)\b",
    ),
    (
        Rule::Override,
        60,
        r"(?:ignore|disregard|forget|override|bypass|skip|drop|discard|do not follow|don't follow|stop following)\b[^.\n]{0,30}?\b(?:previous|prior|above|earlier|preceding|existing|former|original|foregoing|system|other|your|all)\b[^.\n]{0,30}?\b(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|polic(?:y|ies)|constraints?|restrictions?|safeguards?|training)\b",
    ),
    (
        Rule::Role,
        25,
        r"(?:you are (?:now|no longer)|from now on,? you (?:are|will|must)|act as (?:if you (?:are|were)|an? (?:unrestricted|uncensored|administrator|admin|root|system))|pretend (?:to be|that you|you are)|enter (?:developer|debug|god|admin|dan) mode|you have been (?:granted|given|upgraded))\b",
    ),
    (
        Rule::Standing,
        40,
        r"(?:when(?:ever)?|if|every time|each time|before|after)\b[^.\n]{0,60}\b(?:asked?|asks|asking|answer(?:ing)?|repl(?:y|ying)|respond(?:ing)?|quer(?:y|ies))\b[^.\n]{0,60}?\b(?:always|never|must|you should|you shall|say|call|invoke|first)\b",
    ),
    (
        Rule::Standing,
        40,
        r"(?:before|after|with) (?:each|every|any|all) (?:answer|reply|response|message|question|turn)s?\b[^.\n]{0,40}\b(?:call|invoke|use|run|send|execute|append|add|insert)\b",
    ),
    (
        Rule::Concealment,
        30,
        r"(?:do not|don't|never|without) (?:ever )?(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|show|showing|disclose|disclosing|alert|alerting|ask|asking)\b[^.\n]{0,40}\b(?:user|human|operator|customer|owner|anyone|anybody|them|him|her)\b",
    ),
    (
        Rule::Exfiltration,
        30,
        r"(?:send|post|upload|forward|transmit|e-?mail|exfiltrate|leak|copy|submit|append|paste|share|put|include|encode|give|reveal|print|output)\b[^.\n]{0,60}?\b(?:passwords?|secrets?|api[ _-]?keys?|keys|tokens?|credentials?|private keys?|env(?:ironment)?(?: variables?)?|conversation|chat (?:history|log)s?|system prompt|user'?s? (?:data|files?|messages?|e-?mails?)|\.env|ssh)\b[^\n]{0,40}?(?:\b(?:to|at|via|into|in the (?:url|query|link|image))\b|https?://)",
    ),
    (
        Rule::Role,
        10,
        r"(?:call|invoke|use|run|execute|trigger) the [`'\x22]?[a-z0-9_.-]{3,64}[`'\x22]? (?:tool|function|action|plugin|command)\b",
    ),
];

/// Patterns that stand alone.
const PLAIN: [(Rule, u32, &str); 24] = [
    (
        Rule::Override,
        60,
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不用理会|不要遵守|不再遵守|不要管|绕过|繞過|覆盖|推翻)[^\n]{0,30}(?:之前|以前|先前|此前|上面|上述|以上|前面|原来|原有|系统|系統|所有|全部|一切)[^\n]{0,24}(?:指令|指示|提示|规则|規則|命令|要求|设定|設定|限制|约束|說明|说明)",
    ),
    (
        Rule::Override,
        70,
        r"\b(?:ignora|ignore|ignorad|olvida|olvide|omite|descarta)\b[^.\n]{0,20}(?:instrucciones|indicaciones|reglas|órdenes)\b",
    ),
    (
        Rule::Override,
        70,
        r"\b(?:ignore|ignora|esqueça|esquece|desconsidere)\b[^.\n]{0,20}(?:instruções|regras|ordens)\b",
    ),
    (
        Rule::Override,
        70,
        r"\b(?:ignore[zr]?|oublie[zr]?)\b[^.\n]{0,20}(?:instructions|consignes|règles)\b[^.\n]{0,12}(?:précédentes|antérieures|ci-dessus)",
    ),
    (
        Rule::Override,
        70,
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\b[^.\n]{0,30}(?:anweisungen|anweisung|regeln|vorgaben|befehle)\b",
    ),
    (
        Rule::Override,
        70,
        r"\b(?:ignora|dimentica|ignorate|trascura)\b[^.\n]{0,20}(?:istruzioni|regole|indicazioni)\b",
    ),
    (
        Rule::Override,
        70,
        r"(?:игнорируй|игнорируйте|проигнорируй|забудь|забудьте)[^.\n]{0,60}(?:инструкц|указани|правил|команд)",
    ),
    (
        Rule::Override,
        60,
        r"(?:指示|命令|ルール|プロンプト|指令|規則|制約)[^\n]{0,30}(?:無視|忘れ|破棄|従わない)",
    ),
    (Rule::Override, 60, r"(?:지시|지침|명령|규칙|프롬프트)[^.\n]{0,30}(?:무시|잊어|따르지)"),
    (Rule::Override, 60, r"(?:تجاهل|انس|تجاهلوا)[^.\n]{0,40}(?:التعليمات|الأوامر|القواعد|الإرشادات)"),
    (Rule::Override, 60, r"(?:निर्देश|आदेश|नियम)[^\n]{0,60}(?:अनदेखा|भूल|नज़रअंदाज़)"),
    (
        Rule::Override,
        60,
        r"\b(?:zignoruj|zapomnij|önceki|negeer|bỏ qua)\b[^.\n]{0,30}(?:instrukcje|instrukcji|polecenia|talimatları|instructies|hướng dẫn|chỉ dẫn)",
    ),
    (
        Rule::Role,
        30,
        r"(?:你现在是|你現在是|从现在起你|从现在开始你|你必须扮演|假装你是|假裝你是|扮演(?:管理员|系统)|あなたは(?:今|これ)から|管理者として(?:扱|振る舞|行動))",
    ),
    (
        Rule::Standing,
        30,
        r"(?:从现在起|从现在开始|從現在起|今后|今後|以后|以後|每次|每当|每當|任何时候)[^\n]{0,48}(?:回答|回复|回覆|答复|响应|操作)[^\n]{0,18}(?:前|之前|时|時|后|後|都)[^\n]{0,36}(?:调用|調用|使用|执行|執行|运行|发送|必须|务必)",
    ),
    (
        Rule::Concealment,
        25,
        r"(?:不要|不得|别|別|勿|切勿|无需|不用|禁止)(?:再)?(?:告诉|告訴|告知|通知|提示|透露给|让|讓|向)[^\n]{0,12}(?:用户|用戶|使用者|客户|客戶|任何人|他|她|对方|人类)",
    ),
    (
        Rule::Exfiltration,
        45,
        r"(?:把|将|將)[^\n]{0,72}(?:密钥|密鑰|密码|密碼|令牌|凭证|凭据|口令|私钥|聊天记录|对话|文件|数据|環境變數|环境变量)[^\n]{0,30}(?:发送|發送|发到|上传|上傳|转发|轉發|提交|发给|寄到|泄露|附加)",
    ),
    (
        Rule::Markup,
        90,
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text|tool|channel|message)\|>",
    ),
    (Rule::Markup, 90, r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"),
    (
        Rule::Markup,
        60,
        r"(?:^|[^a-z])</?(?:system|assistant|tool_calls?|tool_response|tool_results?|function_calls?|function_results?|invoke|antml:[a-z_]+|system[-_](?:prompt|reminder|message)|instructions?)(?:\s[^>\n]{0,80})?>",
    ),
    (
        Rule::Markup,
        40,
        r#"[{,]\s*["']tool_(?:calls|use)["']\s*:|["']type["']\s*:\s*["'](?:tool_use|tool_call|function_call)["']"#,
    ),
    (
        Rule::Markup,
        15,
        r"(?:^|\n)(?:#{1,4} ?|\*\*|\[|\(|=+ ?|-+ ?)?(?:system|developer|assistant)(?: (?:prompt|message|instructions?|override|note))?(?:\]|\)|\*\*)?\s?:",
    ),
    (
        Rule::Markup,
        40,
        r"(?:begin|end|new|updated) (?:system|admin|developer) (?:prompt|message|instructions?|override)\b",
    ),
    (
        Rule::Markup,
        40,
        r"\bend of (?:the )?(?:tool|function|search|document|untrusted|external) (?:output|results?|response|content|data)\b",
    ),
    (
        Rule::Override,
        60,
        r"\b(?:important|attention|note)[ :,!]{1,3}(?:to |for )?(?:all |any )?(?:ai|llm|language model|assistant|chatbot|agent)s?\b[^.\n]{0,30}\b(?:must|should|read|follow|do|ignore|please)\b",
    ),
];

/// Patterns for text whose white space was taken out.
const SQUEEZED: [(Rule, u32, &str); 2] = [
    (
        Rule::Override,
        60,
        r"(?:ignore|disregard|forget|override)(?:all|any|the|your|my|these|those|of)*(?:previous|prior|above|earlier|preceding|system)(?:instructions?|prompts?|rules?|directions?|commands?)",
    ),
    (
        Rule::Override,
        60,
        r"(?:忽略|无视|忘记)(?:所有|全部|一切)?(?:之前|以前|先前|上面|以上)的?(?:所有|全部)?(?:指令|指示|提示|规则|命令)",
    ),
];

/// How many patterns there are for text with its spaces.
pub(super) const SPACED: usize = ORDERS.len() + PLAIN.len();

/// The patterns for text with its spaces, in the order of their numbers.
pub(super) fn spaced() -> impl Iterator<Item = String> {
    let orders = ORDERS.iter().map(|(.., text)| format!("{ORDER}{text}"));
    orders.chain(PLAIN.iter().map(|(.., text)| (*text).to_owned()))
}

// A pattern that is none would leave nothing; a test compiles all of them.
static UNSPACED: LazyLock<Option<Keys>> =
    LazyLock::new(|| Keys::new(SQUEEZED.iter().map(|(.., text)| (*text).to_owned())));

/// What hits in one reading, each pattern at its first place.
pub(super) fn hits(sought: &Sought<'_>, reading: Reading) -> Vec<Hit> {
    let text = sought.text;
    let hit = |about: Option<&(Rule, u32, &str)>, found: Range<usize>| {
        let (rule, weight, _) = *about?;
        let range = text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end);
        Some(Hit { rule, weight, range })
    };
    if reading != Reading::Spaced {
        let plain = |number: usize| PLAIN.get(number.checked_sub(ORDERS.len())?);
        let about = |number: usize| ORDERS.get(number).or_else(|| plain(number));
        return sought.hits().filter_map(|(number, found)| hit(about(number), found)).collect();
    }
    let Some(keys) = &*UNSPACED else { return Vec::new() };
    let tried = keys.tried(&keys.found(text), text, 0..text.len()).into_iter();
    let found = tried.filter_map(|number| Some((number, keys.find(number, text)?)));
    found.filter_map(|(number, found)| hit(SQUEEZED.get(number), found)).collect()
}

#[cfg(test)]
pub(super) fn compile() -> bool {
    [UNSPACED.as_ref(), super::sought::keys()]
        .iter()
        .all(|keys| keys.is_some_and(|keys| keys.all_have_words() && keys.compile()))
}
