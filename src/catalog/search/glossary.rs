//! Words that mean the same where tools are looked for, in English and in Chinese: a word in, the
//! others of its group out. Small on purpose: what is here costs nothing, and the rest is BM25's.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;

/// Groups: English, then Chinese.
const GROUPS: &[(&str, &str)] = &[
    ("create add new make insert register", "创建 新建 新增 添加 建立 加"),
    ("delete remove erase drop destroy purge", "删除 删掉 移除 清除 去掉 删"),
    ("list show browse enumerate all", "列出 列表 浏览 所有 全部 哪些"),
    ("get fetch read retrieve view show details lookup check", "获取 查看 读取 详情 查询 查 看"),
    ("search find query lookup filter", "搜索 查找 检索 查询 找 搜"),
    ("update edit change modify set adjust alter", "更新 修改 编辑 更改 改成 调整 设置 改"),
    ("send deliver dispatch post", "发送 发给 发出 发"),
    ("cancel abort revoke withdraw", "取消 撤销 撤回 作废"),
    ("stop halt terminate end pause shutdown", "停止 终止 暂停 停"),
    ("start launch begin run boot", "启动 开始 运行 开启"),
    ("restart reboot", "重启 重新启动"),
    ("close finish complete", "关闭 完成 结束"),
    ("off disable", "关闭 关掉 关上 关"),
    ("on enable", "打开 开启 启用"),
    ("open", "打开 开"),
    ("upload import attach", "上传 导入"),
    ("download export", "下载 导出"),
    ("approve accept confirm", "批准 审批 同意 确认 通过"),
    ("reject deny decline refuse", "拒绝 驳回"),
    ("assign allocate", "分配 指派 分派"),
    ("merge combine join", "合并"),
    ("copy duplicate clone", "复制 克隆"),
    ("move transfer", "移动 转移"),
    ("rename", "重命名 改名"),
    ("reply respond answer", "回复 答复"),
    ("forward", "转发"),
    ("translate translation", "翻译"),
    ("summarize summary", "总结 摘要 汇总"),
    ("calculate compute estimate", "计算 估算"),
    ("convert exchange", "转换 兑换 换算"),
    ("schedule plan arrange", "安排 计划 排期 预定"),
    ("book reserve reservation booking", "预订 预约 订"),
    ("pay payment", "支付 付款 缴费"),
    ("transfer remit wire", "转账 汇款 划转"),
    ("refund", "退款 退钱 退费"),
    ("return", "退货"),
    ("charge bill", "扣款 收费"),
    ("invoice receipt", "发票 开票"),
    ("order purchase", "订单 下单 订购"),
    ("customer client buyer", "客户 顾客 买家"),
    ("user account member person people", "用户 账号 账户 成员 会员 人员"),
    ("product item goods article", "商品 产品 货品"),
    ("price cost fee rate", "价格 费用 单价 多少钱"),
    ("discount coupon voucher promotion", "折扣 优惠券 优惠 促销"),
    ("inventory stock", "库存 存货"),
    ("warehouse depot", "仓库"),
    ("shipment shipping delivery parcel package", "发货 运单 快递 包裹 配送 物流"),
    ("track tracking trace", "跟踪 追踪 物流"),
    ("address location place", "地址 位置 地点"),
    ("cart basket", "购物车"),
    ("balance funds", "余额"),
    ("bank card", "银行卡 银行"),
    ("email mail message", "邮件 邮箱 电子邮件"),
    ("message chat sms text", "消息 短信 信息"),
    ("notification notify alert remind reminder", "通知 提醒 告警 警报"),
    ("phone call telephone mobile", "电话 手机 手机号"),
    ("contact address", "联系人 通讯录"),
    ("calendar schedule", "日历 日程"),
    ("event meeting appointment", "会议 活动 事件"),
    ("room", "会议室 房间"),
    ("file document", "文件 文档"),
    ("folder directory", "文件夹 目录"),
    ("image picture photo", "图片 照片 图像"),
    ("video movie film", "视频 影片 电影"),
    ("audio voice speech sound", "音频 语音 声音"),
    ("share permission access", "共享 分享 权限"),
    ("password credential secret", "密码 口令 凭证"),
    ("login signin session", "登录 会话"),
    ("role permission", "角色 权限"),
    ("token key", "令牌 密钥"),
    ("server machine instance host vm", "服务器 实例 主机 虚拟机 机器"),
    ("database db", "数据库"),
    ("table", "表"),
    ("backup snapshot", "备份 快照"),
    ("restore recover", "恢复 还原"),
    ("log logs", "日志"),
    ("metric monitor monitoring usage", "指标 监控 用量"),
    ("deploy release rollout", "部署 发布 上线"),
    ("rollback revert undo", "回滚 撤回 还原"),
    ("build pipeline", "构建 流水线"),
    ("repository repo", "仓库 代码库"),
    ("branch", "分支"),
    ("commit", "提交"),
    ("ticket issue bug defect problem", "工单 问题 缺陷 故障"),
    ("task todo job", "任务 待办"),
    ("comment note remark", "评论 备注 留言"),
    ("label tag category", "标签 分类"),
    ("project", "项目"),
    ("team group department", "团队 小组 部门 群组 群"),
    ("employee staff worker", "员工 职员"),
    ("salary payroll wage pay", "工资 薪资 薪水"),
    ("leave vacation holiday absence pto", "请假 休假 年假 假期"),
    ("attendance clock", "考勤 打卡"),
    ("hire recruit candidate applicant", "招聘 候选人 应聘"),
    ("contract agreement", "合同 协议"),
    ("expense reimbursement", "报销 费用"),
    ("report statistics analytics", "报告 报表 统计 分析"),
    ("chart graph plot", "图表 曲线"),
    ("weather forecast", "天气 预报 天气预报"),
    ("temperature warm cold heat", "温度 气温"),
    ("rain rainfall shower", "下雨 雨"),
    ("snow", "下雪 雪"),
    ("wind storm", "大风 台风 风"),
    ("flight airline plane", "航班 机票 飞机"),
    ("train railway", "火车 高铁 列车"),
    ("hotel accommodation", "酒店 宾馆 住宿"),
    ("ticket", "票"),
    ("map route directions navigation", "地图 路线 导航"),
    ("distance", "距离"),
    ("restaurant food meal dish", "餐厅 外卖 菜品"),
    ("news article", "新闻 文章"),
    ("stock share security", "股票 证券"),
    ("currency forex", "货币 外汇 币种"),
    ("exchange rate", "汇率"),
    ("tax", "税 税率 税费"),
    ("loan credit", "贷款 信贷"),
    ("insurance policy claim", "保险 理赔 保单"),
    ("patient", "患者 病人"),
    ("doctor physician", "医生 大夫"),
    ("prescription medicine drug", "处方 药品 药物"),
    ("course class lesson", "课程 课"),
    ("student pupil", "学生"),
    ("grade score mark", "成绩 分数"),
    ("device sensor", "设备 传感器"),
    ("light lamp", "灯 灯光"),
    ("door lock", "门锁 门 锁"),
    ("status state progress", "状态 进度"),
    ("history record", "历史 记录"),
    ("date time day", "日期 时间"),
    ("today", "今天 今日"),
    ("tomorrow", "明天"),
    ("name title", "名称 名字 标题"),
    ("domain dns", "域名 解析"),
    ("certificate ssl tls", "证书"),
    ("network vpc subnet", "网络 子网"),
    ("firewall", "防火墙 安全组"),
    ("disk volume storage", "磁盘 硬盘 存储 云盘"),
    ("bucket object", "存储桶 对象"),
    ("subscription subscribe plan", "订阅 套餐"),
    ("review rating feedback", "评价 评分 反馈"),
    ("supplier vendor", "供应商"),
    ("vehicle car", "车辆 汽车 车"),
    ("driver", "司机"),
    ("webhook callback", "回调"),
    ("url link", "链接 网址"),
    ("page website web", "网页 页面 网站"),
    ("sql", "语句"),
    ("code script", "代码 脚本"),
    ("text", "文本 文字"),
    ("recognize ocr extract", "识别 提取"),
    ("lock freeze block disable suspend", "锁定 冻结 禁用 停用 封禁"),
    ("unlock unfreeze enable activate", "解锁 解冻 启用 激活"),
    ("reset", "重置"),
    ("invite invitation", "邀请"),
    ("archive", "归档 存档"),
    ("queue", "队列"),
    ("cache", "缓存"),
    ("scale resize", "扩容 缩放 伸缩"),
    ("version", "版本"),
    ("count number total", "数量 总数 多少"),
];

