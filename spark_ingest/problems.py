"""What may go wrong, with what to do about it."""


class LoadProblem(Exception):
    """A load that cannot go on; the text is for whoever runs it."""


class Overtaken(LoadProblem):
    """Another run has taken the load over, or somebody has cancelled it."""


class StagingLost(LoadProblem):
    """The server has crashed, and with it went the staged rows."""
