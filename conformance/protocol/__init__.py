"""The line protocol: how a program in any language is judged. ``docs/protocol.md`` is its page, ``schema.json`` its one statement."""
