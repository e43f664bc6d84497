"""Reports in files: the record as JSON lines, and what is rendered from it (JUnit, Markdown, a badge), and what changed between two."""
