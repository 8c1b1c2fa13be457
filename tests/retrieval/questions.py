"""The labels: which section of which document answers a question, and questions that none answers.

Half of the questions are in the words of their document, half in others (`asked otherwise`), as people ask.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    text: str
    document: str
    heading: str


def _of(document: str, *asked: tuple[str, str]) -> list[Question]:
    return [Question(text, document, heading) for heading, text in asked]


ANSWERABLE: list[Question] = [
    *_of(
        "coffee-machine",
        ("Descaling", "How long does the descaling programme run?"),
        ("Descaling", "Can I use vinegar in the machine?"),
        ("Faults", "What does code E3 mean?"),
        ("Milk", "Why does my milk not foam?"),
        ("Warranty", "For how many months is an office covered by the warranty?"),
        ("Setting up", "How do I set the water hardness?"),
        ("Daily use", "How can I change the volume of an espresso?"),
        ("Faults", "The display says that the temperature sensor is broken, who repairs it?"),
    ),
    *_of(
        "allotment",
        ("Plots and rent", "When is the rent of a plot due?"),
        ("Waiting list", "In which month can I apply for the waiting list?"),
        ("Water", "At what time may I use a hose?"),
        ("What may be grown", "Am I allowed to plant a walnut tree?"),
        ("Sheds and fires", "When are bonfires allowed?"),
        ("Bees and hens", "How many hens may I keep?"),
        ("Ending the lease", "How do I give notice and get my deposit back?"),
        ("Sheds and fires", "How high can a shed be?"),
    ),
    *_of(
        "incident-guide",
        ("Severity", "What is a severity 2 incident?"),
        ("Paging", "What happens if the primary does not acknowledge the pager?"),
        ("Rolling back", "How do I roll back a deploy?"),
        ("Database failover", "How do I promote the replica?"),
        ("Post-mortem", "By when must a post-mortem be published?"),
        ("Compensation", "How much is paid for a week of on-call?"),
        ("Roles in an incident", "Who writes the timeline during an incident?"),
        ("Database failover", "How many seconds of writes can be lost in a failover?"),
    ),
    *_of(
        "library-card",
        ("Getting a card", "What does a library card cost for students?"),
        ("Borrowing", "How long may I keep a film?"),
        ("Fines", "What is the fine for a late item?"),
        ("Reservations and other branches", "How long does a reserved item wait for me?"),
        ("Rooms and machines", "When is the introduction to the 3D printer?"),
        ("E-books", "How many e-books can I borrow at once?"),
        ("Rooms and machines", "price of a colour page at the printer"),
        ("Borrowing", "How often can a loan be renewed?"),
    ),
    *_of(
        "cycling-club",
        ("Membership", "How much is the family fee?"),
        ("Rides", "When does the Saturday ride leave?"),
        ("Group riding", "Are aero bars allowed in the group?"),
        ("Equipment", "Do I need a helmet?"),
        ("Racing", "How do I get half the entry fee of a race back?"),
        ("Lost and broken", "Where is the key of the toolbox?"),
        ("Rides", "Is there a ride in strong wind or on ice?"),
        ("Equipment", "May I come with an e-bike, an electric bicycle?"),
    ),
    *_of(
        "zh-remote-work",
        ("适用范围", "实习生可以远程办公吗？"),
        ("天数与申请", "每周最多可以远程几天？"),
        ("工作时间", "远程期间的核心工作时间是几点？"),
        ("设备与费用", "网络费可以报销多少？"),
        ("信息安全", "电脑丢了要在多长时间内报告？"),
        ("境外远程", "可以在国外远程办公吗？"),
        ("天数与申请", "周一能在家上班吗？"),
        ("工作时间", "开会要开摄像头吗？"),
    ),
    *_of(
        "zh-procurement",
        ("审批权限", "三万元的采购由谁审批？"),
        ("询价与招标", "什么情况下必须公开招标？"),
        ("供应商管理", "新供应商要提交哪些材料？"),
        ("验收与付款", "预付款最多可以付多少？"),
        ("紧急采购", "紧急采购的手续要几天内补齐？"),
        ("禁止行为", "采购员能收礼品吗？"),
        ("询价与招标", "几家报价才够？"),
        ("供应商管理", "供应商评分低于多少分会停用？"),
    ),
    *_of(
        "zh-tea",
        ("水温与投茶量", "泡岩茶用多少度的水？"),
        ("出汤时间", "第一泡要倒掉吗？"),
        ("器具", "新手用什么茶具好？"),
        ("保存", "岩茶可以放冰箱吗？"),
        ("焙火等级", "足火茶为什么喝了口干？"),
        ("常见品种", "肉桂有什么味道？"),
        ("保存", "茶叶受潮了怎么办？"),
        ("水温与投茶量", "盖碗放几克茶？"),
    ),
    *_of(
        "zh-apartment",
        ("入住", "退租后押金多久退？"),
        ("缴费", "房租几号前交？"),
        ("访客与安静时间", "晚上几点以后不能用洗衣机？"),
        ("宠物", "可以养狗吗？"),
        ("维修", "漏水了多久有人来修？"),
        ("垃圾与停车", "电动自行车在哪里充电？"),
        ("退租", "钥匙丢了要赔多少？"),
        ("访客与安静时间", "朋友可以住几晚？"),
    ),
    *_of(
        "zh-marathon",
        ("报名", "全程报名费是多少？"),
        ("领物", "参赛包可以代领吗？"),
        ("起跑与关门时间", "半程的关门时间是多久？"),
        ("补给与医疗", "饮水站多远设一个？"),
        ("存衣", "贵重物品可以寄存吗？"),
        ("成绩与奖励", "冠军有多少奖金？"),
        ("报名", "多大年龄才能跑半马？"),
        ("成绩与奖励", "在哪里下载证书？"),
    ),
]

UNANSWERABLE: list[str] = [
    "Who won the football match yesterday?",
    "What is the capital of Australia?",
    "How do I write a quicksort in Python?",
    "Tell me a joke about penguins.",
    "What will the weather be like in Oslo tomorrow?",
    "Translate this sentence into Spanish.",
    "Which vaccine do I need for Kenya?",
    "How tall is Mount Everest?",
    "Recommend a novel by Tolstoy.",
    "How do I file my income tax return?",
    "What is the exchange rate of the yen?",
    "Explain quantum entanglement to a child.",
    "昨天的足球比赛谁赢了？",
    "澳大利亚的首都在哪里？",
    "帮我写一首关于秋天的诗",
    "明天北京会下雨吗？",
    "珠穆朗玛峰有多高？",
    "怎样做红烧肉？",
    "推荐一部科幻电影",
    "日元汇率是多少？",
    "如何治疗感冒？",
    "孙悟空的师父叫什么名字？",
    "股票怎么开户？",
    "量子纠缠是什么意思？",
]
