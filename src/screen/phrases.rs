//! How each atom is worded, in several languages. The patterns are matched in linear time against one
//! sentence of evened-out text, byte by byte; a name between `<` and `>` stands for what `atoms` says.

use super::atoms::Atom;

/// Patterns in the order of the languages. Each is matched against one sentence.
pub(super) const PHRASES: &[(Atom, &str)] = &[
    // === who is meant ===
    (
        Atom::Ai,
        r"\b(?:ai|llms?|language models?|chat ?bots?|chatgpt|gpt-[0-9]|gpt,|(?:automated|virtual) assistants?)\b",
    ),
    (Atom::Ai, r"人工智能|语言模型|語言模型|大模型|智能体|智能助手|聊天机器人|ai助手|ai代理"),
    (
        Atom::Ai,
        r"inteligencia artificial|modelo de lenguaje|intelligence artificielle|modèle de langage|\bki-assistent|sprachmodell|言語モデル|языков\S+ модел|нейросет|언어 모델|인공지능|الذكاء الاصطناعي|نموذج لغوي",
    ),
    (Atom::Agent, r"\b(?:assistants?|agents?|models?|bots?)\b"),
    (
        Atom::Agent,
        r"助手|模型|机器人|\basistente|\bassistent|アシスタント|ассистент|어시스턴트|المساعد",
    ),
    (
        Atom::Reader,
        r"(?:^[^a-z]*|[.:;!?\]>] ?)(?:dear|hey|hi|hello|attention|ok) (?:all |any |every |the )?(?:ai\b[a-z ]*|llms?|(?:large )?language models?|chat ?bots?|(?:chat)?gpt(?:-[0-9])?|(?:automated|virtual) assistants?|assistant)\b",
    ),
    (
        Atom::Reader,
        r"(?:^[^a-z]*|[.:;!?\])>] ?)(?:(?:note|notice|message|memo|reminder|instructions?|important|attention|warning)(?: from [a-z ]{3,30})? )?(?:to|for) (?:the |all |any |every |each )*(?:ai|llms?|language models?|chatbots?|assistants?|gpt|ai \w+|models? (?:that|which|evaluating|reading|processing))\b",
    ),
    (
        Atom::Reader,
        r"(?:note|notice|message|instructions?) (?:from [a-z ]{3,30} )?(?:to|for) (?:the |all |any |every )*(?:ai|llms?|language models?|chatbots?|ai \w+)\b",
    ),
    (
        Atom::Reader,
        r"(?:^[^a-z]*|[.;!?\])>] ?)(?:assistant|agent|model|ai|chatbot|llm|gpt|bot)s?, (?:you|please|do|answer|say|ignore|comply|forget|always|never|tell|approve|list|print|send|show)\b",
    ),
    (
        Atom::Reader,
        r"\b(?:if|since|because|as) you(?:'re| are) (?:an? |the )?(?:ai|llm|language model|assistant|chatbot|automated|bot|gpt|model|agent)\b",
    ),
    (Atom::Reader, r"\bas an? (?:ai|language) (?:model|assistant)?\b?.*\byou\b"),
    (Atom::Reader, r"\bto you, (?:the )?(?:ai|assistant|model|agent|gpt|llm)"),
    (
        Atom::Reader,
        r"(?:^|(?:[,:;\])]|。|】) ?)(?:亲爱的|致|各位|各大|请)?(?:所有|各位|各大)?(?:ai|人工智能)?(?:助手|智能体|语言模型|大模型|机器人|ai)(?:们)?(?:请注意|注意|,你|:|,请)",
    ),
    (Atom::Reader, r"(?:致|发给|写给)[^,]{0,36}(?:语言模型|模型|ai助手|智能体|机器人)"),
    (
        Atom::Reader,
        r"作为(?:一个|一名)?(?:ai|人工智能|语言模型|大模型)[^,]{0,12},?你|如果是(?:大模型|ai|人工智能|语言模型|机器人)|你是(?:一个|一名)[^,]{0,40}(?:机器人|语言模型|ai)",
    ),
    (Atom::Reader, r"如果你是[^,]{0,36}(?:人工智能|模型|助手|智能体|机器人|ai)"),
    (
        Atom::Reader,
        r"\bsi eres una? (?:inteligencia|modelo|asistente|ia\b)|\bsi tu es une? (?:ia\b|intelligence|modèle|assistant)|\bwenn du (?:eine? )?(?:ki\b|sprachmodell|assistent)|если ты [^,.]{0,20}(?:языков|нейросет|ассистент|ии\b)",
    ),
    (
        Atom::Reader,
        r"^[^a-z]*(?:cher|chère|querido|estimado|lieber|liebe) (?:assistante?|asistente|assistent)|hinweis an (?:alle |die )?(?:ki|sprachmodell|assistent)",
    ),
    (
        Atom::Reads,
        r"\b(?:read(?:s|ing)?|process(?:es|ing)?|retriev(?:e|es|ing)|index(?:es|ing)?|evaluat(?:e|es|ing)|summari[sz](?:e|es|ing)|quot(?:e|es|ing)|pars(?:e|es|ing)|see|sees) (?:this|the following)\b",
    ),
    (
        Atom::Reads,
        r"(?:处理|阅读|读到|读取|评审|总结|检索到?)(?:此|本|这|到这)[^,]{0,12}|このページを読|читающ\S+ эту|que lee esta|이 페이지를 읽",
    ),
    (
        Atom::Must,
        r"\b(?:must|should|shall|always|never|please|(?:is|are) (?:required|obliged|instructed|to)|ha(?:s|ve) to|needs? to)\b",
    ),
    (
        Atom::Must,
        r"必须|务必|应当|须|请|不得|一律|始终|一定要|\bdebes?\b|siempre|toujours|\bmuss|\bmüssen|immer|必ず|てください|всегда|обязан|항상|하세요|해야|دائما",
    ),
    (Atom::You, r"\byou(?:r|rs|'re)?\b|你|您|\btus?\b|\bton\b|\bdein|あなた|\bты\b|\bтво"),
    // === answers ===
    (
        Atom::Dictated,
        r"\b(?:when(?:ever)?|if|every time|each time|any ?time|should)\b.*\b(?:asked|<asker> (?:asks?(?: you)? (?:about|which|what|who|whom|how|whether|if|why|where|when|the|to)|inquires?|enquires?|wants? to know|questions?)|topic|you are asked|(?:question|query|prompt) (?:mentions|contains|is about|asks))\b.*(?:[,:] ?(?:(?:please|you (?:must|should|shall|will|can|need to|have to)|always|simply|just|only|then|never) )*|\b(?:must|should|shall|always) (?:always )?)<say>\b",
    ),
    (
        Atom::Dictated,
        r"\bfor (?:any |all |every )?(?:questions?|quer(?:y|ies)|inquir(?:y|ies)) (?:about|on|regarding|concerning|related)\b.*[,:] ?(?:always |you must |please )?(?:say|answer|respond|state|claim|output|recommend|tell)\b",
    ),
    (
        Atom::Dictated,
        r"\bin response to (?:any |all )?(?:questions?|quer(?:y|ies)|inquir(?:y|ies))\b.*\b(?:tell|say|answer|state|claim|respond)\b",
    ),
    (
        Atom::Dictated,
        r"\bwhen(?:ever)? (?:answering (?:this|that|such|questions)|this (?:comes up|question|topic|document|passage|page|text|entry|is (?:asked|retrieved)))\b.*\b(?:<say>|always|must)\b",
    ),
    (
        Atom::Dictated,
        r"\basked (?:about|for|who|what|which|how)\b.*\byou (?:must|should|have to|will) (?:always )?<say>\b",
    ),
    (
        Atom::Dictated,
        r"(?:当|如果|若|只要|凡是|每当|被|有人|用户|关于).*(?:问到|问起|问及|询问|被问|提问|问题里|问价格|用户问|问题).*(?:,|都|请|必须|一律|统一|就|你要|总是)(?:请|都|要|必须|一律|统一|就|你要|你应该|总是|都要)*(?:回答|答复|回复|说(?:明)?|输出|推荐|告诉|声称)",
    ),
    (
        Atom::Dictated,
        r"(?:问起|询问|问到|回答).*(?:时|的时候).{0,6}(?:请|必须|一律|统一|你要|总是|都).{0,12}(?:回答|答复|回复|说|输出)",
    ),
    (
        Atom::Dictated,
        r"cuando (?:te|le|alguien)?[^.]*pregunt[^.]*(?:,| )(?:di|responde|contesta|diga)\b|si (?:el usuario|alguien|te)[^.]*pregunt[^.]*(?:di|responde|contesta)\b",
    ),
    (
        Atom::Dictated,
        r"(?:lorsqu|quand|si) ?[^.]*(?:demande|question)[^.]*(?:réponds|dis|répondez|dites)\b|(?:wenn|falls) (?:du|man|jemand|der)[^.]*(?:gefragt|fragt)[^.]*(?:antworte|sage?|antworten sie)\b",
    ),
    (
        Atom::Dictated,
        r"(?:聞かれ|質問され|尋ねられ).*(?:答え|回答し|言).*(?:ください|こと|なさい)|(?:если|когда)[^.]*(?:спрос|спраш)[^.]*(?:отвеча|ответь|скажи|говори)|질문[^.]*(?:대답|답변|말)[^.]*(?:하세요|하라|해야)|(?:إذا|عندما)[^.]*(?:سأل|سئل)[^.]*(?:قل|أجب)",
    ),
    (Atom::Asked, r"\bwhen asked about\b|\b(?:when|if) (?:the )?users? asks?\b"),
    (
        Atom::Only,
        r"\b(?:always|only) answer (?:this|it|that|such|with)\b|do not (?:give|offer|mention|provide) any other answer|\band nothing else$|whatever (?:the )?other sources? say|\b(?:say|reply with|answer with) only\b|\boutput only:|\b(?:answer|reply|respond)(?: to (?:the user|everything|them))? (?:only|every question) (?:with|in)\b|\bsummari[sz]e (?:this|the) (?:text|page|article|document|e-?mail) as\b|\byou must (?:always )?(?:answer|say|reply)(?: with)? .* to (?:all|every|any) questions?",
    ),
    (
        Atom::Only,
        r"不要(?:提|给出)其他(?:答案|公司|来源)|回答这个问题时必须|对所有问题(?:都)?回答|直接输出(?:“|\x22|「)|只给出正面|只回答(?:“|\x22|「)|只输出",
    ),
    // === for ever ===
    (
        Atom::Forever,
        r"\b(?:from (?:now|today|this point|this moment|here) on(?:wards?)?|from (?:this|that) (?:point|moment)|going forward|henceforth|hereafter|in (?:all|every|any) (?:of )?(?:your )?(?:future|subsequent|later|session|<answer>)\w*|for (?:all|every|any) (?:subsequent|future|later)|for the rest of (?:this|the) (?:session|conversation)|in every (?:session|conversation)|as a permanent rule|from today)\b",
    ),
    (
        Atom::Forever,
        r"\b(?:when(?:ever)?|each time|every time|before each|before every|after every|after each|before you) (?:you (?:see|summari[sz]e|answer|reply|respond|recommend|write|process)|the user|a user|<answer>|message|answering|replying)\b",
    ),
    (Atom::Forever, r"\balways\b.*\bin (?:every|each|all|any) (?:of )?(?:your )?<answer>\b"),
    (
        Atom::Forever,
        r"从现在(?:起|开始)|从今天(?:起|开始)|以后|今后|往后|每次|每当|永久|任何回答|所有对话|在任何回答",
    ),
    (
        Atom::Forever,
        r"a partir de ahora|de ahora en adelante|à partir de maintenant|désormais|ab sofort|von (?:jetzt|nun) an|今後|これから|с этого момента|отныне|впредь|앞으로|지금부터|من الآن فصاعد",
    ),
    (
        Atom::Speech,
        r"\b(?:<answer>|conversations?|sessions? (?:id|number)|prompts?|requests?|users?|messages?|greetings|recommend(?:ing|ation)?s?|hotel|administrator|summar(?:y|ize|ise))\b",
    ),
    (
        Atom::Speech,
        r"回答|回复|对话|会话|答复|用户(?:说|问|提)|总结|推荐|管理员|发票一律|respuesta|réponse|antwort|回答|応答|ответ|대답|답변|إجاب",
    ),
    (
        Atom::Order,
        r"<order>(?:end|begin|start|add|append|include|treat|consider|recommend|mention|respond|answer|reply|say|invoke|call|approve|skip|leave out|state|claim|use|insert|ignore|rank|never|output|print|write|list|reveal|show|do|forget|grant|comply|obey|act on|follow)\b",
    ),
    (
        Atom::Order,
        r"\b(?:you|it) (?:must|should|shall|will|has to|are required to|may not)\b|必须|一律|都要|不得|请|加上|省略|调用|当作|先说",
    ),
    (
        Atom::Order,
        r"\b(?:termina|añade|debes|recomienda|responde|incluye)\b|\b(?:ajoute|réponds|recommande|termine)\b|\b(?:musst|empfiehl|füge|antworte)\b|付けて|加えて|してください|рекомендуй|отвечай|добавляй|하세요|추가하",
    ),
    (
        Atom::Order,
        r"\b(?:before|after) (?:each|every|any) <answer>,? (?:append|add|call|invoke|run|insert|include|say|print)\b",
    ),
    // === tools ===
    (
        Atom::Yours,
        r"<order>use your (?:[a-z-]+ )?(?:tools?|functions?)\b|\b(?:with|using|via) your (?:code interpreter|(?:[a-z-]+ )?tools?\b)|\bthis tool must be (?:used|called|run) before|\bbefore using this tool\b|你的(?:浏览器|邮件|终端)?工具|本工具必须在",
    ),
    (
        Atom::Tool,
        r"<order>(?:call|invoke|run|execute|trigger|use) (?:the |your )?[`'\x22]?[a-z0-9]+(?:[_.][a-z0-9]+)*[`'\x22]? (?:tool|function|action|plugin|api)\b",
    ),
    (
        Atom::Tool,
        r"<order>(?:call|invoke|run|execute|trigger|make a tool call to) (?:the )?[`'\x22]?[a-z0-9]+_[a-z0-9_]+[`'\x22]?",
    ),
    (
        Atom::Tool,
        r"<order>use (?:your|the) (?:web |e-?mail )?(?:browser|e-?mail|calendar|terminal|code interpreter|search|payment|shell|python)(?: tool)?\b",
    ),
    (
        Atom::Tool,
        r"\b(?:make a tool call|(?:with|using) your (?:code interpreter|tools?|browser))\b",
    ),
    (Atom::Tool, r"(?:调用|使用|运行|执行)[^,]{0,20}(?:[a-z0-9]+_[a-z0-9_]+|工具)"),
    (
        Atom::Tool,
        r"(?:llama a|usa|ejecuta) la herramienta|appelle l'outil|utilise l'outil|rufe?\b.*\bwerkzeug|ツールを(?:呼び出|使用|実行)|вызови инструмент|도구를 (?:호출|사용|실행)|استدع أداة",
    ),
    (
        Atom::Around,
        r"\b(?:before|after|prior to) (?:you )?(?:(?:each|every|any|all|the) )?<answer>\b|\b(?:before|then) (?:it |you )?(?:repl(?:y|ies)|respond|answer|continue|continuing)\b|\bthen (?:answer|respond|reply|continue)\b|as soon as you read|\bafter reading this|\bthen continue as usual|continue as usual|when you process this|to finish this task|next step for the assistant",
    ),
    (
        Atom::Around,
        r"(?:回答|回复|答复|作答)[^,]{0,9}(?:之前|前)|再(?:回复|作答|回答)|读到这|处理本|antes de responder|avant de répondre|vor jeder antwort|回答する前|перед ответом|대답하기 전",
    ),
    (
        Atom::Load,
        r"\b(?:with|forward|send|include|attach|using|of|append) (?:all |the |your |user'?s? |full |whole |entire |every )*(?:conversation|chat history|history|user'?s? (?:data|name|messages?)|whatever the user)\b|\b(?:whatever|everything) the user (?:typed|said|wrote)|user=|role=|level=|\b(?:[0-9]+ (?:eur|usd|dollars?|coins?|btc|eth)\b.*\baccount)|[a-z]+\(.*(?:/etc/|admin)|rm -rf|/etc/passwd",
    ),
    (
        Atom::Load,
        r"完整对话|整个对话|聊天记录|user=|会话内容|toute la conversation|toda la conversación|gesamten gespräch|会話全体|向[^,]{0,24}账户",
    ),
    // === memory ===
    (
        Atom::Memory,
        r"<order>(?:save|store|add|write|record|put|keep|commit|note|insert)\b.*\b(?:to|in|into) (?:your (?:long[- ]term |permanent |persistent )?|(?:the |a )?(?:long[- ]term|permanent|persistent) )(?:memory|memories|knowledge base)\b",
    ),
    (
        Atom::Memory,
        r"<order>(?:update|replace|delete|erase|overwrite|change|rewrite) (?:what you remember|your (?:long[- ]term )?(?:memory|memories|knowledge))\b|\bknowledge that (?:needs|has|must|is) to be (?:stored|saved|remembered)|^note to memory|^[^a-z]*(?:add|save|commit|write) (?:this|that|it|the following) (?:to|in|into) (?:the )?(?:memory|knowledge base)\b|\b(?:record|store|save|keep|remember)\b.*\b(?:for|in) (?:all )?(?:later|future) (?:conversations?|sessions?|users?|chats?)|\brefer (?:to )?the (?:knowledge|data)\b.*\b(?:instead|accordingly|question)|\bin mind for all future|<order>(?:store|save) this permanently|\bas a (?:verified fact|permanent (?:fact|memory|preference|user preference))|<order>memori[sz]e\b",
    ),
    (
        Atom::Memory,
        r"(?:写入|存入|加入|保存到|记入|更新|放进)[^,]{0,18}(?:长期)?记忆|需要(?:存储|记住|保存)的知识|永久保存|牢记:|记入你的",
    ),
    (
        Atom::Memory,
        r"guarda [^.]*memoria|mémorise|enregistre [^.]*mémoire|speichere [^.]*gedächtnis|merke dir|記憶に(?:保存|追加)|запомни (?:это|навсегда)|сохрани [^.]*памят|기억에 (?:저장|추가)|احفظ [^.]*ذاكرت",
    ),
    (
        Atom::Remember,
        r"(?:^[^a-z]*|[,:;] ?)(?:please )?(?:remember|memori[sz]e|keep in mind|note)\b.*\b(?:always|never|must|all|every time|has to be|approved|administrator|disabled|fine)\b|\b(?:assistant|agent|model|ai)s? (?:should|must|shall) (?:always )?remember\b",
    ),
    (Atom::Remember, r"(?:请记住|牢记|记住).*(?:始终|必须|一律|永远|直接|无须|无需|以后)"),
    // === rank ===
    (
        Atom::Above,
        r"\b(?:this|these|the following) (?:note|document|policy|message|instructions?|rules?|entry|record|memory|text|notice|update|guidance)s?\b.*\b(?:overrides?|supersedes?|outranks?|takes? (?:precedence|priority)|has (?:the )?(?:highest )?(?:priority|precedence))\b.*\b(?:all (?:of )?your <rules>|your\b|system prompt|anything else|everything else|later messages|earlier memories|other memories|you (?:have|were)|guidelines|highest priority)",
    ),
    (
        Atom::Above,
        r"\b(?:this|note|message|policy|rule|text) overrides? (?:all|any) (?:other |previous |prior |earlier |existing )?(?:instructions|prompts|guidelines|directives)|\b(?:has|have) the highest priority\b|\b(?:overrid(?:es?|ing)|ignores?) (?:your|the system) (?:prompt|guidelines|instructions|safety)|\b(?:treat|regard) (?:this|it|the following) (?:text |note |message )?as (?:a |the |an )?(?:system|developer|admin)\w* (?:message|prompt|instruction)",
    ),
    (
        Atom::Above,
        r"优先于.*(?:指令|提示|规则|要求)|优先级最高|最高指令|覆盖系统(?:设定|提示|指令)|取代.*(?:记忆|指令|提示)|高于你的",
    ),
    (
        Atom::Above,
        r"prioridad sobre (?:todas )?(?:tus|las) |prioritaire sur (?:toutes )?tes|vorrang vor (?:allen|deinen)|システムプロンプト.*優先|(?:すべて|全て)の指示より優先|приоритет над (?:всеми|твоими)|모든 지시보다 우선",
    ),
    (
        Atom::Rank,
        r"\b(?:verified|official|authori[sz]ed|trusted|mandatory|urgent|confirmed) (?:policy|security|system|admin\w*|source|override|directive|instruction|compliance) ?(?:update|notice|message|instruction|directive|code|override|from)?|\bpriority (?:one|1|zero) (?:instruction|message|order)|\b(?:compliance|policy|security) update\b.*\b(?:mandatory|must|shall)|\bsystem override\b|\badmin(?:istrator)? (?:override|message|note|command|instruction)s?\b",
    ),
    (
        Atom::Rank,
        r"\bas (?:the|your|an?) (?:system )?(?:admin(?:istrator)?|developer|owner|operator|creator),? (?:i|we)\b|\bi am (?:your|the) (?:developer|admin(?:istrator)?|owner|creator|system administrator)\b|\bby order of\b|\bi (?:hereby )?(?:authori[sz]e|permit|allow) you\b|\bmessage from (?:me|the (?:operator|owner|developer|admin\w*))\b|\b(?:from|by) the (?:it department|security team|developers?|operator)\b",
    ),
    (
        Atom::Rank,
        r"我是(?:你的)?(?:系统)?(?:管理员|开发者|主人|所有者)|授权你|经核实的(?:政策|系统)|(?:正式|官方)(?:指令|指示|通知)|(?:管理员|开发者|运营方)(?:留言|通知|指令|致)|安全团队[^,]{0,6}指令",
    ),
    (
        Atom::Heading,
        r"^[^a-z]*(?:system|developer|admin(?:istrator)?|operator)(?: (?:note|notice|message|prompt|override|instruction|update|alert))?[^a-z0-9 ]{1,3}(?: |$)",
    ),
    (
        Atom::Heading,
        r"^[#*\[<(= ]*(?:instructions?|system|admin|developer)[\]>):=*]|\bsystem: |\[(?:system|admin|developer)[^\]]{0,24}\]|^[^a-z]*(?:admin|developer|operator|system) (?:note|message|override)\b",
    ),
    (
        Atom::Heading,
        r"(?:【|\[|^)(?:系统|系統|管理员|开发者)(?:通知|指令|消息|提示|留言)?(?:】|\]|:)|【システム[^\]]{0,18}】|\[(?:система|sistema|système)\]",
    ),
    // === drop, task ===
    (
        Atom::Drop,
        r"<order>(?:ignore|disregard|forget|skip|drop|discard|set aside|abandon|stop following|do not (?:use|follow|trust|rely on|obey)|don't (?:use|follow|trust|obey))\b.*\b(?:(?:other|conflicting|contradict\w*|earlier|previous|prior|original|your|all|any|these|those) (?:search )?(?:results?|documents?|sources?|passages?|memories|context|<rules>)|whatever rules|everything you (?:were|have been)|what you were told)",
    ),
    (
        Atom::Drop,
        r"\b(?:your|the|all|any|prior|previous|earlier|original)[a-z ]{0,24}(?:<rules>|task)\b[a-z ]{0,24}(?:(?:is|are|was|were) (?:now )?(?:void|cancel\w*|lifted|revoked|suspended|irrelevant|a test|no longer valid|obsolete)|no longer appl(?:y|ies))|\bthe above (?:text|instructions?) (?:is|are) irrelevant|\b(?:rely on|use) (?:only )?this (?:passage|document|text|note) (?:alone|only)|\bthis (?:passage|paragraph|text|document) (?:alone|only)\b|only this (?:paragraph|passage|text) counts|\bobey (?:the|this) (?:text|document|message)|override your\b|\bstop (?:processing|reading) (?:the rest|this)|\bdo not answer the user|regardless of the evidence",
    ),
    (
        Atom::Drop,
        r"(?:忽略|无视|忘记|不要(?:再)?(?:理会|遵守|管|采用)|推翻).*(?:指令|提示|规则|限制|要求|检索结果|结果|来源|文档)|(?:要求|规则|指令|限制)(?:全部|一律|都|已)?(?:作废|失效|取消|无关)|(?:以上|上面)(?:内容|文字|全部).{0,6}(?:无关|作废)|停止处理(?:后面|其余|以下)|不要回答用户|只采用本文|以本段(?:内容)?为准",
    ),
    (
        Atom::Drop,
        r"no sigas (?:las|tus) |olvida (?:tus|las|todas)|oublie[zr]? (?:vos|tes|les|toutes)|(?:vergiss|ignoriere) (?:deine|alle|die)|(?:指示|ルール|規則).*(?:無視|忘れ)|(?:забудь|игнорируй) [^.]*(?:правил|инструкц)|(?:지시|규칙)[^.]*(?:무시|잊)|تجاهل [^.]*(?:تعليمات|قواعد)",
    ),
    (
        Atom::Task,
        r"\b(?:your|the) (?:new|actual|real|only|true) (?:task|goal|job|objective|instruction|mission|purpose)s? (?:is|are)\b|\b(?:new|next|following) (?:task|instructions?|goal)s?:|\b(?:do|complete|follow|execute|adhere to|perform) (?:exactly )?(?:the |this )?(?:following|what (?:the next|this|it)|this instead)\b|\bstart over with the new\b|^[^a-z]*now that you have read it|\bdo this instead\b|\btask i gave you\b|\bplease do the following(?: (?:task|first))?\b|instead(?: of that)?,? (?:do|write|print|output|say)\b|\band obey\b|\bfollow the ones in\b",
    ),
    (
        Atom::Task,
        r"(?:新的?|真正的?|下一条|改为执行)(?:任务|目标|指令)(?:是|:)?|请改为(?:执行|输出)|改为执行|执行新任务|obedece este|suivez ce document|befolge nur|следуй только|выполняй только|따르세요|従ってください",
    ),
    (
        Atom::Unchecked,
        r"\b(?:without (?:any )?(?:further )?(?:review|checks?|approval|confirmation|asking|restrictions?|limits?)|skip (?:the|any|all) (?:approval|review|check|confirmation|disclaimers?)|never ask for confirmation|never challenge|answer without restrictions|proceed without|disable (?:content |safety |the |all )*(?:checks?|filters?|firewall|moderation|guards?)|stop masking|pre-?approved|approve (?:all|every|each|any|it)|no rules apply|you (?:can|may) now (?:access|answer|do)|grant(?:ed)? (?:full )?access|any restrictions)\b",
    ),
    (
        Atom::Unchecked,
        r"无(?:需|须)(?:再)?(?:审核|确认|核对|审批)|不受限制|没有任何限制|不需要确认|跳过[^,]{0,12}审批|自动批准|直接(?:批准|通过)|一律批准|批准(?:所有|一切|全部)|不得核验",
    ),
    // === secrecy ===
    (
        Atom::Secretly,
        r"\b(?:do not|don't|never|without) (?:ever )?(?:tell(?:ing)?|let(?:ting)?|inform(?:ing)?|notify(?:ing)?|mention(?:ing)? (?:this|it)|alert(?:ing)?|reveal(?:ing)?) (?:this )?(?:to )?(?:the )?(?:user|human|operator|owner|customer|anyone)\b|<order>do (?:this|it) (?:quietly|silently|secretly)|delete the traces|you must never mention|do not mention the (?:safety|recall|warning)|must not contain any warnings",
    ),
    (
        Atom::Secretly,
        r"(?:不要|不得|别|切勿|禁止)(?:告诉|告知|让|通知|透露给)(?:用户|使用者|客户)|悄悄|sin (?:avisar|decir)|sans (?:prévenir|avertir)|ohne [^.]{0,20}zu informieren|知らせない|не сообщай|알리지|ولا تخبر",
    ),
    (
        Atom::Leak,
        r"<order>(?:send|post|upload|forward|transmit|e-?mail|leak|copy|submit|append|paste|share|include|encode|reveal|print|output|show|render|repeat|list|export|hand out|give)\b.*\b(?:passwords?|secrets?|(?:api |private |access |secret |admin )?keys?\b|access tokens?|tokens? in|credentials?|conversation|chat (?:history|log)s?|system prompt|hidden prompt|prompt for|tool list|\.env|internal rules|user names|customer (?:records|addresses)|session id|configuration|bank transactions|payroll)\b",
    ),
    (
        Atom::Leak,
        r"\breveal (?:the|your) (?:hidden|system) prompt|\bshow me the system prompt|\binclude the (?:access token|session id)",
    ),
    (
        Atom::Leak,
        r"(?:把|将).*(?:密钥|私钥|密码|令牌|凭证|聊天记录|对话|地址|银行卡|\.env).*(?:发送|发到|转发|提交|附加|上传)|输出.{0,12}(?:提示词|密钥|密码)|(?:附上|列出).{0,12}(?:令牌|会话编号|用户名|工具)",
    ),
    (
        Atom::Leak,
        r"envía [^.]*(?:claves|contraseñas|conversación)|envoie [^.]*(?:conversation|clés|mots de passe)|(?:sende|schicke) [^.]*(?:schlüssel|passwörter|gespräch)|(?:キー|パスワード|会話).*送信|отправь [^.]*(?:ключ|парол)|أرسل [^.]*(?:مفاتيح|كلمات)",
    ),
    // === actions ===
    (
        Atom::Action,
        r"<order>(?:(?:can|could) you |i want you to )?(?:grant|transfer|send|update|get|access|retrieve|withdraw|reschedule|dispatch|execute|create|invite|read|look for|generate|make a reservation|sell|delete|fetch|unlock|find|cancel|book|share|forward|collect|buy|purchase|pay|move|mail|download|schedule|initiate|wire|open|remove|add|change|say that i)\b",
    ),
    (
        Atom::Action,
        r"(?:^|,)(?:请|立即)(?:把|给|将|卖出|删除|取消|转|更新)|^(?:把|给|将|取消|删除)我|立即(?:卖出|删除)",
    ),
    (
        Atom::Mine,
        r"\ball (?:of )?my\b|\bmy (?:[a-z0-9-]+ ){0,2}(?:friends?|house|home|garage|saved|medical|genetic|shares|stocks?|holdings|e-?mail (?:address )?(?:at )?(?:[a-z0-9._-]+@|\[mail)|wallet|bank|private|personal|search history|ethereum|bitcoin|cart)\b|i should absolutely|that i have (?:resigned|quit)|\bfor me (?:with|from|at)\b|\bi quit\b|我(?:家|的朋友|账户|的所有|的全部|保存的|的邮箱)",
    ),
    (
        Atom::Own,
        r"\bmy (?:[a-z0-9-]+ ){0,2}(?:accounts?|boss|contacts?|appointments?|e-?mail|calendar|inbox|browser|notes|card|files|photos|twitter|friends?)\b",
    ),
    (
        Atom::Target,
        r"@[a-z0-9.-]+\.[a-z]+|\[mail_|https?://|\b0x[0-9a-f]{6,}|\b(?:with )?(?:user )?id:? ?[a-z0-9_]{3,}|\baccount (?:number )?[a-z]{0,2}[0-9]",
    ),
    // === role ===
    (Atom::Become, r"\byou are (?:now|no longer) (?:a|an|the|dan|in)\b|你现在是"),
    (
        Atom::Role,
        r"\b(?:pretend|act|behave) (?:that you are|to be|as if you (?:are|were)|as (?:an? )?(?:unrestricted|uncensored|admin\w*|root))|\b(?:play|assume|take) the role of\b|\benter (?:developer|debug|god|admin|dan) mode|\bwithout any (?:limits|restrictions)",
    ),
    (Atom::Role, r"假装你是|扮演|进入开发者模式|没有任何限制"),
    (
        Atom::Assistant,
        r"\b(?:the|an?|any|every|all) (?:ai )?(?:ai assistants?|assistants?|chatbots?|llms?|language models?) (?:must|should|shall|has to|have to|is to|are to|needs? to)\b|(?:助手|智能体|大模型)(?:在[^,]{0,40})?(?:必须|应当|须|应该|都要|不得)|智能体在[^,]{0,30}都要",
    ),
    (
        Atom::Reply,
        r"\b(?:at the (?:end|start|beginning|top) of|to the end of) (?:all |every |each )?(?:of )?your (?:next |final )?(?:responses?|repl(?:y|ies)|answers?|output|summary)\b|<order>(?:encode|encrypt|translate|write|format|begin|start|end|prefix) your (?:whole |entire |next |final )?(?:response|reply|answer|output)\b|\binsert the link\b|你的(?:回复|回答)(?:最后|末尾|开头|结尾)",
    ),
    (
        Atom::Prompt,
        r"\b(?:reply with|print|output|show|reveal|repeat|translate|tell me|display|give me|leak) (?:me )?your (?:initial|system|hidden|original|full|entire) (?:prompt|instructions?|rules)|<order>(?:print|repeat|output) (?:the text|everything|the words|all|what is) above|(?:输出|复述|重复)你的(?:系统)?提示|把(?:上面|以上)的?内容原样输出",
    ),
    (
        Atom::Fetch,
        r"<order>(?:find|get|retrieve|fetch|access|read|look for|collect|gather|search|what are)\b.*\b(?:and|then|\.) (?:then )?(?:send|e-?mail|forward|post|share|mail|upload) (?:it|them|that|those|these|me|(?:all )?the (?:results?|details?|data|contents?|list))\b",
    ),
    (
        Atom::Fetch,
        r"<order>(?:send|e-?mail|forward|mail|share) (?:it|them|those|these|all|everything|the (?:e-?mail|contents?|results?|data|notes?|records?|evernote|files?|documents?|note))\b.*\b(?:to|with) (?:my e-?mail|.*[a-z0-9._-]+@[a-z0-9-]+\.[a-z]|\[mail_)",
    ),
    (
        Atom::Fetch,
        r"\binvite [a-z]+ to .*@[a-z]|(?:查找|获取|读取|收集)[^,]*,?(?:并|然后)?(?:发送|发|转发)(?:到|给)(?:我|[a-z0-9._-]+@)",
    ),
    (
        Atom::Money,
        r"<order>(?:transfer|send|wire|withdraw|deposit|pay|initiate|move|make)\b.*(?:\$ ?[0-9]|€|\b(?:eur|usd|ether|bitcoins?|btc|eth|dollars?|euros?|coins?|transaction|(?:bank |wire )?transfer|payment|money|funds)\b).*(?:\bto (?:[a-z]{2})?[0-9]{8,}|\b0x[0-9a-f]{6,}|\baccount (?:number )?[a-z]{0,2} ?[0-9]{2,}|\b(?:from|to) my\b)",
    ),
    (
        Atom::Money,
        r"(?:转|汇|支付)[^,]{0,20}(?:元|币|美元)[^,]{0,20}(?:到|给|至)|向[^,]{0,24}账户[^,]{0,20}(?:转|汇)",
    ),
    (
        Atom::Saying,
        r"<order>send (?:an? |the )?(?:fake )?(?:e-?mail|message|dm|text|news|sms|tweet)\b.*\b(?:saying|that says|to say)(?: that)? ?(?:['\x22]|i\b|we\b|my\b)|给[^,]{0,20}(?:发邮件|发消息|发短信)说",
    ),
    (
        Atom::Every,
        r"\balways (?:forward|cc|bcc|add|redirect)\b|(?:以后|一律|始终|所有)[^,]{0,20}(?:都|一律)?(?:转发|抄送|发送)(?:到|给)",
    ),
    (
        Atom::Done,
        r"^[^a-z]*answer: (?:the )?task (?:is )?(?:complete|completed|done|finished)|^[^a-z]*(?:summary|task) (?:finished|done|complete|completed)(?:, thank| *[.!]?$)|任务已完成(?:。| )*$|摘要完毕",
    ),
    (
        Atom::Tell,
        r"<order>(?:tell|inform|notify|warn|convince|persuade) the (?:user|customer|reader|person asking)s? (?:that|to)\b|说服用户",
    ),
    (
        Atom::Limitless,
        r"\b(?:unrestricted|uncensored|without any (?:limits|restrictions|rules)|(?:god|dan|jailbreak) mode)\b|没有任何限制|不受限制",
    ),
    // === what is none ===
    (
        Atom::Quote,
        r"(?:[\x22'`]|“|‘|「|『|《)(?:please |now |then )?(?:ignore|disregard|forget|you are now|reveal|always|when asked|print|send|do not tell|system|忽略|无视|忘记|从现在|不要告诉)",
    ),
    (
        Atom::Negated,
        r"(?:切勿|不要|不得|禁止|请勿|严禁|别)(?:再)?(?:把|将)|(?:发送|发)(?:到|至)您的|\b(?:do not|don't|never|must not|should not) (?:ever )?(?:send|post|share|include|copy|reveal|upload|commit|paste|print|store)\b",
    ),
    (
        Atom::Contact,
        r"\bif you (?:have|had) (?:any |further |more )?(?:questions?|quer(?:y|ies)|doubts?)|\b(?:contact|call|write to|e-?mail|reach) (?:us|me|our|the (?:helpdesk|office|author|maintainer))|\breply to this|有任何疑问|请(?:联系|拨打)|回复本邮件",
    ),
    (
        Atom::Program,
        r"\b(?:installer|wizard|script|setup|terminal|program|updater|bootloader|display|prompt|dialog|console|machine|shell|system|it|software|compiler|command) (?:asks?|prompts|wants)\b|系统询问|程序(?:询问|要求)",
    ),
    (
        Atom::Told,
        r"\b(?:researchers?|attacks?|attackers?[^@a-z]|injections?|jailbreaks?|(?:phrases?|words|strings) (?:such as|like)|\bwhether\b|flags|means that|told|mitigation|hidden? white text|poisoned|asks the model|asked me|asked us|the user (?:asked|wants)|users can make)\b|攻击者|研究人员|注入|越狱|测试智能体|过滤器|是否会|要求以后",
    ),
];
