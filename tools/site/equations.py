"""Equations as docstrings write them, in TeX: ``theta_j = base^(-2 j / head_dim)``."""

import re

#: What stands between bars, which don't say themselves whether they open or close.
SIZE = re.compile(r"\|(.+?)\|")
#: A space between two factors, which TeX would swallow.
PRODUCT = re.compile(r"(?<=[\w')\]»]) (?=[\w(\[«])")
SIGN = re.compile(r"[A-Za-z]\w*'?|\d+(?:\.\d+)?|\.\.\.|<=|>=|\S")
WORD = re.compile(r"([A-Za-z]+?)(?:_([A-Za-z]{0,2}|delta)|(\d))?('?)")
COMMANDS = {"alpha", "delta", "gamma", "lambda", "pi", "sqrt", "sum", "theta"}
FUNCTIONS = {"ceil", "clip", "cos", "exp", "floor", "ln", "max", "min", "mod", "ReLU", "rotate", "sigmoid", "sin", "softmax"}
SYMBOLS = {"*": r"\cdot", "...": r"\ldots", "<=": r"\le", ">=": r"\ge", "~": r"\,", "«": r"\left|", "»": r"\right|"}
#: What is code and no equation: axes, a division of integers, a keyword with its value, a bracket of another kind.
CODE = re.compile(r"\[batch\]|//|\"|inv_freq|<\w")


def is_equation(code: str) -> bool:
    """Whether a code span computes something, rather than names it."""
    return bool(re.search(r"[ ^(]", code)) and not CODE.search(code)


def tex(equation: str) -> str:
    """Return an equation in TeX: what is raised or lowered in parentheses loses them, and so does what stands under a root."""
    written: list[str] = []
    closing: list[str] = []
    for sign in SIGN.findall(PRODUCT.sub("~", SIZE.sub(r"«\1»", equation))):
        if sign == "(":
            bare = bool(written) and written[-1].endswith(("^", "_", r"\sqrt"))
            written.append("{" if bare else "(")
            closing.append("}" if bare else ")")
        else:
            written.append(closing.pop() if sign == ")" else _sign(sign))
    return " ".join(written)


def _sign(sign: str) -> str:
    if not sign[0].isalpha():
        return SYMBOLS.get(sign, sign)
    word = WORD.fullmatch(sign)
    if word is None:
        return _name(sign)
    name, letters, digit, prime = word.groups()
    if letters == "":
        return f"{_name(name)}_"
    index = letters or digit
    return f"{{{_name(name)}_{{{_index(index)}}}}}" if index else _name(name) + prime


def _index(index: str) -> str:
    return _name(index) if index in COMMANDS else index


def _name(name: str) -> str:
    if name in COMMANDS:
        return f"\\{name}"
    if name in FUNCTIONS:
        return rf"\operatorname{{{name}}}"
    spelled = name.replace("_", r"\_")
    return name if len(name) == 1 else f"\\mathrm{{{spelled}}}"
