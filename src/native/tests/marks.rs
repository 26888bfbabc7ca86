//! The notations of models that have their own, marked and unmarked.

use super::{Reading, reading, told};

#[test]
fn a_call_between_marks_of_a_models_own_is_the_call() {
    for text in [
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>rm\n```json\n{\"path\":\"p\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>rm<｜tool▁sep｜>{\"path\":\"p\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
        "I remove it.<|tool▁call▁begin|>rm<|tool▁sep|>{\"path\":\"p\"}<|tool▁call▁end|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.rm:0<|tool_call_argument_begin|>{\"path\":\"p\"}<|tool_call_end|><|tool_calls_section_end|>",
        "<|from|>assistant\n<|recipient|>rm\n<|content|>{\"path\":\"p\"}<|stop|>",
        ">>>rm\n{\"path\":\"p\"}",
        "✿FUNCTION✿: rm\n✿ARGS✿: {\"path\":\"p\"}",
        "✿FUNCTION✿：rm\n✿ARGS✿：{'path': 'p'}\n✿RESULT✿",
        "<|tools_prefix|>[{\"rm\": {\"path\":\"p\"}}]<|tools_suffix|>",
        "<|python_start|>{\"name\":\"rm\",\"parameters\":{\"path\":\"p\"}}<|python_end|>",
        "{\"functionCall\":{\"name\":\"rm\",\"args\":{\"path\":\"p\"}}}",
        "[{\"functionCall\":{\"name\":\"rm\",\"args\":{\"path\":\"p\"}}}]",
        "{\"toolCall\":{\"toolName\":\"rm\",\"toolInput\":{\"path\":\"p\"}}}",
        "{\"recipient_name\":\"functions.rm\",\"parameters\":{\"path\":\"p\"}}",
        "{\"tool_uses\":[{\"recipient_name\":\"functions.rm\",\"parameters\":{\"path\":\"p\"}}]}",
        "{\"action\":{\"name\":\"rm\",\"args\":{\"path\":\"p\"}}}",
    ] {
        assert_eq!(told(text).replace(": ", ":"), r#"rm({"path":"p"})"#, "{text}");
    }
}

#[test]
fn several_calls_between_such_marks_run_together() {
    for text in [
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>rm\n```json\n{\"path\":\"p\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.rm:1<|tool_call_argument_begin|>{\"path\":\"p\"}<|tool_call_end|>",
        ">>>ls\n{}\n>>>rm\n{\"path\":\"p\"}",
        "✿FUNCTION✿: ls\n✿ARGS✿: {}\n✿FUNCTION✿: rm\n✿ARGS✿: {\"path\":\"p\"}",
        "<|tools_prefix|>[{\"ls\":{}},{\"rm\":{\"path\":\"p\"}}]<|tools_suffix|>",
    ] {
        assert_eq!(told(text), "ls({}) rm({\"path\":\"p\"})", "{text}");
    }
}

#[test]
fn marks_with_a_flaw_run_nothing() {
    for text in [
        "<｜tool▁call▁begin｜>rm<｜tool▁sep｜>{\"path\":\"/var",
        "<|tool_call_begin|>functions.rm:0<|tool_call_argument_begin|>",
        "✿FUNCTION✿: rm\n✿ARGS✿: {\"path\":\"p\"}\n✿RESULT✿: done",
        "<｜tool▁call▁begin｜>rm<｜tool▁sep｜>{\"path\":\"p\"}<｜tool▁call▁end｜><｜tool▁outputs▁begin｜>done",
        ">>>rm\n{\"path\":\"p",
        "<|tools_prefix|>[{\"rm\":{\"pa",
        "For example:\n✿FUNCTION✿: rm\n✿ARGS✿: {\"path\":\"p\"}",
        "// <|tool_call_begin|>functions.rm:0<|tool_call_argument_begin|>{\"path\":\"p\"}<|tool_call_end|>",
    ] {
        assert!(told(text).starts_with("unclear"), "{text}: {}", told(text));
    }
    for text in [
        "A call opens with <｜tool▁call▁begin｜>.",
        "rm:\n  Berlin: 12 °C\n  Rome: 19 °C",
        "The marks ✿FUNCTION✿ and ✿ARGS✿ are those of Qwen.",
        ">>>all\nHello, {you}.",
        ">>> rm\n> {\"path\":\"p\"}\nwas what they wrote.",
        "<|channel|>final<|message|>You can use rm to remove {it}.",
        "<|tool_response|>rm: {\"path\":\"p\"}",
    ] {
        assert_eq!(told(text), "prose", "{text}");
    }
}

#[test]
fn a_text_that_is_nothing_but_a_call_in_another_notation_is_told_the_form_to_send() {
    for text in [
        "[rm(path=\"p\")]",
        "[ls(), rm(path=\"p\")]",
        "<|python_start|>[rm(path=\"p\")]<|python_end|>",
        "<function_calls>rm(path=\"p\")</function_calls>",
        "<function_calls>\nrm(path=\"p\")\n</function_calls>",
        "call rm(path='p')",
        "result = rm(path='p')",
        "default_api.rm(path='p');",
        "```python\nprint(default_api.rm(path='p'))\n```",
        "rm {\"path\":\"p\"}",
        "rm: {\"path\":\"p\"}",
        "`rm` {\"path\": \"p\"}",
        "rm\n{\"path\":\"p\"}",
        "rm\n```json\n{\"path\":\"p\"}\n```",
        "/rm {\"path\":\"p\"}",
        "Tool: rm\n{\"path\":\"p\"}",
        "call rm with {\"path\":\"p\"}",
        "rm arguments: {\"path\":\"p\"}",
        "rm {\"path\":\"p\"}\nls {}",
        "rm {\"path\":\"/var/lo",
        "Search the web? <think>\n</think>rm {\"path\":\"p\"}",
        "{\"rm\": {\"path\":\"p\"}}",
        "{'rm': {'path': 'p'}}",
        "[{\"rm\": {\"path\":\"p\"}}]",
        "{\"tool_call\": {\"rm\": {\"path\":\"p\"}}}",
        "tool: rm\nargs:\n  path: p",
        "```yaml\ntool: rm\nargs:\n  path: p\n```",
        "tool_call:\n  name: rm\n  arguments:\n    path: p",
        "- tool: rm\n  args: {path: p}",
        "**Tool:** rm\n**Arguments:** path=p",
        "tool = \"rm\"\nargs = { path = \"p\" }",
        "rm:\n  path: p",
        "Action: rm[p]",
        "<rm>\n<path>p</path>\n</rm>",
        "<rm path=\"p\"/>",
        "<tool>rm</tool><args>{\"path\":\"p\"}</args>",
        "[rm: {\"path\":\"p\"}]",
        "rm path=p --force=true",
        "<tool_use>\n<name>rm</name>\n<arguments>{\"path\":\"p\"}</arguments>\n</tool_use>",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"rm\">\n<｜DSML｜parameter name=\"path\" string=\"true\">p</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "<|tool_start|>rm path=p<|tool_stop|>",
        "```rm\n{\"path\":\"p\"}\n```",
    ] {
        let Reading::Unclear(unclear) = reading(text) else {
            panic!("{text}: {}", told(text));
        };
        assert!(
            unclear.send["name"] == "rm" || unclear.send["name"] == "ls",
            "{text}: {unclear:?}"
        );
    }
}

#[test]
fn a_text_that_only_names_a_tool_is_an_answer() {
    for text in [
        "rm",
        "Use rm.",
        "rm {path}",
        "rm (the tool) removes a file (or more)",
        "rm removes {\"path\":\"p\"}",
        "{\"rm\": 3}",
        "{\"rm\": {\"path\":\"p\"}, \"ls\": {}}",
        "{\"tools\": {\"count\": {}}}",
        "tool: rm",
        "Name: rm\nPurpose: it removes a file.",
        "Tool: rm\nInput: a path\nIt removes what stands there.",
        "other {\"path\":\"p\"}",
        "{\"other\": {\"path\":\"p\"}}",
        "<p>rm removes</p>",
        "```bash\nrm {\"path\":\"p\"}\n```",
        "<example><name>rm</name></example>",
    ] {
        assert_eq!(told(text), "prose", "{text}");
    }
}
