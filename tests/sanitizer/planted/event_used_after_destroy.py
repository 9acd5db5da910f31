# event misuse | which was destroyed
from infinirt import runtime as rt

stream = rt.infinirtStreamCreate()[1]
event = rt.infinirtEventCreate()[1]
rt.infinirtEventDestroy(event)
rt.infinirtEventRecord(event, stream)  # fails, and nobody looks
rt.infinirtStreamDestroy(stream)
