"""What can go wrong with a program, light enough for every worker to import."""


class ProtocolError(Exception):
    """A line that isn't what the protocol asks for."""


class ProgramEndedError(Exception):
    """The program is gone, or what it sends can't be followed any more."""


class UnaskedError(ProgramEndedError):
    """The program ended, or said something, after its last answer and before it had read another request."""


class CommandError(Exception):
    """The command can't be used, and why, in one line."""


class ImpatientError(CommandError):
    """The program doesn't wait until it is asked."""

    #: So many seconds one that is asked nothing must wait, where another said something, or ended, without being asked: longer than it may
    #: take to end once its output is closed.
    seconds = 1.0

    def __init__(self, command: str, did: str) -> None:
        """Say what it did."""
        super().__init__(f"command {command!r} must wait until it is asked, got: {did}")