/// A word and what it may be replaced by.
#[derive(Debug)]
pub(super) struct Entry {
    /// Terms of the same language.
    pub(super) same: Vec<String>,
    /// Terms of the other language.
    pub(super) other: Vec<String>,
}

/// Terms, English ones as stems, to what else they may be called.
static ENTRIES: LazyLock<HashMap<String, Entry>> = LazyLock::new(|| {
    let mut entries: HashMap<String, Entry> = HashMap::new();
    for (english, chinese) in GROUPS {
        let english: Vec<String> = english.split(' ').map(stem).collect();
        let chinese: Vec<String> = chinese.split(' ').map(str::to_owned).collect();
        for (own, other) in [(&english, &chinese), (&chinese, &english)] {
            for term in own {
                let entry = entries
                    .entry(term.clone())
                    .or_insert_with(|| Entry { same: Vec::new(), other: Vec::new() });
                entry.same.extend(own.iter().filter(|same| *same != term).cloned());
                entry.other.extend(other.iter().cloned());
            }
        }
    }
    entries
});

/// Characters of the longest Chinese word of the glossary.
pub(super) const LONGEST: usize = 4;

/// What a term may also be called.
pub(super) fn entry(term: &str) -> Option<&'static Entry> {
    ENTRIES.get(term)
}
