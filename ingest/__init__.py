"""From official sources to verified chunks: readers → legal tree → chunker → plan, upload, verify, prune."""
