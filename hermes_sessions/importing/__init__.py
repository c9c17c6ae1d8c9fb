"""Files that become conversations: backups of ours and of Hermes, transcripts of other agents."""
