"""The rules of redaction: what a secret looks like, and where text says that one stands.

``hermes_sessions.redact`` is the door; nothing else imports from here.
"""
