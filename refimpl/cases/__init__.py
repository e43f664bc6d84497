"""The cases of the schemes whose files would be too long with them: inputs, and the mistake that each exposes."""
