"""What the offline model does for tushare: the whole way from a name to an analysis.

| the last user message | what it does |
|---|---|
| names a stock (`600036.SH`, `平安`, `分析一下贵州茅台`) | `resolve_stock`, which asks where the name is ambiguous |
| speaks of a stock without naming it (`股票`, `stock`, `走势` …) | `resolve_stock` without arguments, which asks for it |
| then, once there is a code | `daily` and `daily_basic` in one turn; `monthly` too for `月线`, `今年`, `一年`, `半年`, `monthly` |
| then | the report in its fixed sections, every figure computed from the results |
| where the data tools are missing or failed | says so, without figures |
| asks for a question, a count, a failure (`graphs.offline.rules`) | what the common rules do |
| anything else | says what to try |

The days are counted from the date in the system prompt: `三天` 10 days back, `半年` 182, `一年` 365, `今年` since January, else 30.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, timedelta

from langchain_core.messages import ToolMessage

from graphs.offline import Call, Conversation, calling, thoughtful
from graphs.scripted import Turn
from graphs.tushare.clock import today_in_china
from graphs.tushare.report import report
from graphs.tushare.sample import STOCKS

_CODE = re.compile(r"\b\d{6}\.(?:SH|SZ|BJ)\b", re.IGNORECASE)
_NAMES = (*(stock.name for stock in STOCKS), "平安", "茅台", "宁德", "招商", "工商")
_NAMED = re.compile(r"(?:分析|看看|看一下|查询|查一下|查)(?:一下)?\s*([\u4e00-\u9fff]{2,6}?)(?=最近|近|的|今|上|本|月|$|[\s,，。？?！!])")
_NO_NAMES = frozenset({"一只", "一只股票", "股票", "这只", "某只股票", "一个", "个股", "行情", "大盘"})
_ABOUT_STOCKS = r"股票|个股|股价|走势|行情|月线|量价|估值|\bstocks?\b|\bshares?\b"
_COMMON = (
    r"\bfail now\b|\bcount to|\bask\b|\bmulti|\bseveral\b|\bconfirm|\btype in\b|\bfill in\b|\bchoose"
    r"|出错|数到|问|多选|确认|输入|填写|选择"
)
_MONTHLY = r"月线|长期|今年|一年|半年|\bmonthly\b|\byear\b"
_BACK = ((r"三天|三日|\bthree days\b", 10), (r"半年", 182), (r"一年|长期|\byear\b", 365))
_USUAL_BACK = 30


def script(talk: Conversation, tools: Sequence[str]) -> Turn | None:
    """By the table of this module's docstring."""
    subject = _subject(talk.text)
    if subject is None:
        return None if talk.results or talk.says(_COMMON) else _introduction(talk)
    if "daily" not in tools:
        return thoughtful("数据工具没有加载，不能编造数据。", "数据服务现在不可用，取不到行情数据，所以没有可以分析的内容。请稍后再试。")
    resolved = next((result for result in talk.results if result.name == "resolve_stock"), None)
    if resolved is None:
        return calling(talk, [("resolve_stock", subject)])
    ts_code = _ts_code(resolved)
    if ts_code is None:
        return thoughtful("还不知道是哪只股票。", f"{resolved.text}\n\n确定是哪只股票以后才能查数据。")
    if not any(result.name == "daily" for result in talk.results):
        return calling(talk, _queries(talk, ts_code, tools))
    failed = any(result.status == "error" for result in talk.results)
    thought = "有的数据没有取到，缺的小节写“无数据”。" if failed else "数据已经取到，按固定小节整理，只写算得出的数字。"
    return thoughtful(thought, report(talk.results))


def _subject(text: str) -> dict[str, str] | None:
    """Arguments for `resolve_stock`: a code, a name, nothing; None if the text is not about a stock."""
    if code := _CODE.search(text):
        return {"ts_code": code[0].upper()}
    if known := next((name for name in _NAMES if name in text), None):
        return {"name": known}
    named = _NAMED.search(text)
    if named and named[1] not in _NO_NAMES:
        return {"name": named[1]}
    return {} if re.search(_ABOUT_STOCKS, text, re.IGNORECASE) else None


def _ts_code(resolved: ToolMessage) -> str | None:
    try:
        return str(json.loads(resolved.text)["ts_code"])
    except (ValueError, TypeError, KeyError):  # a sentence: nothing found, nothing chosen, an error
        return None


def _queries(talk: Conversation, ts_code: str, tools: Sequence[str]) -> list[Call]:
    today = _today(talk)
    span = {"ts_code": ts_code, "start_date": f"{_start(talk, today):%Y%m%d}", "end_date": f"{today:%Y%m%d}"}
    calls: list[Call] = [("daily", span), ("daily_basic", span)]
    if talk.says(_MONTHLY):
        calls.append(("monthly", {**span, "start_date": f"{today - timedelta(days=365):%Y%m%d}"}))
    return [(name, args) for name, args in calls if name in tools]


def _today(talk: Conversation) -> date:
    said = re.search(r"\d{4}-\d{2}-\d{2}", talk.system)
    return date.fromisoformat(said[0]) if said else today_in_china()


def _start(talk: Conversation, today: date) -> date:
    if talk.says("今年"):
        return date(today.year, 1, 1)
    return today - timedelta(days=next((days for words, days in _BACK if talk.says(words)), _USUAL_BACK))


def _introduction(talk: Conversation) -> Turn:
    return thoughtful(
        talk.pick("没有提到股票，介绍一下自己。", "No stock is mentioned, so I say what I am."),
        talk.pick(
            "我是离线模型：按脚本用示例数据整理 A 股行情，不需要密钥。\n\n可以试试：\n"
            "- 分析一下平安最近一个月的走势\n- 贵州茅台的月线怎么样？\n- 600036.SH 最近三天的量价\n- 帮我看看一只股票",
            "I am the offline model: scripted, without a key. I lay out A-share data, in Chinese.\n\nTry:\n"
            "- 600036.SH\n- 分析一下平安最近一个月的走势\n- a stock",
        ),
    )
