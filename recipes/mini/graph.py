"""The image tower as an ONNX graph, written node by node: no PyTorch, no exporter.

Every weight is stored as 16-bit floats followed by a Cast, which ONNX Runtime folds when it loads the file: half the
bytes on disk, full precision in use.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

STRIDES = (1, 2, 2, 2, 1, 2, 1)
EPS = 1e-3


class Graph:
    def __init__(self):
        self.nodes, self.initializers, self.count = [], [], 0

    def name(self, stem):
        self.count += 1
        return f"{stem}_{self.count}"

    def constant(self, array, stem="w"):
        """A 16-bit initializer and the name of its 32-bit cast."""
        name = self.name(stem)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array.astype(np.float16)), name + "_f16"))
        self.nodes.append(helper.make_node("Cast", [name + "_f16"], [name], to=TensorProto.FLOAT))
        return name

    def single(self, array, stem="c"):
        """An initializer kept as it is."""
        name = self.name(stem)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, op, inputs, stem="x", **attributes):
        out = self.name(stem)
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def conv(self, x, weight, bias, stride=1, act=True):
        k = weight.shape[-1]
        if stride == 2:  # TensorFlow's SAME padding of an even side
            low = (k - 2) // 2
            pads = [low, low, k - 2 - low, k - 2 - low]
        else:
            pads = [k // 2] * 4
        groups = weight.shape[0] if weight.shape[1] == 1 and k > 1 else 1
        x = self.add("Conv", [x, self.constant(weight), self.single(bias.astype(np.float32), "b")],
                     kernel_shape=[k, k], strides=[stride, stride], pads=pads, group=groups)
        return self.add("Clip", [x, self.low, self.high]) if act else x


def tower(g, x, folded):
    """`folded` gives weight and bias of a convolution by the name it has in the published weights."""
    g.low, g.high = g.single(np.float32(0)), g.single(np.float32(6))
    x = g.conv(x, *folded("_conv_stem"), stride=2)
    index, stage, last = 0, -1, None
    while folded(f"_blocks.{index}._project_conv") is not None:
        weight, _ = folded(f"_blocks.{index}._project_conv")
        first = weight.shape[0] != last
        stage += first
        last = weight.shape[0]
        y = x
        expand = folded(f"_blocks.{index}._expand_conv")
        if expand is not None:
            y = g.conv(y, *expand)
        y = g.conv(y, *folded(f"_blocks.{index}._depthwise_conv"), stride=STRIDES[stage] if first else 1)
        y = g.conv(y, *folded(f"_blocks.{index}._project_conv"), act=False)
        x = y if first else g.add("Add", [x, y])
        index += 1
    x = g.conv(x, *folded("_conv_head"))
    return g.add("Flatten", [g.add("GlobalAveragePool", [x])])


def published(weights):
    """Folded convolutions of the published weights."""
    norms = {"_expand_conv": "_bn0", "_depthwise_conv": "_bn1", "_project_conv": "_bn2"}

    def folded(name):
        if name + ".weight" not in weights:
            return None
        if name in ("_conv_stem", "_conv_head"):
            norm = "_bn0" if name == "_conv_stem" else "_bn1"
        else:
            block, part = name.rsplit(".", 1)
            norm = f"{block}.{norms[part]}"
        scale = weights[norm + ".weight"] / np.sqrt(weights[norm + ".running_var"] + EPS)
        return weights[name + ".weight"] * scale[:, None, None, None], weights[norm + ".bias"] - weights[norm + ".running_mean"] * scale
    return folded


def model(g, x_name, out, dim, dtype=TensorProto.FLOAT):
    graph = helper.make_graph(
        g.nodes, "mini",
        [helper.make_tensor_value_info(x_name, dtype, ["n", 3, "height", "width"])],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, ["n", dim])], g.initializers)
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    built.ir_version = 8
    return built
