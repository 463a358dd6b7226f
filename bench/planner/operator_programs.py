"""Programs as logs of operators of the kind that DTR's tools write, made up of a net's forward and backward pass.

Sizes and times are drawn, with a seed; how operators hang together is that of the nets the logs are named after. A backward
operator reads what its forward one read or wrote, and what the program does not name any more is released, as PyTorch does."""
import json
import random

UNIT = 1 << 16  # bytes


class Log:
    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), [], 0

    def add(self, instruction, **fields):
        self.lines.append(json.dumps({"INSTRUCTION": instruction, **fields}))

    def name(self):
        self.count += 1
        return f"x{self.count}"

    def constant(self, units):
        name = self.name()
        self.add("CONSTANT", NAME=name)
        self.add("MEMORY", NAME=name, MEMORY=str(int(units * UNIT)))
        return name

    def call(self, operator, arguments, units, microseconds, alias=None):
        """Names of the outputs, as many as `units`."""
        names = [self.name() for _ in units]
        self.add("CALL", NAME=operator, ARGS=arguments, RESULT=names, TIME=str(int(microseconds * 1000)))
        for name, size in zip(names, units):
            self.add("MEMORY", NAME=name, MEMORY=str(int(size * UNIT)))
            self.add("ALIAS", NAME=name, ALIAS=str(-1 if alias is None else alias))
        return names

    def release(self, *names):
        for name in names:
            self.add("RELEASE", NAME=name)

    def backward(self):
        self.add("ANNOTATE", ANNOTATION="BACKWARD")

    def text(self):
        return "\n".join(self.lines) + "\n"


def convolutional(blocks, seed, inputs_of, size_of):
    """Blocks of convolution, normalisation (which keeps statistics) and activation; `inputs_of`: whose outputs one reads."""
    log = Log(seed)
    log.add("ANNOTATE", ANNOTATION="START")
    outputs, sizes, tape = [log.constant(4)], [4], []
    for block in range(blocks):
        sources = inputs_of(block)
        read, size = [outputs[s] for s in sources], size_of(block, log.random)
        weights = log.constant(log.random.uniform(0.1, 3))
        cost = log.random.uniform(50, 400) * size / 8
        joined, joined_size = read[0], sizes[sources[0]]
        if len(read) > 1:
            joined_size = sum(sizes[s] for s in sources)
            [joined] = log.call("cat", read, [joined_size], joined_size * 4)
        [out] = log.call("convolution", [joined, weights], [size], cost)
        normed, statistics = log.call("native_batch_norm", [out], [size, size / 64], size * 6)
        [done] = log.call("relu", [normed], [size], size * 3)
        log.release(normed)
        tape.append((sources, joined, joined_size, weights, out, statistics, done, size, cost))
        outputs.append(done), sizes.append(size)
    [loss] = log.call("nll_loss", [outputs[-1]], [1e-3], 10)
    log.backward()
    [gradient] = log.call("nll_loss_backward", [outputs[-1], loss], [sizes[-1]], 10)
    gradients = {blocks: gradient}
    kept = []
    for block in reversed(range(blocks)):
        sources, joined, joined_size, weights, out, statistics, done, size, cost = tape[block]
        gradient = gradients.pop(block + 1)
        [inner] = log.call("threshold_backward", [gradient, done], [size], size * 4)
        log.release(gradient, done)
        [outer] = log.call("native_batch_norm_backward", [inner, out, statistics], [size], size * 9)
        log.release(inner, out, statistics)
        whole, of_weights = log.call("convolution_backward", [outer, joined, weights], [joined_size, 0.5], 2 * cost)
        log.release(outer)
        kept.append(of_weights)
        if len(sources) > 1:
            log.release(joined)
        for source in sources:
            part = whole
            if len(sources) > 1:
                [part] = log.call("narrow", [whole], [0], 2, alias=0)
            if source in gradients:
                [total] = log.call("add", [gradients[source], part], [sizes[source]], sizes[source] * 4)
                log.release(gradients[source], part)
                gradients[source] = total
            else:
                gradients[source] = part
        if len(sources) > 1:
            log.release(whole)
    log.release(gradients.get(0, loss), loss)
    return log.text()


def recurrent(steps, seed):
    """One cell, the same weights at every step, whose gradients are added up."""
    log = Log(seed)
    log.add("ANNOTATE", ANNOTATION="START")
    weights, hidden, size, tape = log.constant(16), log.constant(2), 2, []
    inputs = [log.constant(1) for _ in range(steps)]
    for step in range(steps):
        [gates] = log.call("addmm", [inputs[step], hidden, weights], [4 * size], 300)
        parts = log.call("chunk", [gates], [0, 0], 3, alias=0)
        [cell] = log.call("sigmoid_mul", parts, [size], 20)
        [new] = log.call("tanh", [cell], [size], 12)
        log.release(*parts)
        tape.append((hidden, gates, cell, new))
        hidden = new
    [gradient] = log.call("loss_backward", [hidden], [size], 10)
    log.backward()
    total = None
    for step in reversed(range(steps)):
        before, gates, cell, new = tape[step]
        [inner] = log.call("tanh_backward", [gradient, new], [size], 15)
        log.release(gradient, new)
        [outer] = log.call("sigmoid_mul_backward", [inner, gates, cell], [4 * size], 40)
        log.release(inner, gates, cell)
        gradient, of_weights = log.call("addmm_backward", [outer, before, inputs[step], weights], [size, 16], 600)
        log.release(outer)
        if total is None:
            total = of_weights
        else:
            log.add("MUTATE", NAME="add_", ARGS=[total, of_weights], MUTATE=[0], TIME="60000")
            log.release(of_weights)
    log.release(gradient)
    return log.text()


def halves(block, blocks, _):
    return max(1.0, 16 / (1 + min(block, blocks - 1 - block) / (blocks / 8)))


PROGRAMS = {
    "vgg": lambda: convolutional(40, 1, lambda b: [b], lambda b, r: r.uniform(2, 16)),
    "resnet": lambda: convolutional(96, 2, lambda b: [b, b - 2] if b % 3 == 2 else [b], lambda b, r: r.choice([4, 8, 8, 16])),
    "densenet": lambda: convolutional(48, 3, lambda b: [b - i for i in range(min(b % 12 + 1, 6))], lambda b, r: r.uniform(1, 4)),
    "unet": lambda: convolutional(60, 4, lambda b: [b, 60 - b] if b > 30 else [b], lambda b, r: halves(b, 60, r)),
    "lstm": lambda: recurrent(128, 5),
}
