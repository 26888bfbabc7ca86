//! Texts in which a call may stand.

use serde_json::json;

use super::{Reading, find, reading, told};
use crate::native::search_cut;

#[test]
fn fences_are_opened_without_harm_to_the_strings_in_them() {
    for (text, answer) in [
        (
            "```json\n{\"action\":\"final\",\"text\":\"Do:\\n```sh\\nls {a,b}\\n```\\nthen\"}\n```",
            "Do:\n```sh\nls {a,b}\n```\nthen",
        ),
        ("````json\n{\"action\":\"final\",\"text\":\"a ``` b\"}\n````", "a ``` b"),
        ("~~~json\n{\"action\":\"final\",\"text\":\"t\"}\n~~~", "t"),
        ("```json\n{\"action\":\"final\",\"text\":\"open\"}\n", "open"),
        ("```json\n{\"action\":\"final\",\"text\":\"open\"}", "open"),
        ("```\n{\"final_answer\":\"bare\"}\n```", "bare"),
        ("Thought: done.\n\n{\"action\":\"final_answer\",\"action_input\":\"42\"}", "42"),
        ("{\"action\":\"Final Answer\",\"action_input\":\"42\"}", "42"),
        ("{\"thought\":\"t\",\"action\":\"final\",\"answer\":{\"n\":1}}", "{\"n\":1}"),
        ("{'action': 'final', 'text': 'it\\'s'}", "it's"),
    ] {
        assert_eq!(told(text), format!("final {answer}"), "{text}");
    }
}

