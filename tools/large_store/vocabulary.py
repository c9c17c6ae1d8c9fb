"""The words and sentences the prose is made of. A name in braces is filled in, see `Prose`."""

from __future__ import annotations


def words(text: str) -> list[str]:
    """Split a list of words kept as running text, where it can be read and extended."""
    return text.split()


NOUNS = words("""
account adapter alert archive backend backup balance batch bill branch bucket budget buffer
build cache calendar callback certificate channel checkout client cluster column commit config
connection container contract cookie counter coupon cursor customer dashboard dataset deadline
delivery deployment device digest document domain draft endpoint event export feature feed file
filter fixture flag folder form gateway graph handler header hook image import index ingest
invoice job journal kernel key label latency ledger library license listener loader lock logger
mailbox manifest mapping margin metric migration mirror model module monitor network node
notebook offset order output package page parser partition password patch payload payment
permission photo plan plugin policy pool port profile project proxy query queue quota recipe
record refund region registry release replica report request resolver resource response retry
route runner sandbox schedule schema scope script search secret sensor server service shard
signal snapshot socket source stage storage stream subscription summary table task template
tenant test thread ticket timeout token topic trace transaction transfer trigger tunnel update
upload user validator vendor version volume wallet watcher webhook widget window worker
workspace
""")
VERBS = words("""
add audit bump check clean compare compress convert debug delete deploy describe disable
document drop enable explain extend fix generate harden improve inspect install investigate
limit measure merge migrate monitor move optimise parse patch plan port profile publish reduce
refactor remove rename replace reproduce restore restructure retry review rewrite roll-back
rotate schedule script shrink simplify sketch speed-up split stabilise summarise test tidy
translate trim tune update upgrade validate verify
""")
ADJECTIVES = words("""
slow stale missing nightly flaky legacy shared public empty duplicate encrypted broken temporary
weekly remote local default partial orphaned unused noisy oversized expired nested pending idle
concurrent incremental optional
""")
TEMPLATES = (
    "The {a} {n} in `{i}` is read before the {m} is ready, so the first {o} after a restart fails.",
    "I checked `{p}`: the {n} keeps its own {m}, and nothing clears it when the {o} changes.",
    "Most of the time goes into the {n}; the {m} itself takes about {d} ms for {e} rows.",
    "That leaves {d} of {e} {n} rows with a {a} {m}, all of them written before the {o} moved.",
    "The {m} test passes alone and fails after `{i}`, because both share one {a} {n}.",
    "Two options: keep the {n} and add a {m}, or drop the {n} and let the {o} decide.",
    "I would not touch the {a} {o} now; the {n} change is small and can be undone with one flag.",
    "After the change the {n} returns {d} instead of {e}, and the {m} stays under its limit.",
    "`{i}` is called from `{p}` and from the {a} {m}; only the first one handles an empty {o}.",
    "The {n} is {a} since version {d}.{e}, which is when the {m} moved out of the {o}.",
)
REQUESTS = (
    "Can you {v} the {a} {n}? It {w} every time the {m} changes.",
    "{V} the {n} in `{p}`, please, and tell me what happens to the {m}.",
    "Why does `{i}` take {d} seconds when the {o} is {a}?",
    "Next: {v} the {m}. Keep the {n} as it is.",
    "Look at the {a} {o} first, then {v} the {n}. No new dependencies.",
    "I get a timeout after {d} s from the {n}. The {m} looks fine to me. Ideas?",
    "Write a test for the {a} {n} and {v} whatever it finds.",
)
WHINES = ("breaks", "hangs", "slows down", "prints a warning", "loses a row", "fails on CI")
CHINESE = (
    "请帮我检查一下订单服务的日志, 昨天晚上有很多超时。",
    "迁移脚本已经在测试环境跑过两遍, 结果一致。",
    "先备份, 再更新索引, 最后对比两边的行数。",
    "这个接口的响应时间从三百毫秒降到了四十毫秒。",
    "缓存没有命中, 因为键里多了一个空格。",
    "明天上线之前还需要补两个测试。",
    "ログを確認したところ、再試行が三回行われていました。",
    "設定ファイルの読み込み順を変更すれば解決します。",
    "テスト環境では再現しませんでした。",
)

TOOLS = ("terminal", "read_file", "search_files", "write_file", "patch", "web_search")
CODE_LINES = (
    "def {i}({n}: str, limit: int = {d}) -> list[{N}]:",
    "    if {n}.{m} is None or len({n}.{o}) > {d}:",
    "        raise {N}Error(f'no {m} for {{{n}}}')",
    "    return [{i}({m}) for {m} in {n}.{o} if {m}.{a}]",
    "    {i} = {n}.get('{m}', {d})",
    "const {i} = await {n}.{m}({{ {o}: {d}, {a}: true }});",
    "SELECT {n}_id, count(*) FROM {m} WHERE {o}_at > now() - interval '{d} days' GROUP BY 1;",
    "    # the {a} {n} must be closed before the {m} is read again",
)
OUTPUT_LINES = (
    "2026-03-{c:02} 0{c}:14:{e} INFO  {n}.{m}: {i} took {d} ms",
    "2026-07-{c:02} 1{c}:40:{e} WARN  {n}.{o}: {a} {m}, retry {c} of 5",
    "src/{n}/{m}.py:{d}:    {i} = {n}.{o}({e})",
    "-rw-r--r-- 1 you you {d}{e} {n}_{m}.{o}.json",
    "tests/test_{n}.py::test_{i}_{m} PASSED                                   [ {e}%]",
    "{i:<40} {d:>8} {e:>6}  {a}",
)
