"""PaddlePaddle trains on our device with the loss of its own CPU, step by step, and exits cleanly."""

from __future__ import annotations

import pytest
from paddle_programs import answers

pytestmark = pytest.mark.peer("paddlepaddle")

# Weights and data come from NumPy, so that only the device differs between two runs.
TRAIN = """
import sys
device, optimizer, accumulate = sys.argv[1], sys.argv[2], int(sys.argv[3])
paddle.set_device(device)
rng = np.random.default_rng(11)
net = paddle.nn.Sequential(
    paddle.nn.Conv2D(1, 4, 3), paddle.nn.BatchNorm2D(4), paddle.nn.ReLU(), paddle.nn.Flatten(),
    paddle.nn.Linear(4 * 6 * 6, 16), paddle.nn.Tanh(), paddle.nn.Linear(16, 3))
for parameter in net.parameters():
    parameter.set_value((rng.normal(size=parameter.shape) * 0.3).astype("float32"))
rule = getattr(paddle.optimizer, optimizer)({"SGD": 0.3, "Adam": 0.02}[optimizer], parameters=net.parameters())
images = rng.normal(size=(48, 1, 8, 8)).astype("float32")
labels = rng.integers(0, 3, 48)
losses = []
for step in range(24):
    for part in range(accumulate):
        chosen = (np.arange(16) + 16 * (step + part)) % 48
        loss = paddle.nn.functional.cross_entropy(net(paddle.to_tensor(images[chosen])), paddle.to_tensor(labels[chosen]))
        (loss / accumulate).backward()
        losses.append(float(loss))
    rule.step()
    rule.clear_grad()
place = str(net[0].weight.place)
say([place, losses, [float(p.astype("float64").sum()) for p in net.parameters()]])
"""


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_the_loss_is_the_cpus_step_by_step(optimizer: str, accumulate: int) -> None:
    ((place, losses, weights),) = answers(TRAIN, "infinirt:0", optimizer, str(accumulate))
    ((cpu_place, cpu_losses, cpu_weights),) = answers(TRAIN, "cpu", optimizer, str(accumulate))
    assert (place, cpu_place) == ("Place(infinirt:0)", "Place(cpu)")
    assert len(losses) == 24 * accumulate
    assert losses == pytest.approx(cpu_losses, rel=1e-5)
    assert weights == pytest.approx(cpu_weights, rel=1e-4, abs=1e-4)
    assert sum(losses[-3:]) < 0.7 * sum(losses[:3]), losses


@pytest.mark.parametrize("schedule", ["inline", "random:1", "random:2"])
def test_the_loss_does_not_depend_on_the_schedule(schedule: str) -> None:
    """With a seeded schedule a missing synchronisation, ours or PaddlePaddle's, would show."""
    usual = answers(TRAIN, "infinirt:0", "Adam", "2")
    settings = {"INFINIRT_CPU_SCHEDULE": schedule, "INFINIRT_CPU_MEMORY": "isolated,guarded"}
    assert answers(TRAIN, "infinirt:0", "Adam", "2", **settings) == usual


def test_a_gradient_that_arrives_on_several_ways() -> None:
    program = """
paddle.set_device("infinirt:0")
a = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
b = a * 1
(b * b + b + b * 3).sum().backward()
(a * 5).sum().backward()
say(a.grad.numpy().tolist())
"""
    assert answers(program) == [[13.0, 15.0]]


@pytest.mark.gpu
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_the_loss_on_a_gpu(optimizer: str) -> None:
    """The operators are PaddlePaddle's CPU kernels here, too, so the losses are the same; the memory is the GPU's."""
    # The log would have one failure: that of asking where the host reaches the memory.
    settings = {"INFINIRT_DEVICE": "nvidia", "INFINIRT_LOG": ""}
    ((place, losses, _),) = answers(TRAIN, "infinirt:0", optimizer, "2", first="import infinirt", **settings)
    ((_, cpu_losses, _),) = answers(TRAIN, "cpu", optimizer, "2")
    assert place == "Place(infinirt:0)"
    assert losses == pytest.approx(cpu_losses, rel=1e-5)
