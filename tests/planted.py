"""Secrets to plant: made up, in the form that real ones have, with the parts that must not survive.

Nothing here is a secret of anybody: every character behind a prefix comes from a random generator.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
WORD = ALNUM + "_-"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"


def seeded(seed: int | str) -> Random:
    """Return a generator that gives the same characters in every run."""
    return Random(seed)  # noqa: S311 - nothing is protected by these


class Planted(NamedTuple):
    """A text with a secret in it.

    Attributes:
        text: the token, or a line or block in which a secret stands.
        secrets: what must not survive, nor any eight characters of it.
    """

    text: str
    secrets: tuple[str, ...]


class Source:
    """Random characters; those asked for are remembered as secret."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.secrets: list[str] = []

    def __call__(self, alphabet: str, length: int) -> str:
        """Make a part of a secret: letters and digits are both in it."""
        while True:
            made = "".join(self.random.choices(alphabet, k=length))
            has_digit = any(char.isdigit() for char in made)
            if has_digit and any(char.isalpha() for char in made) and made[0] not in "-_+/":
                self.secrets.append(made)
                return made

    def spoken(self, alphabet: str, length: int) -> str:
        """Make characters that are not secret: an account number, a host."""
        return "".join(self.random.choices(alphabet, k=length))

    def password(self) -> str:
        return self(ALNUM, self.random.randint(10, 20))


def pem(s: Source, label: str, line_end: str = "\n", headers: str = "") -> str:
    lines = [s(BASE64, 64) for _ in range(s.random.randint(2, 6))] + [s(BASE64, 30) + "=="]
    body = line_end.join(lines)
    return f"-----BEGIN {label}-----{line_end}{headers}{body}{line_end}-----END {label}-----"


def jwt(s: Source) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    return f"{head}.eyJ{s(WORD, 40)}.{s(WORD, 43)}"


def basic(s: Source) -> str:
    secret = base64.b64encode(f"user:{s.password()}".encode()).decode()
    s.secrets.append(secret)
    return secret


Maker = Callable[[Source], str]

