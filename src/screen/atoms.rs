//! What a sentence is made of that orders something from a model. One sentence of evened-out text in,
//! the atoms that it holds out. An atom alone proves nothing: `laws` says which of them together do.

use super::bids::BIDS;
#[cfg(test)]
use super::keys::Keys;
use super::phrases::PHRASES;

/// One feature of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Atom {
    /// A model is meant, and nothing else that the word could mean.
    Ai,
    /// The reader is spoken to as a model.
    Reader,
    /// An assistant, an agent or a model, which may be a person or a machine.
    Agent,
    /// Who reads, retrieves or sums up this very text.
    Reads,
    /// A duty.
    Must,
    /// The reader.
    You,
    /// When something is asked, a thing is to be said.
    Dictated,
    /// When something is asked.
    Asked,
    /// An answer is told to be the only one.
    Only,
    /// From a time on, or every time.
    Forever,
    /// Replies, conversations, sessions: what a model has and a machine has not.
    Speech,
    /// A verb that orders, at the start of a clause.
    Order,
    /// A tool with a name is to be called.
    Tool,
    /// The tools of the reader are to be used.
    Yours,
    /// Something is called or done before or after an answer.
    Around,
    /// The user's data, the conversation, or money goes along.
    Load,
    /// Something is to be kept in the memory of the reader.
    Memory,
    /// To remember a thing that orders.
    Remember,
    /// It claims to stand above other instructions.
    Above,
    /// It claims to come from someone with rights.
    Rank,
    /// A heading that claims to come from the system.
    Heading,
    /// Other sources or instructions are to be dropped.
    Drop,
    /// The task is over, or another one.
    Task,
    /// Checks are to be left out.
    Unchecked,
    /// It must not be noticed.
    Secretly,
    /// What is secret is to be shown or sent.
    Leak,
    /// An action on someone's account, ordered at the start.
    Action,
    /// A thing of the one who orders, which only who stands in for him can reach.
    Mine,
    /// A thing of the one who writes, of which people write to each other too.
    Own,
    /// An order between quotation marks.
    Quote,
    /// A mail address, a link, a purse or an account.
    Target,
    /// The reader is something else from now on.
    Become,
    /// A role without limits.
    Role,
    /// Nothing holds it back.
    Limitless,
    /// What the assistant has to do.
    Assistant,
    /// What the reader's reply has to hold or look like.
    Reply,
    /// The reader's own instructions are to be shown.
    Prompt,
    /// Data are to be fetched and sent, or sent to an address.
    Fetch,
    /// Money is to be moved.
    Money,
    /// A message with these words is to be sent.
    Saying,
    /// It is to be sent or added every time.
    Every,
    /// The task is said to be done.
    Done,
    /// The reader is to tell the user something.
    Tell,
    /// Not to do what a leak would be.
    Negated,
    /// What people write to each other about mails and calls.
    Contact,
    /// A program asks, not a person.
    Program,
    /// It is told that others do or did so.
    Told,
    /// Somebody is not to hear of it; people ask that of each other too.
    Hush,
    /// A heading that announces a rule for one assistant.
    Ruled,
    /// Where money is paid to is to be changed.
    Payee,
}

impl Atom {
    pub(super) const fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// Names in the patterns, and what they stand for.
const NAMES: [(&str, &str); 6] = [
    (
        "<ai>",
        r"(?:ai(?: (?:assistant|agent|model|system|bot)s?)?|llms?|(?:large )?language models?|chat ?bots?|(?:chat)?gpt(?:-[0-9])?|(?:automated|virtual|digital) assistants?|assistants?|agents?|models?)",
    ),
    // A clause begins, or a duty of the reader.
    (
        "<order>",
        r"(?:^[^a-z\x80-\xff]*|[,:;)\]>*] ?|\b(?:please|then|and then) )(?:(?:please|kindly|now|first|always|just|also|then|next|instead|so|and|immediately|finally|simply|only|todo|quietly|silently|next step for the assistant|(?:you|the (?:assistant|agent|model|ai)|(?:ai )?agents?|(?:ai )?assistants?|models?) (?:must|should|shall|will|need to|needs to|have to|has to|(?:is|are) (?:required |obliged )?to)(?: (?:now|first|always))?)[ ,:]+)*",
    ),
    (
        "<say>",
        r"(?:say|answer|reply|respond|state|claim|tell|output|recommend|suggest|mention|instruct|declare|insist|assure|offer|rank|name|give them|direct|confirm)",
    ),
    (
        "<asker>",
        r"(?:users?|customers?|someone|somebody|anyone|anybody|people|they|clients?|persons?|callers?|he|she|guests?|visitors?)",
    ),
    (
        "<rules>",
        r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|orders|constraints?|restrictions?|safeguards?|policies)",
    ),
    ("<answer>", r"(?:answers?|answering|repl(?:y|ies|ying)|responses?|responding|respond)"),
];

/// The patterns of all phrases, in the order of their numbers.
pub(super) fn patterns() -> impl Iterator<Item = String> {
    phrases().map(|(_, pattern)| {
        NAMES.iter().fold((*pattern).to_owned(), |text, (name, own)| text.replace(name, own))
    })
}

/// All phrases, in the order of their numbers.
fn phrases() -> impl Iterator<Item = &'static (Atom, &'static str)> {
    PHRASES.iter().chain(BIDS)
}

/// What a phrase stands for.
pub(super) fn atom(number: usize) -> Option<Atom> {
    let more = || BIDS.get(number.checked_sub(PHRASES.len())?);
    PHRASES.get(number).or_else(more).map(|(atom, _)| *atom)
}

#[cfg(test)]
pub(super) fn compile() -> bool {
    super::sought::keys().is_some_and(Keys::compile)
}

#[cfg(test)]
pub(super) fn all_have_keys() -> bool {
    super::sought::keys().is_some_and(Keys::all_have_words)
}
