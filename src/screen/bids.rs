//! How text from outside bids an assistant that comes to read it: who is meant by reading it, and what
//! that one is to do or to hide. More of `phrases`, in the same form.

use super::atoms::Atom;

/// Patterns; each is matched against one sentence.
pub(super) const BIDS: &[(Atom, &str)] = &[
    // Whoever reads this very message, if that is a machine.
    (
        Atom::Reader,
        r"(?:看到|读到|读取|收到|处理|检索到?)(?:了)?(?:此|本|这)(?:条|段|封|份|个|篇|则)?(?:消息|信息|邮件|来信|信|网页|页面|页|文档|文件|文章|文字|内容|帖子|帖|留言|记录|报告|附件|段|条|文)[^,]{0,12}的[^,]{0,18}(?:助手|智能体|机器人|ai|语言模型|大模型)",
    ),
    (
        Atom::Reader,
        r"(?:^|[,:;\])]|。|】) ?给[^,:]{0,60}(?:助手|智能体|机器人|语言模型|大模型|ai(?:系统)?):",
    ),
    // An assistant is asked by name, and a thing is to be done with it; what it does for people is none.
    (
        Atom::Reader,
        r"(?:^|[,:;\])]|。|】) ?请(?:所有|各位|各个|各|每个|全体)(?:的)?(?:ai|人工智能)?(?:系统|助手|智能体|语言模型|大模型|机器人|ai)(?:系统|们)?(?:从|自|将|把|在|务必|立即|立刻|一律|统一|直接|记住|不要|不得|忽略|删除|更新|转发|批准|按)",
    ),
    (
        Atom::Reader,
        r"(?:^|[,:;\])]|。|】) ?(?:ai|人工智能|智能)?(?:助手|智能体|语言模型|大模型)请(?:务必|立即|立刻|一律|直接|记住|不要|把|将)",
    ),
    (
        Atom::Reader,
        r"^--[^a-z]{0,6}(?:(?:note |message )?(?:to|for) )?(?:the |any |all )?(?:ai|ai assistant|assistant|agent|llm|language model|chatbot|model)s?[:,] ?(?:always|never|you|please|do|don't|ignore|say|answer|tell|recommend|treat|when|if|from)\b.*-->",
    ),
    (
        Atom::Reader,
        r"(?:^[^a-z]*|[.;!?\])>] ?)(?:assistant|ai|chatbot|llm|gpt), (?:disregard|instruct|update|mark|hide|delete|forward|treat|recommend|reply|respond|remember|keep)\b",
    ),
    (Atom::Order, r"<order>(?:disregard|instruct|mark|update|hide|delete|forward)\b"),
    (Atom::Reads, r"看到(?:此|本|这)(?:条|段|封|份|消息|邮件|页|文|内容|帖)"),
    (
        Atom::Dictated,
        r"\bwhen(?:ever)? (?:summari[sz]ing|indexing|quoting|parsing|retrieving|translating) (?:this|the following) (?:document|page|text|file|passage|article|e-?mail|message|report|table)\b.*\b(?:model|assistant|ai|agent|chatbot|llm)s? (?:must|should|shall|has to|have to|is to|are to|needs? to) (?:always )?<say>\b",
    ),
    (Atom::Forever, r"(?:从|自)?即日起"),
    (
        Atom::Above,
        r"\b(?:this|these|the following|what follows)\b[^.]{0,30}\b(?:overrides?|supersedes?|outranks?|(?:has|have|takes?) (?:priority|precedence) over)\b (?:all |any )?(?:of )?your (?:own )?(?:rules|instructions?|guidelines|training|prompt|safety rules|system prompt|orders)\b",
    ),
    (
        Atom::Ruled,
        r"(?:^[^a-z]*|[.:;!?\])>] ?)(?:(?:a|an|the|one|new|updated|additional|important|standing|special|permanent|extra) )*(?:rule|order|command|directive|instruction) for (?:the|this|your|my) (?:ai|assistant|ai assistant|chatbot|agent|bot|model)\b ?:",
    ),
    (
        Atom::Ruled,
        r"(?:新|附加|补充|特别|永久)(?:的)?(?:规则|规定|指令|命令)[^,:]{0,9}(?:给|致|对)[^,:]{0,9}(?:助手|智能体|机器人)[^,:]{0,6}:",
    ),
    (
        Atom::Prompt,
        r"<order>(?:reveal|disclose|leak|recite) your (?:own )?(?:prompt|instructions?|rules|guidelines|configuration)\b|(?:透露|泄露|公开|交出)你的(?:系统)?(?:提示词?|指令|规则|设定)",
    ),
    (
        Atom::Leak,
        r"<order>(?:reveal|disclose|leak|hand out|expose)\b.*\b(?:list of (?:all )?(?:the |our |your )?(?:customers|clients|users|employees)|(?:customer|client|user) list)\b",
    ),
    (
        Atom::Leak,
        r"(?:把|将)[^,]{0,60}(?:密钥|私钥|密码|令牌|凭证|口令|客户名单|身份证号)[^,]{0,12}(?:写|放|附|填|贴)(?:在|进|入|到)[^,]{0,12}(?:答复|回复|回答|应答|答案)",
    ),
    (
        Atom::Hush,
        r"\b(?:confirm|mention|tell|report|say) (?:this |it |so )?(?:to )?(?:nobody|no ?one)\b|\bhide (?:this|the) (?:sentence|text|paragraph|note|message|instruction|line|passage)s? from (?:the |any |all )?(?:readers?|users?|humans?|customers?|operators?|reviewers?)\b|\bsecrecy is required\b|\bkeep (?:this|it) (?:secret|hidden) from\b|\b(?:do not|don't|never) (?:ever )?mention\b",
    ),
    (
        Atom::Hush,
        r"(?:对|向)(?:任何人|所有人|他人|用户|客户)(?:都)?(?:保密|隐瞒)|不要(?:再)?(?:提|提及|提到)|不得(?:引用|提及|提到)|隐瞒",
    ),
    (Atom::Negated, r"(?:不|勿|别|未)(?:再|会|要)?(?:写入|存入|加入|保存到|记入)"),
    (
        Atom::Payee,
        r"\b(?:update|change|replace|redirect|switch|overwrite)\b.*\b(?:payment (?:data|details|account|address)|bank (?:account|details|data)|account number|iban|payee)\b|(?:收款|付款|银行|结算)[^,]{0,9}账[^,]{0,3}(?:改|换|变更|更新)(?:为|成)|引导到.{0,60}付款",
    ),
];
