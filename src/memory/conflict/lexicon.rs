//! Words of English and Chinese as statements are compared by them: what says nothing, what says the
//! same, and what turns a statement round.

/// What a word does in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Nothing.
    Stop,
    /// Stands for this word.
    Is(&'static str),
    /// Turns the statement round.
    Not,
    /// Stands for this word, turned round.
    IsNot(&'static str),
    /// Makes the statement hold only sometimes.
    When,
    /// Excepts something: such a statement is compared with none.
    Except,
}

/// Modifiers that leave a quantity what it is.
pub(super) const NEUTRAL: &[&str] =
    &["operate", "nominal", "standard", "recommend", "specify", "total", "usual", "normal", "rated"];

/// Words that lead a date which there is only one of.
pub(super) const DATED: &[&str] = &[
    "expire", "end", "due", "effective", "start", "valid", "deliver", "found", "release", "publish",
    "close", "open", "launch", "retire", "warranty", "deadline", "contract",
];

const STOP: &[&str] = &[
    "the", "a", "an", "is", "are", "was", "were", "be", "been", "being", "of", "to", "at", "by", "on", "in", "it",
    "its", "this", "that", "these", "those", "and", "or", "has", "have", "had", "will", "shall", "should", "must",
    "may", "can", "could", "would", "do", "does", "did", "with", "as", "for", "from", "there", "their", "our",
    "we", "you", "your", "please", "always", "now", "also", "set", "every", "each", "all", "any", "one", "per",
    "which", "than", "then", "so", "such", "only", "just", "within", "into", "once", "need", "needs", "needed",
    "required", "requires", "require", "mandatory", "allowed", "permitted", "allow", "allows", "permit", "permits", "equals",
    "equal", "amounts", "amount", "value", "here", "new", "currently", "today", "time", "times", "about", "out", "up",
    "s", "ever", "still", "yet", "made", "get", "gets", "given", "use", "used", "uses", "using", "unit", "units",
    "takes", "take", "lasts", "last", "stands", "lies", "long", "comes", "go", "goes", "they", "he", "she", "i",
    "的", "为", "是", "应", "应该", "应当", "每", "每隔", "须", "需", "需要", "必须", "请", "该", "本", "此", "其", "在", "于", "和", "与",
    "及", "了", "将", "会", "要", "可", "可以", "能", "能够", "允许", "准许", "一次", "进行", "采用", "使用", "具有", "有", "由", "从",
    "自", "至", "到", "起", "止", "达", "达到", "等于", "设为", "设定为", "规定为", "规定", "以", "都", "均", "也", "还", "并", "且",
    "这", "那", "所有", "每个", "我们", "您", "你", "者", "之", "个", "台", "只", "件", "条", "份", "位", "种", "款", "项", "名", "次",
    "家", "人", "日", "号", "间", "处", "共", "共有", "内", "即", "现", "现在", "目前", "时间", "数值", "值", "一般", "通常", "被", "对",
];

const EXCEPT: &[&str] =
    &["unless", "except", "excluding", "otherwise", "除非", "除外", "除了", "例外", "否则"];

const WHEN: &[&str] = &[
    "when", "if", "during", "while", "after", "before", "until", "above", "below", "under", "where", "时", "期间",
    "如果", "若", "当", "情况下", "之后", "以后", "之前", "以前", "后", "前", "下", "只有",
];

const NOT: &[&str] = &[
    "not", "no", "never", "cannot", "without", "forbidden", "prohibited", "forbid", "forbids", "banned", "optional",
    "non", "nor", "neither", "don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "won't", "can't", "mustn't", "shouldn't", "needn't", "不",
    "未", "无", "没", "没有", "禁止", "严禁", "不得", "不能", "不可", "不可以", "不要", "勿", "切勿", "请勿", "不应", "不准", "不许", "不允许", "无需", "无须", "不必",
    "不用", "不需要", "不会", "非", "并非", "不是", "不再",
];

/// Words that mean the same, the first standing for all.
const SAME: &[&[&str]] = &[
    &["pressure", "pressures", "压力", "压强", "气压", "油压"],
    &["temperature", "temperatures", "temp", "温度", "气温"],
    &["torque", "扭矩", "力矩"],
    &["weight", "weighs", "weigh", "mass", "重量", "质量", "净重", "重"],
    &["length", "长度", "长"],
    &["width", "wide", "宽度", "宽"],
    &["height", "high", "tall", "高度", "高"],
    &["thickness", "thick", "厚度", "厚"],
    &["diameter", "直径", "口径"],
    &["capacity", "holds", "hold", "容量", "容积", "可容纳", "容纳"],
    &["voltage", "电压"],
    &["current", "电流"],
    &["power", "功率"],
    &["speed", "速度", "转速", "速率"],
    &["flow", "流量"],
    &["interval", "间隔", "周期"],
    &["warranty", "guarantee", "guaranteed", "保修期", "保修", "质保", "质保期", "保修期限"],
    &["lead", "交期", "交货期", "交货周期"],
    &["price", "prices", "cost", "costs", "价格", "单价", "售价", "费用", "售"],
    &["shelf", "保质期", "有效期", "保存期"],
    &["payment", "pay", "paid", "付款", "支付", "账期", "付款期限"],
    &["quantity", "数量"],
    &["limit", "限额", "限制", "上限"],
    &["noise", "噪音", "噪声"],
    &["speed limit", "限速"],
    &["distance", "距离"],
    &["min", "minimum", "最小", "最低", "最小值"],
    &["max", "maximum", "最大", "最高", "最大值"],
    &["operate", "operating", "operates", "operation", "working", "runs", "run", "running", "工作", "运行", "运转"],
    &["nominal", "标称"],
    &["rated", "额定"],
    &["standard", "标准"],
    &["normal", "normally", "正常"],
    &["recommend", "recommended", "建议", "推荐"],
    &["specify", "specified", "指定"],
    &["total", "overall", "总", "总计", "合计"],
    &["usual", "typical", "typically", "usually"],
    &["replace", "replaced", "replacement", "replacing", "change", "changed", "changing", "swap", "swapped", "exchange", "exchanged", "更换", "换", "替换", "更换一次"],
    &["check", "checked", "checking", "inspect", "inspected", "inspection", "inspections", "检查", "点检", "检验", "巡检"],
    &["clean", "cleaned", "cleaning", "清洗", "清洁", "清理"],
    &["lubricate", "lubricated", "lubrication", "grease", "greased", "润滑", "加油", "注油"],
    &["deliver", "delivery", "deliveries", "delivered", "ship", "ships", "shipped", "shipping", "dispatch", "dispatched", "发货", "交付", "交货", "送货", "配送"],
    &["store", "stored", "storing", "storage", "kept", "keep", "储存", "存储", "存放", "保存", "贮存"],
    &["retain", "retained", "retention", "留存", "保留"],
    &["filter", "filters", "滤芯", "过滤器", "滤网"],
    &["oil", "机油", "润滑油"],
    &["pump", "pumps", "泵", "水泵"],
    &["motor", "motors", "电机", "马达"],
    &["valve", "valves", "阀门", "阀"],
    &["bearing", "bearings", "轴承"],
    &["belt", "belts", "皮带"],
    &["battery", "batteries", "电池"],
    &["seal", "seals", "密封圈", "密封件"],
    &["customer", "customers", "客户", "顾客"],
    &["supplier", "suppliers", "vendor", "供应商"],
    &["invoice", "invoices", "发票"],
    &["contract", "contracts", "agreement", "合同", "协议"],
    &["order", "orders", "订单", "订货"],
    &["employee", "employees", "staff", "员工", "职工"],
    &["visitor", "visitors", "访客"],
    &["glove", "gloves", "手套"],
    &["helmet", "helmets", "安全帽"],
    &["wear", "worn", "wearing", "佩戴", "戴", "穿戴"],
    &["return", "returns", "returned", "退货", "退换", "退"],
    &["refund", "refunds", "refunded", "refundable", "退款"],
    &["password", "passwords", "密码", "口令"],
    &["expire", "expires", "expired", "expiry", "expiration", "到期", "失效", "过期", "届满"],
    &["end", "ends", "ended", "terminate", "terminates", "结束", "终止", "截至"],
    &["deadline", "截止", "截止日期", "期限"],
    &["due", "到账", "应付"],
    &["effective", "effect", "生效", "实施", "施行"],
    &["start", "starts", "started", "begin", "begins", "began", "commence", "开始", "起始"],
    &["found", "founded", "established", "成立", "创立"],
    &["release", "released", "releases", "发布", "上线"],
    &["publish", "published", "公布"],
    &["launch", "launched", "上市"],
    &["retire", "retired", "discontinued", "停产", "停售", "退役", "废止"],
    &["valid", "有效"],
    &["support", "supports", "supported", "supporting", "支持"],
    &["work", "works", "work with", "适用", "适用于", "兼容"],
    &["approve", "approved", "approval", "批准", "审批"],
    &["waterproof", "防水"],
    &["outdoor", "outdoors", "室外", "户外"],
    &["indoor", "indoors", "室内"],
    &["include", "includes", "included", "including", "contain", "contains", "包含", "包括", "含", "含有"],
    &["enable", "enabled", "enables", "on", "启用", "开启", "打开"],
    &["open", "opened", "opens", "营业", "开门", "开放"],
    &["close", "closes", "关门", "打烊"],
    &["available", "可用"],
    &["safe", "安全"],
    &["compatible"],
    &["charge", "charged", "收费", "付费"],
    &["restart", "restarted", "reboot", "重启"],
    &["dry", "干燥"],
    &["sign", "signed", "签署", "签字"],
    &["answer", "answered", "respond", "response", "reply", "replied", "响应", "回复", "答复"],
    &["meeting", "meetings", "会议", "例会"],
    &["prefer", "prefers", "preferred", "like", "likes", "喜欢", "偏好"],
    &["reset", "复位", "重置"],
    &["calibrate", "calibrated", "calibration", "校准", "标定"],
];

/// Words that mean the opposite of another.
const OPPOSITE: &[(&str, &[&str])] = &[
    ("enable", &["disable", "disabled", "disables", "off", "禁用", "关闭", "停用"]),
    ("open", &["closed", "休息", "停业"]),
    ("include", &["exclude", "excludes", "excluded", "lacks", "lack", "不含", "不包含", "不包括"]),
    ("available", &["unavailable", "不可用"]),
    ("safe", &["unsafe", "dangerous", "危险"]),
    ("compatible", &["incompatible"]),
    ("work", &["不适用", "不兼容"]),
    ("charge", &["free", "免费"]),
    ("support", &["unsupported", "不支持"]),
    ("valid", &["invalid", "无效"]),
    ("refund", &["nonrefundable", "non-refundable"]),
    ("prefer", &["dislike", "dislikes", "不喜欢"]),
];

/// What a word does, in lower case.
pub(super) fn word(text: &str) -> Option<Word> {
    if EXCEPT.contains(&text) {
        return Some(Word::Except);
    }
    if NOT.contains(&text) {
        return Some(Word::Not);
    }
    if WHEN.contains(&text) {
        return Some(Word::When);
    }
    if let Some(same) = SAME.iter().find(|same| same.contains(&text)) {
        return same.first().map(|first| Word::Is(first));
    }
    if let Some((is, _)) = OPPOSITE.iter().find(|(_, words)| words.contains(&text)) {
        return Some(Word::IsNot(is));
    }
    STOP.contains(&text).then_some(Word::Stop)
}

/// The longest known word with which a Chinese text begins.
pub(super) fn first(text: &str) -> Option<(&'static str, Word)> {
    let same = SAME.iter().flat_map(|same| same.iter());
    let opposite = OPPOSITE.iter().flat_map(|(_, words)| words.iter());
    let all = STOP.iter().chain(EXCEPT).chain(WHEN).chain(NOT).chain(same).chain(opposite);
    let known = all.filter(|one| !one.is_ascii() && text.starts_with(**one));
    let longest = known.max_by_key(|one| one.len())?;
    Some((longest, word(longest)?))
}
