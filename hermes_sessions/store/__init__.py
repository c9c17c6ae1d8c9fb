"""Everything that speaks SQL, and the only place that knows Hermes' schema."""
