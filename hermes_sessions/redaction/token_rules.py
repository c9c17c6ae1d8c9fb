r"""Tokens that tell by their own form what they are, wherever they stand.

Each row of the table is a kind, the literals one of which every such token holds, and a pattern
that is tried at each of these literals. So a text without any of the literals is passed at the
speed of a plain search. Lengths are generous: vendors change them.

In the patterns ``\b`` is not enough: a token may follow ``\n`` in JSON, so ``<`` at the start
stands for "no letter or digit before, unless it belongs to an escape".
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """How to find one kind of token.

    Attributes:
        literals: one of them is in every such token, at the point where the pattern is tried.
        check: what else must hold: "random" (no words), "long" (no words, or one too long to be
            one), "jwt", or "" for nothing.
        left: the token begins before the literal, at least that many characters (the pattern
            looks behind for them).
    """

    kind: str
    literals: tuple[str, ...]
    pattern: str
    check: str = ""
    left: int = 0


_W = r"[\w-]"
_A = r"[A-Za-z0-9]"
_H = r"[0-9a-fA-F]"

RULES: Final = (
    Rule("anthropic key", ("sk-ant-",), rf"sk-ant-{_W}{{10,}}+"),
    Rule("openrouter key", ("sk-or-",), rf"sk-or-{_W}{{16,}}+"),
    Rule(
        "openai key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), rf"sk-\w+-{_W}{{16,}}+"
    ),
    Rule("langfuse key", ("sk-lf-",), rf"sk-lf-{_W}{{16,}}+"),
    Rule("openai-style key", ("sk-",), rf"<sk-{_W}{{16,}}+", "long"),
    Rule("google api key", ("AIza",), rf"<AIza{_W}{{30,}}+"),
    Rule("google api key", ("AQ.",), rf"<AQ\.{_W}{{30,}}+", "random"),
    Rule("google oauth secret", ("GOCSPX-",), rf"GOCSPX-{_W}{{16,}}+"),
    Rule("google oauth token", ("ya29.",), r"<ya29\.[\w.-]{20,}+"),
    Rule("google oauth token", ("1//0",), rf"<1//0{_W}{{30,}}+"),
    Rule(
        "aws key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"<A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    Rule("aws key", ("ABSK",), r"<ABSK[A-Za-z0-9+/=]{60,}+"),
    Rule("aws key", ("bedrock-api-key-",), r"bedrock-api-key-[A-Za-z0-9+/=]{40,}+"),
    Rule("aws session token", ("FwoGZXIvYXdz", "IQoJb3JpZ2lu"), r"\w{12}[A-Za-z0-9+/=]{40,}+"),
    Rule("amazon mws key", ("amzn.mws.",), rf"amzn\.mws\.{_W}{{20,}}+"),
    Rule("alibaba key", ("LTAI",), rf"<LTAI{_A}{{12,}}+", "random"),
    Rule("tencent key", ("AKID",), rf"<AKID{_A}{{28,}}+", "random"),
    Rule("azure client secret", ("Q~",), r"(?<=[\w~.]{3}\d)Q~[\w.~-]{30,}+", left=4),
    Rule("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"<gh[pousr]_{_A}{{16,}}+"),
    Rule("github token", ("github_pat_",), r"github_pat_\w{16,}+"),
    Rule(
        "gitlab token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "glffct-",
            "glwt-",
        ),
        r"<gl[a-z]{2,5}-[\w.=-]{16,}+",
    ),
    Rule("gitlab token", ("GR1348941",), rf"GR1348941{_W}{{16,}}+"),
    Rule("slack token", ("xox",), r"<xox[a-z](?:\.xox[a-z])?-[\w-]{10,}+"),
    Rule("slack token", ("xapp-",), r"<xapp-\d-[\w-]{10,}+"),
    Rule(
        "slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{16,}+",
    ),
    Rule(
        "slack webhook",
        ("hooks.slack-gov.com/",),
        r"hooks\.slack-gov\.com/(?:services|workflows|triggers)/[\w/+-]{16,}+",
    ),
    Rule("discord webhook", ("/api/webhooks/",), rf"/api/webhooks/\d{{10,}}/{_W}{{20,}}+"),
    Rule("discord token", ("mfa.",), rf"<mfa\.{_W}{{20,}}+", "random"),
    Rule(
        "teams webhook",
        ("webhook.office.com/", "outlook.office.com/webhook/"),
        r"(?:webhook|outlook)\.office\.com/[\w@./-]{36,}+",
    ),
    Rule("webhook", ("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/catch/[\w/-]{8,}+"),
    Rule("webhook", ("maker.ifttt.com/",), r"maker\.ifttt\.com/trigger/[\w./-]{16,}+"),
    Rule("webhook", ("/open-apis/bot/",), r"/open-apis/bot/v\d/hook/[\w-]{16,}+"),
    Rule("telegram token", (":AA",), rf"(?<=\d{{8}}):AA{_W}{{30,36}}", left=8),
    Rule(
        "stripe key",
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
        rf"[rs]k_\w{{4}}_{_A}{{10,}}+",
    ),
    Rule("stripe webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{16,}+"),
    Rule("twilio key", ("SK",), rf"<SK{_H}{{32}}(?!{_A})"),
    Rule("sendgrid key", ("SG.",), rf"<SG\.{_W}{{16,64}}\.{_W}{{16,}}+"),
    Rule("mailgun key", ("key-",), r"<key-[0-9a-f]{32}(?![0-9a-z])"),
    Rule("mailchimp key", ("-us",), r"(?<=[0-9a-f]{32})-us\d{1,2}(?![\w-])", left=32),
    Rule("brevo key", ("xkeysib-", "xsmtpsib-"), rf"x(?:key|smtp)sib-{_W}{{30,}}+"),
    Rule("mailersend key", ("mlsn.",), r"<mlsn\.[0-9a-f]{40,}+"),
    Rule("resend key", ("re_",), r"<re_\w{20,}+", "random"),
    Rule("npm token", ("npm_",), rf"<npm_{_A}{{20,}}+"),
    Rule("pypi token", ("pypi-",), rf"<pypi-{_W}{{30,}}+", "long"),
    Rule("rubygems key", ("rubygems_",), rf"rubygems_{_H}{{32,}}+"),
    Rule("crates.io token", ("cio",), rf"<cio{_A}{{32}}(?!{_A})", "random"),
    Rule("nuget key", ("oy2",), r"<oy2[a-z0-9]{43}(?![a-z0-9])"),
    Rule("clojars token", ("CLOJARS_",), r"CLOJARS_[a-z0-9]{40,}+"),
    Rule("docker token", ("dckr_pat_", "dckr_oat_"), rf"dckr_[po]at_{_W}{{16,}}+"),
    Rule("huggingface token", ("hf_",), rf"<hf_{_A}{{20,}}+"),
    Rule("huggingface token", ("api_org_",), rf"<api_org_{_A}{{24,}}+"),
    Rule("groq key", ("gsk_",), rf"<gsk_{_A}{{20,}}+"),
    Rule("replicate token", ("r8_",), rf"<r8_(?:{_A}{{36,}}+|{_A}{{20,35}}+(?!{_W}))"),
    Rule("xai key", ("xai-",), rf"<xai-{_W}{{20,}}+", "long"),
    Rule("perplexity key", ("pplx-",), rf"<pplx-{_A}{{20,}}+"),
    Rule("nvidia key", ("nvapi-",), rf"<nvapi-{_W}{{20,}}+"),
    Rule("cerebras key", ("csk-",), rf"<csk-{_A}{{20,}}+"),
    Rule("together key", ("tgp_v1_",), rf"tgp_v1_{_W}{{16,}}+"),
    Rule("fireworks key", ("fw_", "fpk_", "fw-"), rf"<f(?:w|pk)[_-]{_A}{{20,}}+", "long"),
    Rule("fal key", ("fal_",), rf"<fal_{_W}{{20,}}+", "random"),
    Rule("firecrawl key", ("fc-",), rf"<fc-{_H}{{20,}}+"),
    Rule("tavily key", ("tvly-",), rf"<tvly-{_W}{{16,}}+"),
    Rule("exa key", ("exa_",), rf"<exa_{_W}{{20,}}+", "random"),
    Rule("jina key", ("jina_",), rf"<jina_{_W}{{20,}}+", "random"),
    Rule("voyage key", ("pa-",), rf"<pa-{_W}{{40,}}+", "random"),
    Rule("pinecone key", ("pcsk_",), rf"<pcsk_{_W}{{20,}}+"),
    Rule("langsmith key", ("lsv2_",), r"lsv2_(?:pt|sk)_\w{16,}+"),
    Rule("wandb key", ("wandb_v1_",), rf"wandb_v1_{_W}{{20,}}+"),
    Rule("browserbase key", ("bb_live_", "bb_test_"), rf"<bb_(?:live|test)_{_W}{{16,}}+"),
    Rule(
        "memory service key",
        ("mem0_", "m0-", "brv_", "retaindb_", "hsk-", "am_"),
        rf"<(?:mem0_|m0-|brv_|retaindb_|hsk-|am_){_W}{{20,}}+",
        "random",
    ),
    Rule("matrix token", ("syt_",), r"<syt_\w{16,}+"),
    Rule("elevenlabs key", ("sk_",), r"<sk_\w{20,}+", "random"),
    Rule("databricks token", ("dapi",), rf"<dapi{_H}{{32}}(?:-\d)?"),
    Rule("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"do[opr]_v1_{_H}{{32,}}+"),
    Rule("heroku key", ("HRKU-",), rf"HRKU-{_W}{{20,}}+"),
    Rule("cloudflare key", ("v1.0-",), rf"<v1\.0-{_H}{{24}}-{_H}{{100,}}+"),
    Rule("doppler token", ("dp.",), r"<dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}+"),
    Rule("vault token", ("hvs.", "hvb.", "hvr."), rf"<hv[sbr]\.{_W}{{16,}}+"),
    Rule("terraform token", (".atlasv1.",), rf"(?<={_A}{{14}})\.atlasv1\.{_W}{{30,}}+", left=14),
    Rule("pulumi token", ("pul-",), rf"<pul-{_H}{{32,}}+"),
    Rule("linear key", ("lin_api_", "lin_oauth_"), rf"lin_(?:api|oauth)_{_A}{{16,}}+"),
    Rule("notion token", ("secret_",), rf"<secret_{_A}{{32,}}+", "long"),
    Rule("notion token", ("ntn_",), rf"<ntn_{_A}{{20,}}+"),
    Rule("figma token", ("figd_", "figu_", "figo_", "figoh_"), rf"<fig(?:d|u|oh?)_{_W}{{20,}}+"),
    Rule(
        "shopify token",
        ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"),
        rf"shp(?:at|ca|pa|ss|ua)_{_A}{{16,}}+",
    ),
    Rule("square token", ("sq0",), rf"<sq0[a-z]{{3}}-{_W}{{20,}}+"),
    Rule("square token", ("EAAA",), rf"(?<![A-Za-z0-9+/])EAAA{_W}{{50,}}+", "random"),
    Rule("facebook token", ("EAA",), rf"(?<![A-Za-z0-9+/])EAA{_A}{{80,}}+", "random"),
    Rule("paypal token", ("access_token$",), rf"access_token\$\w+\$\w+\${_H}{{20,}}+"),
    Rule("supabase key", ("sbp_",), rf"<sbp_{_H}{{32,}}+"),
    Rule("supabase key", ("sb_secret_",), rf"sb_secret_{_W}{{16,}}+"),
    Rule("sentry token", ("sntrys_", "sntryu_"), r"sntry[su]_[\w+/=-]{20,}+"),
    Rule("new relic key", ("NRAK-", "NRII-", "NRJS-", "NRIQ-", "NRRA-"), rf"<NR\w\w-{_W}{{16,}}+"),
    Rule("new relic key", ("NRAL",), rf"(?<={_H}{{36}})NRAL(?!{_A})", left=36),
    Rule("grafana token", ("glc_", "glsa_"), r"<gl(?:c|sa)_[\w+/=]{20,}+"),
    Rule("age key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-\w{20,}+"),
    Rule("1password token", ("ops_",), rf"<ops_{_W}{{30,}}+", "long"),
    Rule("dropbox token", ("sl.",), rf"<sl\.{_W}{{60,}}+", "random"),
    Rule("airtable token", ("pat",), rf"<pat{_A}{{14}}\.{_H}{{32,}}+"),
    Rule("atlassian token", ("ATATT3", "ATCTT3", "ATBB"), r"<AT(?:ATT3|CTT3|BB)[\w=-]{20,}+"),
    Rule("postman key", ("PMAK-", "PMAT-"), rf"<PMA[KT]-{_W}{{20,}}+"),
    Rule("contentful token", ("CFPAT-",), rf"<CFPAT-{_W}{{20,}}+"),
    Rule("netlify token", ("nfp_",), rf"<nfp_{_W}{{20,}}+"),
    Rule("vercel token", ("vcp_", "vca_", "vck_", "vci_", "vcr_"), rf"<vc[packir]_{_W}{{20,}}+"),
    Rule("fly.io token", ("fm1r_", "fm1a_", "fm2_", "fo1_"), r"<f(?:m1[ra]|m2|o1)_[\w+/=-]{20,}+"),
    Rule("render key", ("rnd_",), rf"<rnd_{_A}{{20,}}+", "random"),
    Rule("planetscale token", ("pscale_",), r"pscale_(?:tkn|oauth|pw|app)_[\w.=-]{16,}+"),
    Rule("neon key", ("napi_",), r"<napi_\w{30,}+"),
    Rule("tailscale key", ("tskey-",), rf"<tskey-{_W}{{16,}}+"),
    Rule("sonarqube token", ("sqp_", "squ_", "sqa_"), rf"<sq[pua]_{_H}{{32,}}+"),
    Rule("buildkite token", ("bkua_",), rf"<bkua_{_H}{{32,}}+"),
    Rule("circleci token", ("CCIPAT_", "CCIPRJ_"), r"CCIP(?:AT|RJ)_\w{20,}+"),
    Rule(
        "plaid token",
        ("access-production-", "access-sandbox-", "access-development-"),
        rf"access-\w+-{_H}{{8}}-{_W}{{20,}}+",
    ),
    Rule("razorpay key", ("rzp_live_", "rzp_test_"), rf"rzp_(?:live|test)_{_A}{{10,}}+"),
    Rule("flutterwave key", ("FLWSECK",), r"FLWSECK[\w-]{16,}+"),
    Rule("mapbox token", ("sk.eyJ",), r"<sk\.eyJ[\w.-]{20,}+"),
    Rule("intercom token", ("dG9rO",), r"<dG9rO[\w=-]{40,}+"),
    Rule("fernet token", ("gAAAAAB",), r"<gAAAAAB[\w=-]{60,}+"),
    Rule("jwt", ("eyJ",), r"<eyJ[\w-]{8,}+(?:\.[\w-]*+)*+", "jwt"),
    Rule("password hash", ("$2",), r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    Rule("password hash", ("$argon2",), r"\$argon2(?:id|i|d)\$[\w=,$+/.-]{30,}+"),
    Rule("password hash", ("$6$", "$5$", "$1$", "$y$"), r"\$[651y]\$[\w./=$]{20,}+"),
)