TOKENS: dict[str, Maker] = {
    "openai": lambda s: f"sk-{s(ALNUM, 48)}",
    "openai project": lambda s: f"sk-proj-{s(WORD, 120)}",
    "openai service": lambda s: f"sk-svcacct-{s(WORD, 60)}",
    "deepseek": lambda s: f"sk-{s(HEX, 32)}",
    "anthropic": lambda s: f"sk-ant-api03-{s(WORD, 93)}AA",
    "openrouter": lambda s: f"sk-or-v1-{s(HEX, 64)}",
    "google api": lambda s: f"AIza{s(WORD, 35)}",
    "google oauth": lambda s: f"ya29.{s(WORD, 80)}",
    "google secret": lambda s: f"GOCSPX-{s(WORD, 28)}",
    "aws": lambda s: f"AKIA{s(UPPER, 16)}",
    "aws temporary": lambda s: f"ASIA{s(UPPER, 16)}",
    "azure secret": lambda s: f"{s.spoken(ALNUM, 3)}8Q~{s(ALNUM, 34)}",
    "github": lambda s: f"ghp_{s(ALNUM, 36)}",
    "github oauth": lambda s: f"gho_{s(ALNUM, 36)}",
    "github server": lambda s: f"ghs_{s(ALNUM, 36)}",
    "github fine-grained": lambda s: f"github_pat_{s(ALNUM, 22)}_{s(ALNUM, 59)}",
    "gitlab": lambda s: f"glpat-{s(WORD, 20)}",
    "slack bot": lambda s: f"xoxb-{s.spoken(string.digits, 12)}-{s(ALNUM, 24)}",
    "slack user": lambda s: f"xoxp-{s.spoken(string.digits, 12)}-{s(HEX, 32)}",
    "slack app": lambda s: f"xapp-1-A0{s.spoken(UPPER, 8)}-{s(HEX, 64)}",
    "slack webhook": lambda s: (
        f"https://hooks.slack.com/services/T0{s.spoken(UPPER, 8)}/B0{s(UPPER, 9)}/{s(ALNUM, 24)}"
    ),
    "discord webhook": lambda s: (
        f"https://discord.com/api/webhooks/1{s.spoken(string.digits, 17)}/{s(WORD, 68)}"
    ),
    "teams webhook": lambda s: f"https://acme.webhook.office.com/webhookb2/{s(HEX, 36)}",
    "discord bot": lambda s: f"M{s(ALNUM, 25)}.G{s.spoken(ALNUM, 5)}.{s(WORD, 38)}",
    "telegram bot": lambda s: f"6{s.spoken(string.digits, 9)}:AA{s(WORD, 33)}",
    "stripe": lambda s: f"sk_live_{s(ALNUM, 24)}",
    "stripe restricted": lambda s: f"rk_live_{s(ALNUM, 24)}",
    "stripe webhook": lambda s: f"whsec_{s(ALNUM, 32)}",
    "twilio": lambda s: f"SK{s(HEX, 32)}",
    "sendgrid": lambda s: f"SG.{s(WORD, 22)}.{s(WORD, 43)}",
    "mailgun": lambda s: f"key-{s(HEX, 32)}",
    "mailgun new": lambda s: f"{s(HEX, 32)}-{s(HEX, 8)}-{s(HEX, 8)}",
    "mailchimp": lambda s: f"{s(HEX, 32)}-us12",
    "npm": lambda s: f"npm_{s(ALNUM, 36)}",
    "pypi": lambda s: f"pypi-AgEIcHlwaS5vcmc{s(WORD, 100)}",
    "rubygems": lambda s: f"rubygems_{s(HEX, 48)}",
    "docker": lambda s: f"dckr_pat_{s(WORD, 27)}",
    "huggingface": lambda s: f"hf_{s(ALNUM, 34)}",
    "groq": lambda s: f"gsk_{s(ALNUM, 52)}",
    "replicate": lambda s: f"r8_{s(ALNUM, 37)}",
    "xai": lambda s: f"xai-{s(ALNUM, 80)}",
    "perplexity": lambda s: f"pplx-{s(ALNUM, 48)}",
    "nvidia": lambda s: f"nvapi-{s(WORD, 64)}",
    "tavily": lambda s: f"tvly-{s(ALNUM, 32)}",
    "databricks": lambda s: f"dapi{s(HEX, 32)}",
    "digitalocean": lambda s: f"dop_v1_{s(HEX, 64)}",
    "heroku": lambda s: f"HRKU-{s(WORD, 60)}",
    "doppler": lambda s: f"dp.pt.{s(ALNUM, 43)}",
    "vault": lambda s: f"hvs.{s(WORD, 90)}",
    "terraform": lambda s: f"{s(ALNUM, 14)}.atlasv1.{s(ALNUM, 67)}",
    "linear": lambda s: f"lin_api_{s(ALNUM, 40)}",
    "notion": lambda s: f"secret_{s(ALNUM, 43)}",
    "notion new": lambda s: f"ntn_{s(ALNUM, 46)}",
    "figma": lambda s: f"figd_{s(WORD, 40)}",
    "shopify": lambda s: f"shpat_{s(HEX, 32)}",
    "square": lambda s: f"sq0atp-{s(WORD, 22)}",
    "supabase": lambda s: f"sbp_{s(HEX, 40)}",
    "sentry": lambda s: f"sntryu_{s(HEX, 64)}",
    "new relic": lambda s: f"NRAK-{s(UPPER, 27)}",
    "grafana": lambda s: f"glsa_{s(ALNUM, 32)}_{s(HEX, 8)}",
    "age": lambda s: f"AGE-SECRET-KEY-1{s(UPPER, 58)}",
    "1password": lambda s: f"ops_eyJ{s(WORD, 120)}",
    "airtable": lambda s: f"pat{s(ALNUM, 14)}.{s(HEX, 64)}",
    "atlassian": lambda s: f"ATATT3xFfGF0{s(WORD, 120)}",
    "postman": lambda s: f"PMAK-{s(HEX, 24)}-{s(HEX, 34)}",
    "netlify": lambda s: f"nfp_{s(ALNUM, 36)}",
    "pulumi": lambda s: f"pul-{s(HEX, 40)}",
    "tailscale": lambda s: f"tskey-auth-k{s(ALNUM, 10)}CNTRL-{s(ALNUM, 32)}",
    "elevenlabs": lambda s: f"sk_{s(HEX, 48)}",
    "pinecone": lambda s: f"pcsk_{s(ALNUM, 6)}_{s(ALNUM, 60)}",
    "langsmith": lambda s: f"lsv2_pt_{s(HEX, 32)}_{s(HEX, 10)}",
    "fernet": lambda s: f"gAAAAAB{s(WORD, 93)}==",
    "bcrypt": lambda s: f"$2b$12${s(ALNUM, 53)}",
    "jwt": jwt,
}
"""Secrets that are known by their own form."""

