# event misuse | infinirtEventQuery uses event 1, which was destroyed
# for the CPU device
from infinirt import runtime as rt

stream, event = rt.infinirtStreamCreate()[1], rt.infinirtEventCreate()[1]
rt.infinirtEventRecord(event, stream)
rt.infinirtStreamSynchronize(stream)
rt.infinirtEventDestroy(event)
rt.infinirtEventQuery(event)
