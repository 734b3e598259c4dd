"""All operations together, bound to one connection."""

from runlore.client.remote.agent import RemoteAgent
from runlore.client.remote.learning import RemoteLearning
from runlore.client.remote.library import RemoteLibrary
from runlore.client.remote.projection import RemoteProjection
from runlore.client.remote.radar import RemoteRadar
from runlore.client.remote.records import RemoteRecords
from runlore.client.remote.review import RemoteReview
from runlore.client.remote.rollouts import RemoteRollouts
from runlore.client.remote.service import RemoteService
from runlore.client.remote.sessions import RemoteSessions
from runlore.client.remote.skills import RemoteSkills


class RemoteOperations(
    RemoteRecords,
    RemoteReview,
    RemoteRadar,
    RemoteLearning,
    RemoteSessions,
    RemoteAgent,
    RemoteProjection,
    RemoteSkills,
    RemoteLibrary,
    RemoteRollouts,
    RemoteService,
):
    """The operations over HTTP: the same requests, answers and errors as in this process."""
