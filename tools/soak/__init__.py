"""Break what the harness reads, and kill it while it writes: every file must stay whole, every answer clear."""
