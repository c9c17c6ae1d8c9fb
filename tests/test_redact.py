"""Redaction: no planted secret survives anywhere, ordinary text stays, and nothing else breaks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sqlite3
import sysconfig
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_sessions.errors import ExitCode, UserError
from hermes_sessions.redact import (
    IDENTITIES,
    Kinds,
    RedactionFailed,
    redact_json_text,
    redact_record,
    redact_text,
    redact_value,
)
from hermes_sessions.redaction import scan
from hermes_sessions.redaction.token_rules import RULES
from planted import EMBEDDINGS, LINES, MAKERS, TOKEN_EMBEDDINGS, TOKENS, Planted, plant, seeded
from support import CORPUS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 8
"""Characters of a secret that must not be found in what is left of it."""


def left_of(planted: Planted, text: str) -> str:
    """Return the first piece of a planted secret that is still in a text, or ""."""
    seen = re.sub(r"\x1b\[[0-9;]*m|\u200b|\\u001b\[[0-9;]*m|\\u200b", "", text)
    for secret in planted.secrets:
        for start in range(max(1, len(secret) - PIECE + 1)):
            if secret[start : start + PIECE] in seen:
                return secret[start : start + PIECE]
    return ""


def strings_in(value: object) -> Iterator[str]:
    """Yield every string in a value, also those in JSON in its strings."""
    if isinstance(value, str):
        yield value
        try:
            inner = json.loads(value.removeprefix("\x00json:"))
        except ValueError:
            return
        if inner != value:
            yield from strings_in(inner)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings_in(key)
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


# --- secrets go


def test_at_least_forty_kinds_are_planted() -> None:
    assert len(TOKENS) >= 40
    assert len(LINES) >= 40
    assert len({rule.kind for rule in RULES}) >= 90


@pytest.mark.parametrize("place", [*EMBEDDINGS, *TOKEN_EMBEDDINGS])
def test_no_secret_survives_in_any_place(place: str) -> None:
    random = seeded(place)
    embed = (EMBEDDINGS | TOKEN_EMBEDDINGS)[place]
    for kind in MAKERS if place in EMBEDDINGS else TOKENS:
        planted = plant(kind, random)
        text = embed(planted.text)
        redacted = redact_text(text)
        assert not left_of(planted, redacted.text), f"{kind}: {text!r} -> {redacted.text!r}"
        assert redacted.counts.total() > 0
        assert redact_text(redacted.text) == (redacted.text, {}), kind


FIELDS = (
    "title",
    "cwd",
    "display_name",
    "git_branch",
    "git_repo_root",
    "system_prompt",
    "model_config",
    "origin_json",
    "handoff_error",
    "content",
    "api_content",
    "tool_calls",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "display_metadata",
)


@settings(max_examples=1000, deadline=None)
@given(
    seed=st.integers(0, 2**64),
    kind=st.sampled_from(sorted(MAKERS)),
    place=st.sampled_from(sorted(EMBEDDINGS | TOKEN_EMBEDDINGS)),
    field=st.sampled_from(FIELDS),
    nesting=st.lists(st.sampled_from(["dict", "list", "json", "structured"]), max_size=4),
)
def test_R071_no_secret_survives_in_any_field(
    seed: int, kind: str, place: str, field: str, nesting: list[str]
) -> None:
    if place in TOKEN_EMBEDDINGS and kind not in TOKENS:
        place = "alone"
    planted = plant(kind, seeded(seed))
    value: object = (EMBEDDINGS | TOKEN_EMBEDDINGS)[place](planted.text)
    for layer in nesting:
        if layer == "dict":
            value = {"command": value, "timeout": 30}
        elif layer == "list":
            value = ["first", value]
        elif isinstance(value, str) and value.startswith("\x00"):
            break
        else:
            value = "\x00json:" * (layer == "structured") + json.dumps(value)
    row: dict[str, object] = {"id": 7, "session_id": "20260101_000000_abcdef", field: value}
    record: dict[str, object] = {"id": "20260101_000000_abcdef", field: value, "messages": [row]}
    redacted, counts = redact_record(record)
    for text in strings_in(redacted):
        assert not left_of(planted, text), f"{record!r} -> {redacted!r}"
    assert counts.total() >= 2
    assert list(redacted) == list(record)
    assert redact_record(redacted) == (redacted, {})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=[redacted: password]"),
        ('password = "hunter2"  # local', 'password = "[redacted: password]"  # local'),
        ("{'token': 'abc123def4', 'n': 1}", "{'token': '[redacted: token]', 'n': 1}"),
        (r"{\"password\": \"hunter2\", \"n", r"{\"password\": \"[redacted: password]\", \"n"),
        ("curl -u bob:hunter2 https://x.y", "curl -u bob:[redacted: password] https://x.y"),
        ("mysql -u root -phunter2 shop", "mysql -u root -p[redacted: password] shop"),
        ("postgres://u:p@ss/w@h/db", "postgres://u:[redacted: url password]@h/db"),
        ("x?access_token=abcdef12&b=c", "x?access_token=[redacted: url token]&b=c"),
        ("密码是hunter2，请保存", "密码是[redacted: password]，请保存"),
        (
            'curl -H "Authorization: Bearer abcdef" https://x.y',
            'curl -H "Authorization: Bearer [redacted: authorization]" https://x.y',
        ),
        (
            "machine x.y login bob password hunter2 port 1",
            "machine x.y login bob password [redacted: password] port 1",
        ),
        (
            "notes-ghp_0123456789abcdefghijABCDEFGHIJ012345.md",
            "notes-[redacted: github token].md",
        ),
        (
            "kind: Secret\ndata:\n  a: YWJj\n  b: |\n    xyz\ntype: Opaque\n",
            (
                "kind: Secret\ndata:\n  a: [redacted: kubernetes secret]\n  b: |\n"
                "    [redacted: kubernetes secret]\ntype: Opaque\n"
            ),
        ),
        ("- name: DB_PASS\n  value: abc1x\n", "- name: DB_PASS\n  value: [redacted: password]\n"),
        ("the key is AKIAIOSFODNN7EXAMPLE.", "the key is [redacted: aws key]."),
    ],
)
def test_only_the_secret_goes(text: str, left: str) -> None:
    assert redact_text(text).text == left


FORMS = (
    *("PASSWORD={}", "pass: {}", "MYSQL_PWD={} mysql", "Server=x;Uid=sa;Pwd={}", "_auth={}{}"),
    *("api key: {}", "client secret = {}", "Your access token is {}", "Passwort: {}", "пароль: {}"),
    *("**Password:** {}", "`password`: `{}`", "| token | {} |", 'if password == "{}":', "TOKEN={}"),
    *("define('DB_PASSWORD', '{}');", 'os.getenv("DB_PASSWORD", "{}")', "ENV API_TOKEN {}"),
    *("aws configure set aws_secret_access_key {}", "setx API_TOKEN {}", "set -x API_KEY {}"),
    *('.password("{}")', 'user.setPassword("{}")', "const apiKey: string = '{}';"),
    *("\\u0022password\\u0022: \\u0022{}\\u0022", "&quot;password&quot;: &quot;{}&quot;"),
    *("user=bob&password={}&x=1", "https%3A%2F%2Fx%3Fa%3D1%26token%3D{}%26b", "x#id_token={}"),
    *("redis-cli -a {}", "docker login -u x -p {} y", "echo '{}' | sudo -S ls", "vault login {}"),
    *("openssl enc -pass pass:{}", "smbclient //h/s -U bob%{}", "htpasswd -b .htpasswd bob {}"),
    *("curl --user 'bob:{} x' y", "curl -b 'sid={}' y", "http -a bob:{} :8000", "7z x -p{} a.7z"),
    *("kubectl create secret generic x --from-literal=a={}", "lftp -u bob,{} h", "unzip -P {} a"),
    *("CREATE USER x IDENTIFIED BY '{}';", "ALTER ROLE x WITH PASSWORD '{}';"),
    *("jdbc:oracle:thin:scott/{}@h:1521:x", "root:{}@tcp(127.0.0.1:3306)/db", "u:p@x ftp://u:{}@h"),
    *("https://{}{}:x-oauth-basic@github.com", "https://api.x.y/v1?key={}{}", "x?code={}{}"),
    *(
        "AKIAIOSFODNN7EXAMPLE,{0}{0}{0}{0}",
        '{{"kty": "RSA", "n": "x", "d": "{}{}{}"',
        "x?otp={}1Aa",
    ),
    *('Authorization: Digest username="b", response="{}"', "authorization: token {}"),
    *("Authorization: AWS4-HMAC-SHA256 Credential=x, Signature={}", "X-Amz-Security-Token: {}"),
    *(
        "  client-key-data: {}{}",
        '{{"auths": {{"r.io": {{"auth": "dXNlcjp{}{}"}}}}}}',
        "x --token={}",
    ),
    *(
        "passphrase: {}",
        "login: bob\\npassword: {}\\nport: 1",
        "     3|DB_PASSWORD={}",
        'say "password="+{}"',
        'say "password=")-{}"',
        "REDIS_AUTH2={}1",
        "+  secret: {}",
    ),
)
"""Ways to write a secret down; ``{}`` is where it stands."""


def test_no_secret_survives_in_any_form() -> None:
    planted = "Zq7Xk2Lm9P"
    for form in FORMS:
        text = form.format(*[planted] * 4)
        assert planted[:PIECE] not in redact_text(text).text, text


def test_passwords_of_plain_words() -> None:
    for form in (
        *("DB_PASSWORD=swordfish", "password: swordfish", '"password": "swordfish"', "-pswordfish"),
        *(
            "tool --password swordfish",
            "Server=x;Uid=sa;Password=swordfish",
            "x&password=swordfish&",
        ),
    ):
        text = f"mysql {form}" if form.startswith("-p") else form
        assert "swordfish" not in redact_text(text).text, text
    words = "abandon ability able about above absent absorb abstract absurd abuse access accident"
    assert redact_text(f"seed phrase: {words}").text == "seed phrase: [redacted: mnemonic]"
    assert redact_text("passphrase: correct horse battery staple").counts == {"password": 1}
    assert redact_text("passphrase: the words that you want to use").counts == {}


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"password": "x"}, {"password": "[redacted: password]"}),
        ({"password": 1234}, {"password": "[redacted: password]"}),
        ({"client_secret": "a b"}, {"client_secret": "[redacted: secret]"}),
        ({"apiKeys": ["a1", "b2"]}, {"apiKeys": ["[redacted: api key]", "[redacted: api key]"]}),
        ({"Authorization": "Bearer ab"}, {"Authorization": "Bearer [redacted: authorization]"}),
        ({"argv": ["x", "--password", "y"]}, {"argv": ["x", "--password", "[redacted: password]"]}),
        (
            {"name": "API_KEY", "value": "x"},
            {"name": "API_KEY", "value": "[redacted: api key]"},
        ),
        (
            {"name": "sid", "value": "v", "domain": "x.y"},
            {"name": "sid", "value": "[redacted: cookie]", "domain": "x.y"},
        ),
        (
            {"kind": "Secret", "data": {"a": "YWJj"}},
            {"kind": "Secret", "data": {"a": "[redacted: kubernetes secret]"}},
        ),
        (
            {"kty": "EC", "d": "abc", "x": "def"},
            {"kty": "EC", "d": "[redacted: private key]", "x": "def"},
        ),
    ],
)
def test_a_key_says_that_its_value_is_a_secret(value: object, left: object) -> None:
    assert redact_value(value)[0] == left
    assert json.loads(redact_json_text(json.dumps(value)).text) == left


@pytest.mark.parametrize(
    "value",
    [
        {"password": None, "secret": True, "token": ""},
        {"password": "${DB_PASSWORD}", "api_key": "$API_KEY", "token": "<token>"},
        {"max_tokens": 4096, "tokens": 17, "token_count": 3, "total_tokens": 20},
        {"token": " the", "logprob": -0.1, "next_page_token": "abc123def456"},
        {"session_key": "agent:main:telegram:dm:1234567890", "chat_id": "1234567890"},
        {"properties": {"password": {"type": "string", "description": "the password to use"}}},
        {"api_key_env": "OPENAI_API_KEY", "private_key": "/home/u/.ssh/id_ed25519"},
        {"primary_key": "id", "cache_key": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"},
        {"auth": "oauth", "credentials": {"type": "service_account"}},
    ],
)
def test_a_key_that_sounds_like_a_secret_is_not_enough(value: object) -> None:
    assert redact_value(value) == (value, {})


def test_a_mark_tells_the_kind_and_nothing_else() -> None:
    short, long = (f"token: ghp_{'Ab1' * length}" for length in (8, 30))
    assert redact_text(short).text == redact_text(long).text == "token: [redacted: github token]"
    redacted = redact_text("AKIAIOSFODNN7EXAMPLE and AKIAIOSFODNN7EXAMPLF")
    assert redacted.text == "[redacted: aws key] and [redacted: aws key]"
    assert redacted.counts == {"aws key": 2}


def test_a_private_key_may_be_cut_at_either_end() -> None:
    body = "\n".join("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB"[i:] for i in range(4))
    head, tail = "-----BEGIN OPENSSH PRIVATE KEY-----\n", "\n-----END OPENSSH PRIVATE KEY-----"
    for text in (f"a\n{head}{body}", f"{body}{tail}\nb", f"a\n{head}{body}{tail}\nb"):
        assert "b3BlbnNz" not in redact_text(text).text
    assert redact_text(f'if b"{head.strip()}" in data:\n    found = 1\n').counts == {}


def test_emails_and_phones_go_on_request_only() -> None:
    text = "write to bob.smith@example.co.uk or call +44 20 7946 0958 or (555) 123-4567"
    assert redact_text(text).counts == {}
    redacted = redact_text(text, Kinds(emails=True, phones=True))
    assert redacted.text == (
        "write to [redacted: email address] or call [redacted: phone number]"
        " or [redacted: phone number]"
    )
    assert redact_value({"a": ["x@y.org"]}, Kinds(emails=True))[1] == {"email address": 1}


# --- everything else stays

KEPT = (
    "password: str = None",
    "password = getpass.getpass('Password: ')",
    "token = self.next_token()",
    "api_key=os.environ['OPENAI_API_KEY'],",
    "curl -H 'Authorization: Bearer $TOKEN' \"$URL\"",
    'curl -u "$USER:$PASSWORD" https://example.com',
    "DB_PASSWORD=${DB_PASSWORD:?missing}",
    "export TOKEN=$(gh auth token)",
    'headers = {"Authorization": f"Bearer {token}"}',
    "password: ********",
    "Password: <your password>",
    "--token TOKEN        the token to use",
    "  --password string   password of the user (default none)",
    "use --password to set one, and --token for the other",
    'parser.add_argument("--password", help="the password of the user")',
    "the password is required",
    "if password != confirmation: raise ValueError",
    "PWD=/home/u/project",
    "secretName: db-credentials",
    "AUTH0=dev-x1y2z3.eu",
    "auth0: dev-1x2y3z.eu",
    "OAuth2=RFC6749x7",
    'print("password=", secret1)',
    '"password=" + value1 + "x"',
    "f('token: '), g1",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0xmm1n9wXJt6qYw7u0Fh1oF2m0u bob@host",
    "https://example.com:8080/@scope/package?page=2&sort=key",
    "git@github.com:acme/repo.git",
    "http://localhost:5432/health",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "550e8400-e29b-41d4-a716-446655440000",
    "call_8Vf3mT0Y7qXkzLr2WnBc1dSe toolu_01A09q90qw90lq917835lq9",
    "20260305_120000_0c0001",
    "claude-3-5-sonnet-20241022, gpt-4o-mini-2024-07-18",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n-----END CERTIFICATE-----",
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode(),
    "密码错误，请重试",
    "docker run -u 1000:1000 -p 8080:80 nginx",
    "[redacted: github token] password=[redacted: password]",
)


@pytest.mark.parametrize("text", KEPT)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_text(text).text == text
    assert redact_value({"output": text})[0] == {"output": text}


def generated_text() -> Iterator[str]:
    """Yield what logs and lock files are full of."""
    random = seeded(1)

    def digest() -> bytes:
        return random.randbytes(32)

    yield "\n".join(str(uuid.UUID(bytes=random.randbytes(16))) for _ in range(2000))
    yield "\n".join(hashlib.sha256(digest()).hexdigest() + "  file.tar.gz" for _ in range(2000))
    yield "\n".join(
        f"commit {digest()[:20].hex()}\nAuthor: Bob <bob@example.com>\n\n    fix token handling\n"
        for _ in range(500)
    )
    yield "\n".join(
        f'    {{ url = "https://files.pythonhosted.org/packages/{digest().hex()}/x-{i}.0.tar.gz",'
        f' hash = "sha256:{digest().hex()}" }},'
        for i in range(2000)
    )
    yield "\n".join(
        f'    "integrity": "sha512-{base64.b64encode(digest() * 2).decode()}",' for _ in range(2000)
    )
    picture = base64.b64encode(random.randbytes(60_000)).decode()
    yield "\n".join(picture[at : at + 76] for at in range(0, len(picture), 76))
    yield f"![picture](data:image/png;base64,{picture})"


def texts_at_hand() -> Iterator[str]:
    """Yield texts that are on every machine: sources, licences, descriptions of packages."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if not {"test", "tests", "site-packages", "idle_test"}.intersection(path.parts):
            yield path.read_text(encoding="utf-8", errors="replace")
    packages = Path(sysconfig.get_path("purelib"))
    for pattern in ("*.dist-info/METADATA", "*.dist-info/**/LICENSE*", "*.dist-info/RECORD"):
        for path in sorted(packages.glob(pattern)):
            yield path.read_text(encoding="utf-8", errors="replace")
    yield from generated_text()


