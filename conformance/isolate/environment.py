"""The variables of the environment that code under test gets: those that systems and libraries read, and no secrets."""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

#: The variable that names others to pass on, with commas between.
PASSED_ON = "POSENC_PASS"
#: Names that say that their value is a secret.
SECRET = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASS(W|PHRASE|FILE|_|$)|[^D]PWD|(^|_)(PW|PAT|OTP|DSN|JWT|SALT)(_|$)|KEYS?(_|$)|CREDENTIAL|AUTH|GPG|BEARER|COOKIE|WEBHOOK",
    re.IGNORECASE,
)
#: An address with somebody's name or password in it.
ADDRESS = re.compile(r"://[^/\s@]+@")
#: What systems, languages and libraries of arrays read: the beginnings of names.
READ = re.compile(
    r"""(PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|TMPDIR|TEMP|TMP|PWD|OLDPWD|COLUMNS|LINES|DISPLAY|PATHEXT)$
    |(HTTPS?|FTP|ALL|NO)_PROXY$
    |(LC|LD|DYLD|XDG|SSL|VIRTUAL_ENV|CONDA|PYENV|MALLOC|ASAN|UBSAN|TSAN|LSAN|COV|COVERAGE|HYPOTHESIS|POSENC)_
    |PYTHON|VIRTUAL_ENV$
    |(OMP|KMP|GOMP|LIBOMP|MKL|OPENBLAS|GOTO|BLIS|NVPL|VECLIB|NUMEXPR|NPY|NUMPY|NUMBA|CUPY|DASK|DNNL|ONEDNN|ONEAPI|SYCL|ZE)_
    |(CUDA|CUBLAS|CUDNN|CUTLASS|CUTE|NVIDIA|NVRTC|NVTE|NCCL|HIP|HSA|AMD|ROCM|ROCR|MIOPEN|RCCL|GPU|TPU|LIBTPU|PJRT|MTL|METAL)_
    |TORCH|(PYTORCH|AOT|INDUCTOR|TRITON|XFORMERS|FLASH|FLASHINFER|JAX|XLA|TF|KERAS|MLX|GGML|LLAMA|ONNX|ORT|OPENVINO)_
    |(HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|DIFFUSERS|ACCELERATE|SAFETENSORS|VLLM|SGLANG|SGL|PEFT|BITSANDBYTES|DS|DEEPSPEED)_
    |(CC|CXX|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|MAKEFLAGS|LIBRARY_PATH|CPATH|PKG_CONFIG_PATH)$
    |(JAVA|_JAVA|JDK|NODE|DENO|DOTNET|RUST|CARGO|JULIA|R|LUA|PERL5|RUBY)_|GO(FLAGS|DEBUG|PATH|ROOT|CACHE)$""",
    re.VERBOSE | re.IGNORECASE,
)
#: How long a value of another name may be: a switch, a number or a word, and no key that a machine made.
SHORT = 12


def passed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what code under test gets: what ``POSENC_PASS`` names, and what is no secret.

    That is a variable which isn't named like a secret, has no address with a name or password in it, and is one that systems or libraries
    read, or is short, or leads to a place that exists.
    """
    named = environment.get(PASSED_ON, "").split(",")
    return {name: value for name, value in environment.items() if name in named or _plain(name, value)}


def withheld(environment: Mapping[str, str]) -> list[str]:
    """Return the names of what code under test doesn't get."""
    return sorted(environment.keys() - passed(environment).keys())


def missed(environment: Mapping[str, str], sought: Collection[str], said: str = "") -> list[str]:
    """Return the names of what code under test doesn't get, of those that it asked for or that a text of it has."""
    wanted = {*sought, *re.findall(r"\w+", said)}
    few = {name: value for name, value in environment.items() if name in wanted or name == PASSED_ON} if wanted else {}
    return [name for name in withheld(few) if name in wanted]


def told(environment: Mapping[str, str], names: Collection[str]) -> str:
    """Return in words that code asks for variables that it doesn't get; nothing where there are none."""
    every = ",".join(filter(None, (environment.get(PASSED_ON), *names)))
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return f"the code asks for {', '.join(names)}, which {are} withheld from it: {PASSED_ON}={every} passes {them} on" if names else ""


def _plain(name: str, value: str) -> bool:
    """Whether a variable is no secret."""
    if SECRET.search(name) or ADDRESS.search(value):
        return False
    return bool(READ.match(name)) or len(value) <= SHORT or any(map(_exists, value.split(os.pathsep)))


def _exists(path: str) -> bool:
    return Path(path).is_absolute() and os.path.lexists(path)
