//! What to do about a failed call, in one line. Reads nothing but the record.

use super::Case;
use crate::call::Code;

impl Case<'_> {
    /// What to do about a call with this code; `None` for a code of a later version.
    pub(super) fn mend(&self, code: Option<Code>) -> String {
        let Some(code) = code else {
            return "this version does not know the code: use the one that wrote the record"
                .to_owned();
        };
        let tool = &self.entry.tool;
        let approval = self.reply_text("/error/details/approval_id");
        match code {
            Code::SchemaValidationError => format!(
                "mend the arguments as told; `switchboard tools show {tool}` has the schema"
            ),
            Code::PolicyDenied => match self.names("/decision/policies").as_str() {
                "" => "no policy permits it: a reviewer may add one in policies/cedar".to_owned(),
                names => format!("ask the owner of `{names}`, or make another call"),
            },
            Code::ApprovalRequired => format!(
                "have a person decide it (`switchboard approvals show {approval}`), then send it again"
            ),
            Code::ToolTimeout => format!(
                "give less work to one call, or raise `wall` in the sandbox profile of {tool}"
            ),
            Code::ToolOutOfMemory => format!("raise `memory` in the sandbox profile of {tool}"),
            Code::ProcessLimit => format!("raise `processes` in the sandbox profile of {tool}"),
            Code::OutputLimit => {
                format!("ask for less, or raise `output` in the profile of {tool}")
            }
            Code::DiskLimit => format!("write less, or raise `disk` in the profile of {tool}"),
            Code::EgressDenied => format!(
                "allow the host in `egress` of the profile of {tool}, if it is to be reached"
            ),
            Code::OutputSchemaError => format!("mend {tool} or its output schema: they disagree"),
            Code::SandboxUnavailable if self.has_run() => {
                "the container went away: look at the engine's log, and check what the tool has \
                 done before sending it again"
                    .to_owned()
            }
            other => usual(other).to_owned(),
        }
    }
}

/// What to do whatever the tool was.
const fn usual(code: Code) -> &'static str {
    match code {
        Code::UnknownTool => "`switchboard tools list` shows the tools; mend the name",
        Code::ApprovalRejected => "a person said no: do not send it again",
        Code::RateLimited => {
            "wait as long as the reply says, or raise the limit that it names ([admission], or the \
             tool's rate)"
        }
        Code::ExecutionError => "read what the tool wrote: `switchboard ledger show`",
        Code::UpstreamError => "look at the server that the tool asks",
        Code::SandboxUnavailable => "`switchboard doctor` looks at the engine; send it again later",
        Code::Cancelled => "the caller ended it, or went away",
        Code::DeadlineExceeded => "the caller's deadline was too short for it",
        Code::DuplicateCall => "use the first call's result, or give an idempotency key",
        Code::LedgerUnavailable => "free the ledger's disk",
        Code::Skipped => {
            "the reply says which call of its batch kept it from running: mend that one"
        }
        Code::Draining => "the daemon was shutting down: send it again",
        _ => "a fault of switchboard: look for the call's id in its log",
    }
}