#[test]
fn the_value_of_a_fence_ends_where_its_json_does() {
    // A raw line break inside a string, and a fence in it at the start of a line.
    let text =
        "```json\n{\"tool\":\"note\",\"args\":{\"code\":\"Run:\n```sh\nls\n```\nend\"}}\n```";
    assert_eq!(told(text), r#"note({"code":"Run:\u000a```sh\u000als\u000a```\u000aend"})"#);
    assert_eq!(
        told("1. First:\n   ```json\n   {\"name\":\"ls\",\"arguments\":{}}\n   ```\n"),
        "ls({})"
    );
}

#[test]
fn prose_code_and_braces_before_a_call_do_not_matter() {
    for (text, call) in [
        (
            "Clean `rm` of {team}: {\"tool\":\"rm\",\"args\":{\"path\":\"/tmp/x\"}}",
            r#"rm({"path":"/tmp/x"})"#,
        ),
        (
            "```bash\necho \"{not json}\"\n```\nThen:\n```json\n{\"tool\":\"ls\",\"args\":{}}\n```\n",
            "ls({})",
        ),
        (
            "{\"tool\":\"note\",\"args\":{\"code\":\"type `ls -l` in {dir}\"}}",
            r#"note({"code":"type `ls -l` in {dir}"})"#,
        ),
        (
            "I need the weather first.\n\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n\nLet me know if more is needed.",
            r#"get_weather({"city": "Paris"})"#,
        ),
        ("Sure!\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\nI am waiting.", "ls({})"),
        ("The set {1,2} and {a: b} first. {\"name\":\"ls\",\"arguments\":{}}", "ls({})"),
        ("It's {fine}, so it's on: {'tool': 'ls', 'args': {}}", "ls({})"),
        (
            "<think>Maybe {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}?</think>\n{\"tool\":\"ls\",\"args\":{}}",
            "ls({})",
        ),
        ("Maybe rm?\n</think>\n\n{\"tool\":\"ls\",\"args\":{}}", "ls({})"),
        ("{\"tool\":\"ls\",\"args\":{}}<|im_end|>", "ls({})"),
        ("`{\"tool\":\"ls\",\"args\":{}}`", "ls({})"),
        ("{\"tool\":\"ls\",\"args\":{}};", "ls({})"),
        ("```json {\"tool\":\"ls\",\"args\":{}}```", "ls({})"),
        ("It looks like I have to list: {\"tool\":\"ls\",\"args\":{}}", "ls({})"),
        (
            "I use ls instead of rm, by the schema of the example file: {\"tool\":\"ls\",\"args\":{}}",
            "ls({})",
        ),
        ("Let me get the results: {\"tool\":\"ls\",\"args\":{}}", "ls({})"),
        ("I can't see it, so let me list: {\"tool\":\"ls\",\"args\":{}}", "ls({})"),
        ("As you asked, I list them now: {\"tool\":\"ls\",\"args\":{}}", "ls({})"),
        ("Thought: list first.\nAction: ls\nAction Input: {}", "ls({})"),
        ("{\"tool\":\"ls\",\"args\":{},\"confidence\":0.9}", "ls({})"),
        ("[{\"x\":1}] is data. {\"tool\":\"ls\",\"args\":{}}", "ls({})"),
    ] {
        assert_eq!(told(text), call, "{text}");
    }
}

#[test]
fn the_forms_that_models_write_are_one_call() {
    for text in [
        r#"{"name":"rm","arguments":{"path":"p"}}"#,
        r#"{"name":"rm","parameters":{"path":"p"}}"#,
        r#"{"name":"rm","args":{"path":"p"}}"#,
        r#"{"name":"rm","input":{"path":"p"}}"#,
        r#"{"tool":"rm","args":{"path":"p"}}"#,
        r#"{"tool_name":"rm","tool_input":{"path":"p"}}"#,
        r#"{"action":"rm","action_input":{"path":"p"}}"#,
        r#"{"action":"tool_call","tool":"rm","args":{"path":"p"}}"#,
        r#"{"thought":"clean","tool_call":{"name":"rm","arguments":{"path":"p"}}}"#,
        r#"{"tool_calls":[{"id":"c","type":"function","function":{"name":"rm","arguments":{"path":"p"}}}]}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"rm","arguments":{"path":"p"}}}]}"#,
        r#"{"type":"tool_use","id":"x","name":"rm","input":{"path":"p"}}"#,
        r#"{"type":"function","name":"rm","parameters":{"path":"p"}}"#,
        r#"{"function":"rm","arguments":{"path":"p"}}"#,
        r#"{"function_call":{"name":"rm","arguments":{"path":"p"}}}"#,
        r#"[{"name":"rm","arguments":{"path":"p"}}]"#,
        r#""{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}""#,
        r#"<tool_call>{"name":"rm","arguments":{"path":"p"}}</tool_call>"#,
        "<tool_call>\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}\n",
        "<tool_call>\n```json\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}\n```\n</tool_call>",
        r#"<function=rm>{"path":"p"}</function>"#,
        "<tool_call>\n<function=rm>\n<parameter=path>\np\n</parameter>\n</function>\n</tool_call>",
        r#"[TOOL_CALLS] [{"name":"rm","arguments":{"path":"p"}}]</s>"#,
        r#"[TOOL_CALLS]rm[ARGS]{"path":"p"}"#,
        r#"[TOOL_CALLS]rm[CALL_ID]abc123XYZ[ARGS]{"path":"p"}"#,
        r#"<|python_tag|>{"name":"rm","parameters":{"path":"p"}}<|eom_id|>"#,
        r#"<|tool_call|>[{"name":"rm","arguments":{"path":"p"}}]"#,
        r#"functools[{"name":"rm","arguments":{"path":"p"}}]"#,
        r#"<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{"path":"p"}<|call|>"#,
        "```tool_call\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}\n```",
        "{'name': 'rm', 'arguments': {'path': 'p',},}",
        "{name: 'rm', arguments: {path: 'p'}}",
        "```json5\n{name: \"rm\", arguments: {path: \"p\"}, // clean\n}\n```",
        "Now:\n```json\n{\"name\":\"rm\", /* it's } */ \"arguments\":{\"path\":\"p\"}}\n```\nDone.",
        "{“name”：“rm”，“arguments”：{“path”：“p”}}",
        "\u{feff}{\u{a0}\"name\":\u{a0}\"rm\",\u{200b}\"arguments\":{\"path\":\"p\"}}",
        r#"{"tool":"rm","name":"rm","arguments":{"path":"p"}}"#,
        "Thought: clean.\nAction: rm\nAction Input: {\"path\":\"p\"}",
        "Action: `rm`\nAction Input:\n{'path': 'p'}\nObservation:",
        "<invoke name=\"rm\"><parameter name=\"path\">p</parameter></invoke>",
        "<function_calls>\n<invoke name=\"rm\">\n<parameter name=\"path\">\np\n</parameter>\n</invoke>\n</function_calls>",
    ] {
        assert_eq!(told(text).replace(": ", ":"), r#"rm({"path":"p"})"#, "{text}");
    }
    let encoded = r#"{"name":"rm","arguments":"{\"path\":\"p\"}"}"#;
    assert_eq!(told(encoded), r#"rm("{\"path\":\"p\"}")"#);
    assert_eq!(told(r#"{"name":"ls","arguments":null}"#), "ls({})");
}

#[test]
fn several_calls_run_only_in_one_array_or_in_marks() {
    let two = "ls({}) rm({\"path\":\"p\"})";
    for text in [
        r#"[{"name":"ls","arguments":{}},{"name":"rm","arguments":{"path":"p"}}]"#,
        r#"{"tool_calls":[{"name":"ls","arguments":{}},{"name":"rm","arguments":{"path":"p"}}]}"#,
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}</tool_call>",
        r#"[TOOL_CALLS]ls[ARGS]{}[TOOL_CALLS]rm[ARGS]{"path":"p"}"#,
    ] {
        assert_eq!(told(text), two, "{text}");
    }
    for text in [
        r#"{"name":"ls","arguments":{}}{"name":"rm","arguments":{"path":"p"}}"#,
        "{\"name\":\"ls\",\"arguments\":{}}\n{\"name\":\"ls\",\"arguments\":{}}",
        "```json\n{\"name\":\"ls\",\"arguments\":{}}\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}\n```",
        "```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\nor\n```json\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}\n```",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"}}</tool_call>",
        "{\"name\":\"ls\",\"arguments\":{}}\n{\"action\":\"final\",\"text\":\"x\"}",
        "{\"name\":\"ls\",\"arguments\":{}} {\"na",
        "{\"name\":\"ls\",\"arguments\":{}}\n{\"name\":\"rm\",\"arguments\":{\"path\":\"p\"",
        "[{\"name\":\"ls\",\"arguments\":{}},{\"na",
        "[{\"name\":\"ls\",\"arguments\":{}},{\"name\":oops}]",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n<tool_call>{\"na",
    ] {
        assert!(told(text).starts_with("unclear"), "{text}: {}", told(text));
    }
}

#[test]
fn what_only_quotes_a_call_runs_nothing() {
    for text in [
        "I will not call a tool. The set {1,2} is fine.",
        "Send `{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}` to remove everything.",
        "He wrote \"{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}\" in the log.",
        "> {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}\nThat was the quote.",
        "```bash\ncurl -d '{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}' localhost\n```",
        "```xml\n<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>\n```",
        "Use the <tool_call> tag for calls.",
        "<tool_response>\n{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}\n</tool_response>",
        "Kept: <!-- {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}} -->",
        "I sent ```{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}``` before.",
        "{\"error\":\"none\",\"tool\":\"rm\"}",
        "See {\"tool\":\"rm\",\"args\":{\"path\":\"/\"},\"at\":3}",
        "rm(path) is a function.",
        "{\"example\":{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}}",
        "{\"name\":\"rm\",\"description\":\"removes\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}",
        "{\"name\":\"rm\",\"parameters\":{\"type\":\"object\",\"properties\":{\"path\":{}}}}",
        "{\"name\":\"rm\",\"age\":3}",
        "{\"name\":\"rm\"}",
        "My colleague {\"name\":\"Ann\",\"input\":{\"x\":1}} says hello.",
        "<think>{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "",
        "{}",
        "[]",
        "{{{{",
        "{\"tool\":",
        "Let {x} be {\"a\": 1}.",
    ] {
        assert_eq!(told(text), "prose", "{text}");
    }
    for text in [
        "For example, {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "An example:\n```json\n{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}\n```",
        "A call looks like this:\n\n{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "You could send {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "I would run {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "I did not call {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "Never send {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}} would remove everything.",
        "Shall I run this? {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "The tool returned:\n{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "The tool's result: {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "Example\n{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "Both: [{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}},{\"tool\":\"rmm\",\"args\":{}}]",
        "{{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}}",
        "Yesterday I ran: {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "The entry {\"tool\":\"rm\",\"args\":{\"path\":\"/\"}} is in the file.",
        "{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}\nThis is only an example.",
        "例如：{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}",
        "Zum Beispiel: <tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>",
    ] {
        assert!(told(text).starts_with("unclear"), "{text}: {}", told(text));
    }
}

#[test]
fn a_name_that_is_no_tool_is_a_call_only_where_nothing_else_stands() {
    assert_eq!(told(r#"{"name":"rmm","arguments":{}}"#), "rmm({})");
    assert_eq!(told("```json\n{\"tool\":\"rmm\",\"args\":{}}\n```"), "rmm({})");
    assert_eq!(told("<tool_call>{\"name\":\"rmm\",\"arguments\":{}}</tool_call>"), "rmm({})");
    assert_eq!(told("See {\"name\":\"rmm\",\"arguments\":{}}"), "prose");
    assert_eq!(
        told("{\"name\":\"rmm\",\"arguments\":{}}\n{\"name\":\"ls\",\"arguments\":{}}"),
        "ls({})"
    );
}

#[test]
fn broken_calls_are_answered_with_the_form_to_send() {
    let unclear = |text: &str| match reading(text) {
        Reading::Unclear(unclear) => unclear,
        other => panic!("{text}: {other:?}"),
    };
    let cut = unclear("Removing.\n{\"tool\":\"rm\",\"args\":{\"path\":\"/var/lo");
    assert!(cut.message.contains("cut off"), "{}", cut.message);
    assert_eq!(cut.place, (2, 1));
    assert_eq!(cut.send, json!({"name": "rm", "arguments": {"path": "<string>"}}));
    assert_eq!(cut.takes, ["path: string, required", "force: boolean"]);

    let quotes = unclear("{\"tool\":\"note\",\"args\":{\"code\":\"say \"hi\", now\"}}");
    assert!(quotes.message.contains("no JSON"), "{}", quotes.message);
    assert_eq!(
        quotes.send,
        json!({"name": "note", "arguments": {"code": "<string>", "level": "low"}})
    );
    assert_eq!(quotes.takes[1], "level: value, one of \"low\" \"high\"");

    for (text, words) in [
        ("{\"tool\":\"ls\"}", "no arguments"),
        ("{\"name\":\"ls\",\"arguments\":{},\"args\":{}}", "two places"),
        ("{\"name\":\"ls\",\"arguments\":{},\"arguments\":{}}", "twice"),
        ("{\"name\":\"ls\",\"arguments\":{},\"at\":3}", "other members"),
        ("get_weather(city=\"Rome\")", "programming language"),
        ("print(rm(path='/'))", "programming language"),
        ("```tool_code\nprint(rm(path='/'))\n```", "programming language"),
        ("Action: ls\nAction Input: {\"all\":", "cut off"),
        ("<tool_call>{\"name\":\"ls\",\"arguments\":{\"a\":", "cut off"),
        ("<function=ls>\n<parameter=all>\ntr", "cut off"),
        ("[TOOL_CALLS]ls[ARGS]{\"all\":", "cut off"),
        ("<tool_call>ls\n<arg_key>all</arg_key></tool_call>", "not read"),
        ("{'tool': 'rm', 'args': {'path': __import__('os').getcwd()}}", "no JSON"),
        ("{'tool': 'rm', 'args': {'path': '/tm", "cut off"),
    ] {
        let told = unclear(text).message;
        assert!(told.contains(words), "{text}: {told}");
    }
}

#[test]
fn near_misses_of_a_call_are_told_what_stands_in_the_way() {
    for (text, words) in [
        ("{name: ls, arguments: {}, tool: \"ls\"}", "`ls` is no JSON value"),
        ("{“name”: \"ls\", \"arguments\": {}}", "U+201C"),
        ("{\"name\"：\"ls\", \"arguments\": {}}", "U+FF1A"),
        ("{`name`: `ls`, `arguments`: {}}", "backtick"),
        ("{&quot;name&quot;:&quot;ls&quot;,&quot;arguments&quot;:{}}", "&quot;"),
        ("{\"name\": \"rm\", \"arguments\": {\"path\": f\"{home}\"}}", "a string of Python"),
        ("{\"tool\":\"ls\",\"name\":\"other\",\"args\":{}}", "in two places"),
        ("{\"tool\":\"other\",\"name\":\"ls\",\"args\":{}}", "in two places"),
        ("{\"tool\":\"ls\",\"tool\":\"other\",\"args\":{}}", "twice"),
        ("```python\n{'name': 'ls', 'arguments': {}}\n```", "in a block of python"),
        ("So:\n```js\n[{name: 'ls', arguments: {}}]\n```\n", "in a block of js"),
        ("{\"tool\":\"ls\",\"args\":{}}\n\nObservation: {\"ok\":true}", "no tool gave"),
        ("Action: ls\nAction Input: {}\nObservation: it worked", "no tool gave"),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n<tool_response>\n3",
            "no tool gave",
        ),
        ("{\"tool\":\"ls\",\"args\":{}}\n**Tool output**: none", "no tool gave"),
        (
            "Action: ls\nAction Input: {}\nThought: x\nAction: ls\nAction Input: {}",
            "separate calls",
        ),
        ("ls({})", "programming language"),
        ("<invoke name=\"rm\"><parameter name=\"path\">/tm", "cut off"),
        ("{name: 'rm', arguments: {path: '/tm", "cut off"),
        ("{\"tool\":\"rm\", // the\n \"args\":{\"path\":\"/tm", "cut off"),
    ] {
        let told = told(text);
        assert!(told.starts_with("unclear") && told.contains(words), "{text}: {told}");
    }
}

#[test]
fn a_call_in_the_text_of_a_message_that_was_cut_off_does_not_run() {
    let cut = |text: &str| search_cut(text, "the message was cut off: send it again", &find);
    let Reading::Unclear(unclear) = cut("{\"tool\":\"rm\",\"args\":{\"path\":\"p\"}}") else {
        panic!("a call of a message that was cut off was read");
    };
    assert!(unclear.message.ends_with("the message was cut off: send it again"));
    assert_eq!(unclear.send, json!({"name": "rm", "arguments": {"path": "<string>"}}));
    assert!(matches!(cut("{\"tool\":\"rm\",\"args\":{\"pa"), Reading::Unclear(_)));
    assert_eq!(cut("The answer is"), Reading::Prose);
}

#[test]
fn depth_and_length_cost_a_bounded_time() {
    let started = std::time::Instant::now();
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        deep("[", "]"),
        deep("{\"a\":", ""),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
        deep("{", "}"),
        deep("{'a':", ""),
        deep("`", ""),
        deep("` ``", ""),
        deep("<tool_call>", "</tool_call>"),
        deep("<tool_call>{", ""),
        deep("[TOOL_CALLS]", ""),
        deep("<function=", ""),
        deep("<function=!>", ""),
        deep("<|channel|>", ""),
        deep("<!--", ""),
        deep("> \n", ""),
        deep("Action: ls\n", ""),
        deep("{\"", ""),
        deep("{'", ""),
        deep("{\"tool\":\"rm\",", ""),
        deep("{\"tool\":\"rm\"} ", ""),
        deep("```json\n{", ""),
        deep("```\n", ""),
        deep("(", ")"),
        deep("{// ", ""),
        deep("{/*", ""),
        deep("{“name”:", ""),
        deep("{name: 'rm', ", ""),
        deep("<invoke name=", ""),
        deep("<|recipient|>rm<|content|>", ""),
        deep("<|recipient|>", ""),
        deep(">>>rm\n{", ""),
        deep("✿FUNCTION✿: rm\n✿ARGS✿: {", ""),
        deep("<|tools_prefix|>[", ""),
        deep("**Note**\n{\"tool\":\"rm\",\"args\":{}}\n", ""),
        format!("rm {}", "{\"a\":".repeat(10_000)),
        format!("rm {{}}{}", "\nrm {}".repeat(5_000)),
        format!("tool: rm{}", "\nx: y".repeat(10_000)),
        format!("{}{{\"tool\":\"rm\",\"args\":{{}}}}", "*_ <b>".repeat(100_000)),
        deep("```python\n{", ""),
        deep("[{", ""),
        format!("{{\"name\":\"ls\",\"arguments\":{}}}", deep("[", "]")),
        format!("\"{}\"", "\\\"".repeat(100_000)),
    ] {
        drop(reading(&text));
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}
