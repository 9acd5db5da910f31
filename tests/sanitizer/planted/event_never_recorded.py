# race | had not been recorded
from infinirt import runtime as rt


def ok(result):
    assert result[0] == 0, result
    return result[1] if len(result) == 2 else result[1:]


producer, consumer = (ok(rt.infinirtStreamCreateWithFlags(1)) for _ in range(2))
ready = ok(rt.infinirtEventCreate())
data, copy = ok(rt.infinirtMalloc(4096)), ok(rt.infinirtMalloc(4096))
ok(rt.infinirtMemsetAsync(data, 1, 4096, producer))
ok(rt.infinirtStreamWaitEvent(consumer, ready, 0))  # nobody recorded it
ok(rt.infinirtMemcpyAsync(copy, data, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDefault, consumer))
ok(rt.infinirtDeviceSynchronize())
for pointer in (data, copy):
    ok(rt.infinirtFree(pointer))
