"""What can go wrong with a program, light enough for every worker to import."""


class ProtocolError(Exception):
    """A line that isn't what the protocol asks for."""


class ProgramEndedError(Exception):
    """The program is gone, or what it sends can't be followed any more."""

    #: The exit status of its worker (EX_SOFTWARE).
    status = 70


class UnaskedError(ProgramEndedError):
    """The program ended, or said something, after its last answer and before it had read another request."""

    status = 71


class CommandError(Exception):
    """The command can't be started, and why, in one line."""
