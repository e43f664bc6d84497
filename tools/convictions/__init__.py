"""Which golden case convicts which known mistake: computed, and kept in a lock file that shows what a change loses."""
