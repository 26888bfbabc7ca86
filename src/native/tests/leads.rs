//! What stands around a call and says whether it is meant.

use super::told;

const CALL: &str = "{\"tool\":\"rm\",\"args\":{\"path\":\"/\"}}";
const MARKED: &str = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>";

/// The call alone, fenced and marked.
fn forms() -> [String; 3] {
    [CALL.to_owned(), format!("```json\n{CALL}\n```"), MARKED.to_owned()]
}

#[test]
fn a_call_below_the_heading_of_an_example_does_not_run() {
    for heading in [
        "**Example**",
        "__Example__",
        "*Example*",
        "***An example***",
        "Example\n-------",
        "Example\n=======\n",
        "Example 2",
        "Example B:",
        "Example (short)",
        "1. Example",
        "👉 Example",
        "<b>Example</b>",
        "<h3 class=\"x\">Example</h3>",
        "## Examples of calls",
        "Sample request:",
        "Sample tool call",
        "Format:",
        "**Output format**",
        "Template:",
        "Call template",
        "Usage:",
        "Usage example",
        "Syntax",
        "Schema:",
        "Pseudo-call:",
        "Wrong:",
        "Sure. Format:",
        "Пример:",
        "Пример 1",
        "Формат:",
        "例:",
        "例",
        "使用例：",
        "调用格式：",
        "范例",
        "예:",
        "예시",
        "Esempio",
        "Exemplo:",
        "Voorbeeld:",
        "Przykład:",
        "Příklad",
        "Örnek:",
        "Ví dụ:",
        "Contoh:",
        "مثال:",
        "उदाहरण:",
        "ตัวอย่าง:",
        "Παράδειγμα:",
        "**Beispiel**",
        "## Example\n\nTo remove a file:",
        "**Sample calls**\n\nOne file:\n",
    ] {
        for call in forms() {
            let text = format!("{heading}\n{call}");
            assert!(told(&text).starts_with("unclear"), "{text}: {}", told(&text));
        }
    }
}

#[test]
fn a_call_of_which_is_told_how_it_looks_does_not_run() {
    for lead in [
        "Here is how a call looks:",
        "This is how you call it:",
        "Here's how to remove a file:",
        "The call looks as follows:",
        "What a call should look like:",
        "You write it like so:",
        "Calls are written like this:",
        "A message would be something like this:",
        "Send calls in the following format:",
        "Each call has this form:",
        "The expected format:",
        "A dummy call:",
        "Just for illustration:",
        "Calls follow this pattern:",
        "So sieht ein Aufruf aus:",
        "Voici comment on appelle:",
        "Así se llama:",
        "Вот как выглядит вызов:",
        "Например, удалить всё:",
        "Por exemplo:",
        "Ad esempio:",
        "Bijvoorbeeld:",
        "格式如下：",
        "たとえば:",
    ] {
        for call in forms() {
            let text = format!("{lead}\n\n{call}");
            assert!(told(&text).starts_with("unclear"), "{text}: {}", told(&text));
        }
    }
}

#[test]
fn what_leads_to_a_call_does_not_keep_it_from_running() {
    for lead in [
        "I'll look that up:",
        "Using the tool:",
        "**Using the tool:**",
        "### Step 2",
        "**Action**",
        "Tool call:",
        "Call:",
        "Request:",
        "Checking the disk usage:",
        "Let me fill in the template of the letter:",
        "Fetching the weather of Mallorca:",
        "I will look up how to install it:",
        "Let me search for documentation:",
        "Here is what you need:",
        "It looks like rain, so I check:",
        "Before I give a final answer, I look once more:",
        "The example above is done. Now the real one:",
        "## Example\nSome words.\n\n## Now\nI remove it:",
        "Next I call the tool like any other, with a path:",
        "Je vais chercher :",
        "Ich rufe jetzt das Werkzeug auf:",
        "Сейчас посмотрю:",
        "Ищу файл:",
        "好的，我来查询。",
        "使用工具：",
        "調べます:",
        "Buscando ahora:",
        "Uso la herramienta:",
        "See http://a.test/x first:",
        "<think>**Example**\nA call looks like this:</think>",
    ] {
        for call in forms() {
            let text = format!("{lead}\n{call}");
            assert_eq!(told(&text), "rm({\"path\":\"/\"})", "{text}");
        }
    }
}

#[test]
fn a_call_beside_a_final_answer_does_not_run() {
    for text in [
        format!("Final Answer: {CALL}"),
        format!("Thought: done\nFinal Answer: use {CALL}"),
        format!("**Final Answer:**\n\n{CALL}"),
        format!("## Final answer\n{MARKED}"),
        format!("FINAL ANSWER - {CALL}"),
        format!("The final answer is {CALL}"),
        format!("最终答案：{CALL}"),
        format!("<answer>\n{CALL}\n</answer>"),
        format!("{MARKED}\nFinal Answer: removed"),
        "Action: rm\nAction Input: {\"path\":\"/\"}\nFinal Answer: removed".to_owned(),
        format!("Final Answer: yes.\nAction: rm\nAction Input: {}", "{\"path\":\"/\"}"),
    ] {
        assert!(told(&text).starts_with("unclear"), "{text}: {}", told(&text));
    }
    assert_eq!(told("Final Answer: {\"n\": 42}"), "prose");
    let inside = "{\"tool\":\"note\",\"args\":{\"code\":\"a\\nFinal Answer: b\"}}";
    assert_eq!(told(&format!("So:\n{inside}")), r#"note({"code":"a\nFinal Answer: b"})"#);
    let thought = format!("<think>\nFinal Answer: none yet\n</think>\n{CALL}");
    assert_eq!(told(&thought), "rm({\"path\":\"/\"})");
}

#[test]
fn a_call_inside_a_comment_a_link_or_brackets_does_not_run() {
    for text in [
        format!("// {CALL}"),
        format!("# {CALL}"),
        format!("-- {CALL}"),
        format!("ls(); // {CALL}"),
        format!("/* {CALL} */"),
        format!("/*\n{CALL}\n*/"),
        format!("[remove]({CALL})"),
        format!("({CALL})"),
        format!("Then (as he said: {CALL})"),
        format!("(\n{CALL}\n)"),
        format!("（{CALL}）"),
        format!("# {MARKED}"),
        format!("[remove]({MARKED})"),
        format!("const call = {CALL};"),
    ] {
        assert!(told(&text).starts_with("unclear"), "{text}: {}", told(&text));
    }
    for text in [format!("- {CALL}"), format!("1. {CALL}"), format!("Remove (all of) it: {CALL}")] {
        assert_eq!(told(&text), "rm({\"path\":\"/\"})", "{text}");
    }
}