def test_less_than_one_in_a_thousand_ordinary_lines_changes() -> None:
    lines = 0
    changed: list[str] = []
    for text in texts_at_hand():
        lines += text.count("\n") + 1
        redacted = redact_text(text)
        if redacted.counts:
            left = set(redacted.text.splitlines())
            changed += [line for line in text.splitlines() if line not in left]
    assert lines > 100_000
    assert len(changed) * 1000 < lines, "\n".join(changed[:40])


def test_no_generated_line_changes() -> None:
    for text in generated_text():
        assert redact_text(text).counts == {}


def rows_of(path: Path) -> Iterable[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as store:
        store.row_factory = sqlite3.Row
        for table in ("sessions", "messages"):
            yield from (dict(row) for row in store.execute(f"SELECT * FROM {table}"))


@pytest.mark.parametrize("path", sorted(CORPUS.glob("state-*.db")), ids=lambda p: p.stem)
def test_rows_of_real_stores(path: Path) -> None:
    changed = {}
    for row in rows_of(path):
        redacted, counts = redact_record(row)
        assert list(redacted) == list(row)
        assert {name: redacted[name] for name in row if name in IDENTITIES} == {
            name: row[name] for name in row if name in IDENTITIES
        }
        for name, value in row.items():
            assert type(redacted[name]) is type(value)
            if redacted[name] != value:
                changed[str(value)] = counts
    assert len(changed) == 4  # what the corpus plants; nothing else looks like a secret
    assert all("FAKE" in text for text in changed)
    assert {kind for counts in changed.values() for kind in counts} == {
        "aws key",
        "github token",
        "jwt",
        "openai-style key",
        "token",
        "url password",
    }


# --- structure

NAMES = st.sampled_from(
    ["password", "api_key", "text", "value", "name", "data", "kind", "n", "domain"]
)
SECRETS = st.builds(
    lambda seed, kind: plant(kind, seeded(seed)).text,
    st.integers(0, 2**32),
    st.sampled_from(sorted(MAKERS)),
)
PIECES = st.sampled_from(
    [
        *(
            "password",
            "TOKEN",
            "secret",
            "Cookie",
            "=",
            ": ",
            " ",
            "\n",
            '"',
            "'",
            '\\"',
            "\\n",
            "`",
        ),
        *("{", "}", "[", "]", "<", ">", "[redacted: password]", "[redacted: ", "hunter2", "$VAR"),
        *("\\", "密码是", "\u200b", "\x1b[0m", "\x00", "|", ",", ";", "Bearer ", "%26", "\ud800"),
    ]
)
MIXED = st.lists(PIECES | SECRETS | st.text(max_size=3), max_size=8).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | MIXED,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | MIXED, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(MIXED)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact_text(text).text
    assert redact_text(once) == (once, {})


def shape(value: object) -> object:
    """Return the skeleton of a value: its containers, keys that are no secrets, and lengths."""
    if isinstance(value, dict):
        return [(key if len(key) < 9 else "", shape(item)) for key, item in value.items()]
    return [shape(item) for item in value] if isinstance(value, list) else None


@settings(max_examples=250, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_json_stays_json(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    redacted = redact_json_text(text).text
    left = json.loads(redacted)
    assert redacted.isascii() or not text.isascii()
    assert redact_json_text(redacted) == (redacted, {})
    if "[redacted: " not in "".join(re.findall(r'"[^"]*":', redacted)):  # no key went
        assert shape(left) == shape(value)
        assert left == redact_value(value)[0]


@pytest.mark.parametrize(
    "address",
    [f"https://acme.webhook.office.com/webhookb2/{'dc6486c479e8' * 3}", f"/etc/ghp_{'Ab1' * 12}"],
)
def test_an_address_that_is_left_stays_when_redacted_again(address: str) -> None:
    once = redact_json_text(json.dumps({"api_key": address})).text
    assert "[redacted: " in once
    assert redact_json_text(once) == (once, {})


def test_the_layout_of_json_stays() -> None:
    text = '{ "n": 1.00,\n\t"a": "\\u6570", "a": "ghp_' + "Ab1" * 12 + '", "z": [1e2 ,null] }\n'
    left = '{ "n": 1.00,\n\t"a": "\\u6570", "a": "[redacted: github token]", "z": [1e2 ,null] }\n'
    assert redact_json_text(text).text == left
    assert redact_json_text('{"a": 1}\n{"password": "x"}\n').text == (
        '{"a": 1}\n{"password": "[redacted: password]"}\n'
    )


def test_escapes_hide_nothing() -> None:
    for text in (
        r'{"pass\u0077ord": "hunter2"}',
        r'{"a": "\u0067hp_0123456789abcdefghijABCDEFGHIJ012345"}',
        r'{"a": "https:\/\/u:hunter2@h\/x"}',
        r'{"a": "x\nAKIAIOSFODNN7EXAMPLE\u0022"}',
        r'{"a": "{\"b\": \"{\\\"password\\\": \\\"hunter2\\\"}\"}"}',
    ):
        redacted = redact_json_text(text)
        assert redacted.counts.total() == 1, text
        json.loads(redacted.text)


def test_bytes_and_tuples_stay_what_they_are() -> None:
    value = (b"password=hunter2 \xff", ("token: ghp_" + "Ab1" * 12,))
    assert redact_value(value)[0] == (
        b"password=[redacted: password] \xff",
        ("token: [redacted: github token]",),
    )
    assert redact_value({1: "x", None: 2.5})[0] == {1: "x", None: 2.5}


def test_two_secrets_as_keys_stay_two_entries() -> None:
    value = {f"sk-ant-{char * 30}1": index for index, char in enumerate("ab")}
    assert redact_value(value)[0] == {
        "[redacted: anthropic key]": 0,
        "[redacted: anthropic key] (2)": 1,
    }


def test_a_record_keeps_ids_and_times() -> None:
    key = "ghp_" + "Ab1" * 12
    record = {
        "id": key,
        "title": key,
        "parent_session_id": key,
        "started_at": 1767225600.5,
        "messages": [{"id": 1, "tool_call_id": key, "content": f"\x00json:{json.dumps(key)}"}],
    }
    redacted, counts = redact_record(record)
    assert redacted == {
        **record,
        "title": "[redacted: github token]",
        "messages": [
            {"id": 1, "tool_call_id": key, "content": '\x00json:"[redacted: github token]"'}
        ],
    }
    assert counts == {"github token": 2}


# --- safety


def test_failure_closes() -> None:
    with pytest.raises(RedactionFailed) as caught:
        redact_value({"a": {1, 2}})
    assert isinstance(caught.value, UserError)
    assert caught.value.exit_code == ExitCode.FAILED
    assert caught.value.details == ("TypeError in redaction",)


def test_a_fault_of_a_rule_closes_without_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(text: str, _: object) -> object:
        raise KeyError(text)

    monkeypatch.setattr(scan, "redact", fault)
    for call in (redact_text, redact_json_text, redact_value):
        with pytest.raises(RedactionFailed) as caught:
            call('{"password: hunter2"')
        assert "hunter2" not in str(caught.value) + str(caught.value.details)
        assert caught.value.__suppress_context__


def test_any_depth_is_redacted_or_refused() -> None:
    key = "ghp_" + "Ab1" * 12
    for depth in (5, 50, 400, 5_000, 100_000):
        assert key not in redact_json_text("[" * depth + f'"{key}"' + "]" * depth).text
    nested: object = key
    for _ in range(12):
        nested = json.dumps([nested])
    assert key not in redact_text(str(nested)).text


UNITS = (
    *("password=", "api_key: ", '"password": "', '\\"token\\": \\"', "sk-", "eyJ", "eyJa.", "\\"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "://a:", "://a:b@", "?token="),
    *("Authorization: ", "Authorization:", "Cookie:", '"Cookie": "', "login a password ", '"'),
    *("curl -u a:", "mysql -p", "a:5432:b:c:", "{", "[", "<password>", "password(", "a", "=", "."),
    *("kind: Secret\ndata:\n", "AKIA", "SG.aaaaaaaaaaaaaaaaaaaa", "\x1b[0m", "\u200b", "密码是"),
    *("name: password value: ", "Private-Lines: 9\nAAAA\n", "| password | ", "[redacted: ", "&"),
    *("password=[redacted: a]", "--password ", 'password=a"b', "${", '{"a":', "0:AA", "\n", " "),
)


def test_no_input_takes_more_than_linear_time() -> None:
    def seconds(unit: str, length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        redact_text(text)
        return time.process_time() - start

    for unit in UNITS:
        short, long = seconds(unit, 10_000), seconds(unit, 80_000)
        assert long < 24 * short + 0.15, unit  # 8 times is linear, 64 is not


def test_the_copy_in_lower_case_is_as_long_as_the_text() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert len(scan._lower(everything)) == len(everything)


def test_rules_are_sound() -> None:
    for rule in RULES:
        re.compile(rule.pattern.removeprefix("<"), re.ASCII)
        assert all(rule.literals), rule.kind
        assert re.fullmatch(r"[a-z0-9 .-]+", rule.kind), "kinds are written in marks"
