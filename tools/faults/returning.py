"""Faults in what is returned."""

from tools.faults.fault import Fault

READABLE = "not a result: a result must hold real numbers of at most 64 bits or integers"

RETURNING = (
    Fault("nothing", "failed", "must return one array, got None: is there a return?", "return None"),
    Fault("a string", "failed", "got str", "return 'result'"),
    Fault("a generator", "failed", "got generator", "return (row for row in result)"),
    Fault("a dictionary", "failed", "got dict", "return {'result': result}"),
    Fault("a list of rows", "failed", "must return one array, got list of 2", "return [result, result]"),
    Fault("a type", "failed", "got type", "return np.ndarray"),
    Fault("another rank", "failed", "wrong shape", "result = result[0]"),
    Fault("another length", "failed", "wrong shape", "result = result[..., :-1, :]"),
    Fault("no numbers at all", "failed", "wrong shape", "result = result[:0]"),
    Fault("a narrower dtype", "failed", "wrong dtype", "result = result.astype(np.float16)"),
    Fault("integers", "failed", "wrong dtype", "result = result.astype(np.int32)"),
    Fault("complex numbers", "failed", READABLE, "result = result.astype(complex)"),
    Fault("an array of objects", "failed", READABLE, "result = result.astype(object)"),
    Fault("an array of strings", "failed", READABLE, "result = result.astype(str)"),
    Fault("a structured array", "failed", READABLE, "result = np.zeros(result.shape, dtype=[('real', 'f4')])"),
    Fault("a masked array", "failed", "got a masked array", "result = np.ma.masked_greater(result, 0)"),
    Fault(
        "a broadcast array larger than the memory",
        "failed",
        "at most 134217728 numbers",
        "result = np.broadcast_to(result[..., None], (*result.shape, 1 << 40))",
    ),
    Fault("more than fits the channel", "failed", "at most 134217728 numbers", "result = np.broadcast_to(np.float32(1), (1 << 28,))"),
    Fault("a wider dtype", "advisory", "float64 for float32 input", "result = result.astype(np.float64)"),
    Fault("NaN", "failed", "not finite", "result[..., 0] = np.nan"),
    Fault("infinities", "failed", "not finite", "result[..., 0] = -np.inf"),
    Fault("uninitialised memory", "failed", "wrong value", "result = np.full_like(result, 3e38)"),
    Fault("not contiguous", "passed", "", "result = np.repeat(result, 3, axis=-1)[..., ::3]"),
    Fault("negative strides", "passed", "", "result = result[..., ::-1].copy()[..., ::-1]"),
    Fault("in Fortran's order", "passed", "", "result = np.asfortranarray(result)"),
    Fault(
        "swapped bytes",
        "failed",
        "wrong dtype: result must be real numbers, got >f4",
        "result = result.astype(result.dtype.newbyteorder())",
    ),
    Fault("a read-only array", "passed", "", "result.flags.writeable = False"),
    Fault("a subclass of the array", "passed", "", outside="class Mine(np.ndarray):\n    pass\n", inside="result = result.view(Mine)"),
    Fault(
        "a buffer that the next call overwrites",
        "advisory",
        "changes a result after it was returned",
        outside="buffer = np.zeros(1 << 22, np.float32)",
        inside="""
        view = buffer[: result.size].reshape(result.shape)
        view[...] = result
        result = view
    """,
        laws=True,
    ),
    Fault("the input itself, modified", "failed", "modifies its input", "x[...] = result\nresult = x", laws=True),
    Fault(
        "still being written after it is returned",
        "failed",
        "wrong value",
        """
        late = np.zeros_like(result)
        threading.Timer(0.2, lambda: np.copyto(late, result)).start()
        result = late
    """,
    ),
    Fault(
        "another answer at every call",
        "failed",
        "not deterministic",
        outside="calls = []",
        inside="calls.append(0)\nresult = result * np.float32(1 + 0.01 * (len(calls) % 7))",
        laws=True,
    ),
    Fault(
        "an answer that depends on earlier calls",
        "failed",
        "depends on what was called before",
        outside="bases = {}",
        inside="""
        base = bases.setdefault(parameters["head_dim"], parameters["base"])
        result = rope.rotate(x, positions, **{**parameters, "base": base})
    """,
        laws=True,
    ),
    Fault("a sparse tensor of torch", "failed", "must be readable", framework="torch", inside="result = result.to_sparse()"),
    Fault("a tensor of torch that wants a gradient", "passed", "", framework="torch", inside="result = result.requires_grad_()"),
)
