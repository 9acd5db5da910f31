"""A small network in PaddlePaddle, trained on device 0 of this runtime.

CUSTOM_DEVICE_ROOT=$(python -m infinirt --paddle-plugin-dir) python examples/paddle/train.py
"""

import numpy as np
import paddle

paddle.set_device("infinirt:0")
paddle.seed(1)

rng = np.random.default_rng(1)
points = rng.normal(size=(256, 2)).astype("float32")
labels = (points.prod(axis=1) > 0).astype("int64")  # which quadrants: a straight line cannot tell

net = paddle.nn.Sequential(paddle.nn.Linear(2, 32), paddle.nn.Tanh(), paddle.nn.Linear(32, 2))
optimizer = paddle.optimizer.Adam(0.03, parameters=net.parameters())
data, wanted = paddle.to_tensor(points), paddle.to_tensor(labels)

for step in range(60):
    loss = paddle.nn.functional.cross_entropy(net(data), wanted)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    if step % 15 == 0:
        print(f"step {step:2}: loss {float(loss):.4f}")

right = (net(data).argmax(axis=1) == wanted).astype("float32").mean()
print(f"{100 * float(right):.0f}% right, on {data.place}")