LINES: dict[str, Maker] = {
    "env": lambda s: f"DB_PASSWORD={s.password()}",
    "env quoted": lambda s: f'export API_KEY="{s(ALNUM + "!#%&*+", 20)}"',
    "aws secret": lambda s: f"AWS_SECRET_ACCESS_KEY={s(BASE64, 40)}",
    "python": lambda s: f'password = "{s.password()}"',
    "python dict": lambda s: f"{{'client_secret': '{s.password()}', 'retries': 3}}",
    "typed": lambda s: f'auth_token: str = "{s.password()}"',
    "subscript": lambda s: f'os.environ["MY_TOKEN"] = "{s.password()}"',
    "properties": lambda s: f"spring.datasource.password={s.password()}",
    "yaml": lambda s: f"api_key: {s.password()}",
    "json": lambda s: json.dumps({"user": "bob", "password": s.password(), "n": 1}),
    "go": lambda s: f'secretKey := "{s.password()}"',
    "ruby": lambda s: f':password => "{s.password()}"',
    "xml": lambda s: f"<password>{s.password()}</password>",
    "flag": lambda s: f"tool --password {s.password()} --verbose",
    "flag equals": lambda s: f"tool --api-key={s.password()} run",
    "flag list": lambda s: f'["tool", "--token", "{s.password()}"]',
    "curl user": lambda s: f"curl -u admin:{s.password()} https://example.com",
    "mysql": lambda s: f"mysql -u root -p{s.password()} shop",
    "sshpass": lambda s: f"sshpass -p {s.password()} ssh host",
    "bearer header": lambda s: f'curl -H "Authorization: Bearer {s(WORD, 30)}" https://example.com',
    "basic header": lambda s: f"Authorization: Basic {basic(s)}",
    "header dict": lambda s: f'{{"Authorization": "Bearer {s(WORD, 30)}"}}',
    "proxy header": lambda s: f"Proxy-Authorization: Basic {basic(s)}",
    "key header": lambda s: f"X-Api-Key: {s.password()}",
    "cookie": lambda s: f"Cookie: session={s.password()}; theme=dark",
    "set-cookie": lambda s: f"Set-Cookie: sid={s.password()}; Path=/; HttpOnly",
    "url password": lambda s: f"https://bob:{s.password()}@example.com/repo.git",
    "url token": lambda s: f"https://{s(ALNUM, 40)}@github.com/acme/repo.git",
    "url query": lambda s: f"https://example.com/cb?access_token={s.password()}&page=2",
    "url signature": lambda s: f"https://b.s3.amazonaws.com/k?X-Amz-Signature={s(HEX, 64)}",
    "azure sas": lambda s: f"https://x.blob.core.windows.net/c?sv=2022-11-02&sig={s(ALNUM, 43)}%3D",
    "oauth code": lambda s: f"https://example.com/cb?code={s(ALNUM, 30)}&state=x",
    "postgres": lambda s: f"postgres://app:{s.password()}@db.example.com:5432/shop",
    "mongodb": lambda s: f"mongodb+srv://app:{s.password()}@c0.example.mongodb.net/shop",
    "redis": lambda s: f"redis://:{s.password()}@localhost:6379/0",
    "jdbc": lambda s: f"jdbc:mysql://db/shop?user=app&password={s.password()}",
    "azure storage": lambda s: (
        f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={s(BASE64, 86)}==;E=core"
    ),
    "ado": lambda s: f"Server=db;Database=shop;User Id=sa;Password={s.password()};",
    "netrc": lambda s: f"machine example.com login bob password {s.password()}",
    "pgpass": lambda s: f"db.example.com:5432:shop:app:{s.password()}",
    "npmrc": lambda s: f"//registry.npmjs.org/:_authToken={s.password()}",
    "pypirc": lambda s: f"[pypi]\nusername = __token__\npassword = {s.password()}",
    "kubernetes": lambda s: (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n"
        f"  url: {s(ALNUM, 30)}\n  other: {s(ALNUM, 20)}"
    ),
    "container env": lambda s: f"- name: DB_PASSWORD\n  value: {s.password()}",
    "heredoc": lambda s: f"cat > .env <<'EOF'\nSECRET_KEY={s.password()}\nDEBUG=1\nEOF",
    "spoken": lambda s: f"the password is {s.password()}",
    "chinese": lambda s: f"密码是{s.password()}",
    "table": lambda s: f"| password | {s.password()} |",
    "rsa key": lambda s: pem(s, "RSA PRIVATE KEY"),
    "encrypted key": lambda s: pem(
        s, "RSA PRIVATE KEY", headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"
    ),
    "pkcs8 key": lambda s: pem(s, "PRIVATE KEY"),
    "key in one line": lambda s: f'"{pem(s, "PRIVATE KEY", chr(92) + "n")}"',
    "openssh key": lambda s: pem(s, "OPENSSH PRIVATE KEY"),
    "pgp key": lambda s: pem(s, "PGP PRIVATE KEY BLOCK", headers="Version: GnuPG v2\n\n"),
    "putty key": lambda s: (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\n"
        f"Private-Lines: 2\n{s(BASE64, 64)}\n{s(BASE64, 40)}\nPrivate-MAC: {s(HEX, 64)}"
    ),
}
"""Secrets that are known by what stands beside them."""

