"""Results made visible: the only package that imports rich, and plain and JSON output beside it."""
