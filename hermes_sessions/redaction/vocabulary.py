"""Ordinary words: those that do not turn a name into a secret, and those that are no secrets."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEUTRAL: Final = _words(
    "value val base b64 base64 hex plain plaintext raw enc encrypted prod production dev test"
    " testing staging live old new current previous primary secondary main backup literal real"
    " actual my the"
)
"""Last words of a name that leave its meaning: ``SECRET_KEY_BASE``, ``token_new``."""

TOKEN_OF_A_GRAMMAR: Final = _words(
    "next page pad eos bos unk mask sep cls start end special image audio video first last prev"
    " cursor continuation stop max min num n per input output prompt completion total cached"
    " text reasoning current new used avg average string number invalid unexpected expected word"
    " count open close begin peek lookahead operator keyword identifier newline indent dedent"
    " the a any this each every one single sub extra thinking budget stream sync"
)
"""Before "token", they make it a piece of text or a place in a list."""

OWNERS: Final = _words(
    "id personal secret security service deploy admin app application github gh gitlab slack"
    " discord telegram npm pypi hf huggingface vault ci registry provider account gateway"
    " webhook cloudflare digitalocean heroku netlify vercel sentry notion linear jira atlassian"
    " bitbucket azure aws gcp google openai anthropic replicate databricks grafana datadog pat"
)
"""Before "token", they make it one that opens something."""

KEY_OF_A_TABLE: Final = _words(
    "primary foreign public publishable cache sort partition range hash row session dict group"
    " lookup unique composite idempotency object index search natural surrogate candidate map"
    " node config setting settings registry reg i18n translation message msg state query item"
    " list data field column attr attribute property prop metadata json yaml xml env sub parent"
    " child root arrow left right up down enter escape tab shift ctrl control alt meta home end"
    " page function hot short bind key any press other same this that each first last next prev"
    " new old current known host site file path dir s3 blob bucket storage kms ssm gpg keyring"
    " is has no not the a context doc document resource route routing dedup dedupe merge join"
    " order compare comparison default str string int number type class name value test sample"
    " fixture chat thread peer conversation run job task trace span event log metric counter"
    " label tag user usage"
)
"""Before "key", they make it the key of a table, of a keyboard, or a public one."""

TYPES: Final = _words(
    "str string bytes int integer bool boolean float number any object dict list tuple set"
    " array optional union literal type text char varchar secretstr final classvar self unknown"
    " never void interface enum struct callable iterable sequence mapping byte uint8 password"
)
"""Names of types, which stand where a value may stand."""

ORDINARY: Final = TYPES | _words(
    "read write admin required missing invalid valid expired empty default set unset given"
    " found wrong correct incorrect changed change enabled disabled provided present absent"
    " hidden masked redacted removed needed used not yes no on off ok okay failed success error"
    " warning see use using via and or to of for in is are was be can must should will would may"
    " if the a an this that it with from by as at on off into file path name value key token"
    " secret pass auth user username login email id prompt input output env environment variable"
    " option options flag flags argument arguments parameter parameters field fields header"
    " basic bearer digest oauth oauth2 include same-origin omit per-user please enter your my"
    " our new old reset forgot confirm confirmation verify verification authentication"
    " authorization generated random placeholder example sample test none null nil return"
    " returns pending accepted rejected denied allowed expires stdin stdout there only also but"
    " so when then than which what who how one two all each some"
)
"""Words that stand beside a name as remarks, not as its value."""

PROSE: Final = _words(
    "the a an your enter password passwords passphrase is are was for to of must be been or not"
    " and with in on invalid wrong missing required please if token tokens key keys secret"
    " secrets user new old current no this that should can cannot may will has have use used"
    " using from by as it you we i"
)
"""Words that tell a sentence from a pass phrase."""