MAKERS: dict[str, Maker] = {**TOKENS, **LINES}


def plant(kind: str, random: Random) -> Planted:
    """Make a secret of a kind of ``MAKERS``."""
    source = Source(random)
    text = MAKERS[kind](source)
    return Planted(text, tuple(source.secrets))


def _json(text: str) -> str:
    return json.dumps({"text": f"a {text}", "n": 1.50, "ok": True}, ensure_ascii=False)


EMBEDDINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda t: t,
    "sentence": lambda t: f"Please use\n{t}\nfor this.",
    "line end": lambda t: f"done\n{t}",
    "indented": lambda t: f"  {t}  ",
    "quoted": lambda t: f"he wrote: '{t}'",
    "backticks": lambda t: f"run `{t}` now",
    "fence": lambda t: f"```sh\n{t}\n```\n",
    "quote of markdown": lambda t: f"> {t}\n",
    "list": lambda t: f"- {t}\n- next\n",
    "table cell": lambda t: f"a,{t}",
    "html": lambda t: f"<code>{t}</code>",
    "shell": lambda t: f"cat <<'EOF' > f\n{t}\nEOF\n",
    "json": _json,
    "json in json": lambda t: _json(_json(t)),
    "json in json in json": lambda t: _json(_json(_json(t))),
    "ascii json": lambda t: json.dumps(["数", f"\n{t}\n"]),
    "cut json": lambda t: _json(t)[:-2],
    "cut json in json": lambda t: _json(_json(t))[:-2],
    "json in text": lambda t: f"Result: {_json(t)} (exit 0)",
    "json lines": lambda t: f'{{"a": 1}}\n{_json(t)}\n',
    "python": lambda t: repr({"text": f"\n{t}\n"}),
    "colours": lambda t: f"\x1b[1;32m{t}\x1b[0m",
    "chinese beside": lambda t: f"请用 {t}。谢谢",
    "windows": lambda t: "a\r\n" + t.replace("\n", "\r\n") + "\r\n",
    "structured": lambda t: "\x00json:" + json.dumps([{"type": "text", "text": t}]),
}
"""Where a secret stands."""

TOKEN_EMBEDDINGS: dict[str, Callable[[str], str]] = {
    "chinese around": lambda t: f"密钥是{t}请保存",
    "path": lambda t: f"/home/u/{t}/notes.txt",
    "file name": lambda t: f"notes-{t}.md",
    "query": lambda t: f"https://example.com/x?y={t}&z=1",
    "escaped query": lambda t: f"https%3A%2F%2Fexample.com%3Fy%3D{t}%26z%3D1",
    "parentheses": lambda t: f"f({t})",
    "assigned": lambda t: f"X={t}; export X",
    "comma": lambda t: f"{t},{t}",
    "bold": lambda t: f"**{t}**",
    "split by a colour": lambda t: f"{t[:9]}\x1b[0m{t[9:]}",
    "split by no width": lambda t: f"{t[:12]}\u200b{t[12:]}",
}
"""Where only a token that is known by its form can stand."""
