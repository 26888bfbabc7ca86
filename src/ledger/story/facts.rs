//! What one stage of a call did, in lines for a person. Reads nothing but the record.

use serde_json::Value;

use super::{Case, Entry};

impl Case<'_> {
    /// What happened in a stage, one fact a line.
    pub(super) fn facts(&self, stage: &str) -> Vec<String> {
        let lines = match stage {
            "received" => self.received(),
            "admit" => self.admitted(),
            "resolve" => vec![
                labelled("tool", &self.entry.tool),
                labelled("tool digest", self.text("/tool_digest")),
                labelled("catalog digest", self.text("/catalog_digest")),
            ],
            "check" => self.checked(),
            "authorize" => self.authorized(),
            "replies" => self.replied(),
            "queue" => vec![labelled(
                "container",
                match self.text("/run/pool") {
                    "hit" => "one was ready",
                    "waited" => "one became ready while the call waited",
                    "cold" => "one was made for the call",
                    _ => "the call had none when it ended",
                },
            )],
            "sandbox" => self.sandboxed(),
            "tool" => self.ran(),
            "egress" => self.list("/run/egress").iter().map(attempt).collect(),
            _ => self.shaped(),
        };
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    fn received(&self) -> Vec<String> {
        let bytes = self.number("/arguments_bytes").unwrap_or(0);
        let files = self.list("/files_in").len();
        let mut first = format!("at {}, {bytes} bytes of arguments", self.entry.received);
        if files > 0 {
            first.push_str(&format!(", {files} files"));
        }
        vec![
            first,
            labelled("conversation", &self.entry.conversation),
            labelled("trace", self.text("/trace_id")),
        ]
    }

    fn admitted(&self) -> Vec<String> {
        let Entry { caller, tenant, .. } = self.entry;
        vec![
            format!("as `{caller}` of tenant `{tenant}`"),
            labelled("roles", &self.names("/roles")),
            labelled("by", self.text("/proof")),
        ]
    }

    fn checked(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .list("/repairs")
            .iter()
            .map(|repair| {
                let part =
                    |name: &str| repair.get(name).and_then(Value::as_str).unwrap_or_default();
                let (kind, pointer, from, to) =
                    (part("kind"), part("pointer"), part("from"), part("to"));
                format!("repaired ({kind}) {pointer}: {from} to {to}")
            })
            .collect();
        let violations = self.reply.pointer("/error/details/violations");
        for violation in violations.and_then(Value::as_array).into_iter().flatten().take(8) {
            let part = |name: &str| violation.get(name).and_then(Value::as_str).unwrap_or_default();
            lines.push(format!("{}: {}", part("pointer"), part("message")));
        }
        lines.push(labelled("arguments digest", self.text("/arguments_digest")));
        lines
    }

    fn authorized(&self) -> Vec<String> {
        let Some(decision) = self.fact("/decision") else {
            return vec![
                "no decision on the arguments: policy hides this tool from the caller".to_owned(),
                labelled("policies", self.text("/policy_version")),
            ];
        };
        // Records of earlier versions have no outcome.
        let outcome = decision.get("outcome").and_then(Value::as_str).unwrap_or("decided");
        let names = self.names("/decision/policies");
        let by = if names.is_empty() { "no policy permits it" } else { &names };
        let approval = |name: &str| self.text(&format!("/decision/approval/{name}"));
        let approved = match approval("by") {
            "" => String::new(),
            by => format!(
                "approved by `{by}` of tenant `{}`, approval {}, asked by call {}",
                approval("tenant"),
                approval("id"),
                approval("asked_by")
            ),
        };
        let waited = self.number("/latency_us/approval").unwrap_or(0) / 1000;
        vec![
            format!("{outcome}: {by}"),
            approved,
            if waited > 0 { format!("waited {waited} ms for a person") } else { String::new() },
            labelled("taint of the conversation", &self.names("/session/taint")),
            self.flip(),
            labelled("policies", self.text("/decision/version")),
        ]
    }

    /// What a candidate policy set says otherwise.
    fn flip(&self) -> String {
        match (self.text("/shadow/outcome"), self.names("/shadow/policies")) {
            ("", _) => String::new(),
            (outcome, names) if names.is_empty() => {
                format!("the candidate policies say {outcome}: no policy permits it")
            }
            (outcome, names) => format!("the candidate policies say {outcome}: {names}"),
        }
    }

    fn replied(&self) -> Vec<String> {
        let first = self.reply_text("/error/details/first_call_id");
        if !first.is_empty() {
            return vec![format!("the same call was made before: {first}")];
        }
        let age = self.reply.pointer("/metadata/cache_age_ms").filter(|age| !age.is_null());
        vec![match age {
            Some(age) => format!("answered from a result that was {age} ms old"),
            None if self.cached() => "answered with the result of an equal call".to_owned(),
            None => "no earlier result was used".to_owned(),
        }]
    }

    fn sandboxed(&self) -> Vec<String> {
        let limit = |name: &str| self.number(&format!("/run/limits/{name}")).unwrap_or(0);
        vec![
            labelled("image", self.text("/run/image_digest")),
            labelled("container", self.text("/run/container")),
            format!(
                "limits: {} ms, {} MiB memory, {} thousandths of a core, {} processes, {} KiB output, \
                 {} MiB disk",
                limit("wall_us") / 1000,
                limit("memory") >> 20,
                limit("cpu_millis"),
                limit("processes"),
                limit("output") >> 10,
                limit("disk") >> 20,
            ),
        ]
    }

    fn ran(&self) -> Vec<String> {
        let number = |name: &str| self.number(&format!("/run/{name}")).unwrap_or(0);
        let killer = self.text("/run/killed_by");
        let by = if killer.is_empty() { "by itself" } else { killer };
        vec![
            format!("ended: {} ({by})", self.text("/run/exit")),
            format!(
                "used {} ms of processor, {} MiB at most; wrote {} and {} bytes",
                number("cpu_us") / 1000,
                number("peak_memory") >> 20,
                number("stdout_bytes"),
                number("stderr_bytes"),
            ),
        ]
    }

    fn shaped(&self) -> Vec<String> {
        vec![
            format!(
                "{} bytes of reply, digest {}",
                self.entry.reply_bytes, self.entry.reply_digest
            ),
            labelled("files", &self.list("/files_out").len().to_string()),
            labelled("taint of the reply", &self.names("/taint")),
        ]
    }
}

fn labelled(label: &str, value: &str) -> String {
    if value.is_empty() || value == "0" { String::new() } else { format!("{label}: {value}") }
}

fn attempt(attempt: &Value) -> String {
    let text = |name: &str| attempt.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| attempt.get(name).and_then(Value::as_u64).unwrap_or(0);
    let allowed = attempt.get("allowed") == Some(&Value::Bool(true));
    let secrets = attempt.get("secrets").and_then(Value::as_array).into_iter().flatten();
    let secrets = secrets.filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    let mut line = format!(
        "{}:{} {}",
        text("host"),
        number("port"),
        if allowed { "allowed" } else { "refused" }
    );
    if !text("reason").is_empty() {
        line.push_str(&format!(" ({})", text("reason")));
    }
    if !secrets.is_empty() {
        line.push_str(&format!(", with secrets {secrets}"));
    }
    let (sent, received, took) = (number("sent"), number("received"), number("duration_us"));
    line.push_str(&format!(", {sent} bytes out, {received} in, {} ms", took / 1000));
    line
}
