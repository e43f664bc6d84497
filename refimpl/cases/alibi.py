"""The cases of ALiBi: head counts that are no power of two, every form, and distances where formats end."""

from typing import Any

from refimpl.cases import ladder
from refimpl.cases.biases import HIDDEN, MET, attended, batched
from refimpl.spec import Case

NEAR = [0, 1, 2]
#: Numbers of heads under the rule that the paper prints, in words and figures, and what they expose.
PRINTED = (
    ("six", 6, "the code's rule, two series of slopes, where the paper's is asked for"),
    ("eight", 8, "heads counted from zero; of eight heads both rules are one"),
    ("twelve", 12, "the ratio's exponent divided in integers"),
    ("forty", 40, "a running product that drifts"),
)
UNKNOWN, NO_SUCH_SLOPES = "a rule of slopes that doesn't exist", "slopes must be one of code, paper, got 'sorted'"


def symmetric(num_heads: int) -> dict[str, Any]:
    """Return the form in which a row's common share, which no softmax shows, isn't all that tells of the query."""
    return {"num_heads": num_heads, "form": "symmetric"}


def attention_cases(name: str) -> tuple[Case, ...]:
    """Return the cases of attention with the bias, or of its weights: those of every bias, other forms, and numbers of heads."""
    narrow: dict[str, Any] = {"sizes": {"head_dim": 1}}
    return (
        *attended(name, symmetric, names={**MET, **HIDDEN}),
        Case(f"{name}/row", exposes="the distance made absolute", num_heads=2, sizes={"head_dim": 4}, query_positions=[1, 2],
             key_positions=[0, 1, 2, 9]),
        Case(f"{name}/column", exposes="the sign of the column form", num_heads=2, form="column", sizes={"head_dim": 4},
             query_positions=[2], key_positions=[0, 1, 2, 9]),
        Case(f"{name}/reversed", exposes="the sign of the reversed form", num_heads=2, form="reversed", sizes={"head_dim": 4},
             query_positions=[2], key_positions=[0, 1, 2, 9]),
        *(
            Case(f"{name}/{form}-far", exposes="positions or distances in half precision", num_heads=2, max_bias=16.0, form=form,
                 query_positions=[4_099], key_positions=keys, **narrow)
            for form, keys in (("row", [0, 1, 2]), ("column", [4_097, 4_098, 4_099]), ("reversed", [0, 1, 4_099]))
        ),
        Case(f"{name}/reversed-batched", exposes="the last key of another row", num_heads=3, form="reversed", causal=True,
             sizes={"head_dim": 2, "batch": 2}, query_positions=[[1, 2], [9, 10]], key_positions=[[0, 1, 2], [9, 5, 10]]),
        Case(f"{name}/inexact-exponent", exposes="the exponent in half precision", num_heads=3, max_bias=8.1, query_positions=[9],
             key_positions=[0, 9], **narrow),
        Case(f"{name}/bloom", exposes="the bias scaled with the logits, or lost under the mask", num_heads=2, form="column", causal=True,
             sizes={"head_dim": 64}, query_positions=[1, 2], key_positions=NEAR),
        Case(f"{name}/row-decoding", exposes="no bias in decoding", num_heads=4, causal=True, sizes={"head_dim": 4}, query_positions=[9],
             key_positions=[0, 1, 8, 9]),
        *(
            Case(f"{name}/{word}-heads", exposes=exposes, num_heads=heads, query_positions=[9], key_positions=[1, 9], **narrow)
            for word, heads, exposes in (
                ("six", 6, "one geometric sequence 2^(-8 h / heads) for every number of heads"),
                ("eight", 8, "the slopes of a rank's own heads"),
                ("twelve", 12, "every second slope taken from the even ones"),
                ("twenty", 20, "slopes sorted"),
                ("seventy-one", 71, "a wrong count of extra heads"),
            )
        ),
        Case(f"{name}/larger-bias", exposes="the exponent 8 fixed", num_heads=6, max_bias=16.0, query_positions=[2], key_positions=[0, 1],
             **narrow),
        Case(f"{name}/odd-bias", exposes="the exponent rounded to an integer", num_heads=4, max_bias=6.5, query_positions=[2],
             key_positions=[0, 1], **narrow),
        Case(f"{name}/unknown-form", exposes="a form that doesn't exist", num_heads=2, form="diagonal", query_positions=[0],
             key_positions=[0], error="form must be one of row, column, reversed, symmetric, got 'diagonal'", **narrow),
        *(
            Case(f"{name}/paper-{word}-heads", exposes=exposes, num_heads=heads, slopes="paper", query_positions=[9], key_positions=[1, 9],
                 **narrow)
            for word, heads, exposes in PRINTED
        ),
        Case(f"{name}/unknown-slopes", exposes=UNKNOWN, num_heads=2, slopes="sorted", query_positions=[0], key_positions=[0],
             error=NO_SUCH_SLOPES, **narrow),
    )


CASES = (
    Case("slopes/inexact-exponent", exposes="the exponent in half precision", num_heads=3, max_bias=8.1),
    Case("bias/inexact-exponent", exposes="the exponent in half precision", num_heads=3, max_bias=8.1, query_positions=[9],
         key_positions=[0, 9]),
    Case("bias/symmetric-far", exposes="distances in half precision in one form", num_heads=2, form="symmetric",
         query_positions=[131_071, 257], key_positions=[0, 2_048]),
    Case("slopes/one-head", exposes="heads counted from zero: one head has slope 2^-8", num_heads=1),
    Case("slopes/two-heads", exposes="a sequence that starts at 1/2 for any number of heads", num_heads=2),
    Case("slopes/three-heads", exposes="the extra head taken from the wrong end", num_heads=3),
    Case("slopes/four-heads", exposes="2^-h, right for eight heads only", num_heads=4),
    Case("slopes/five-heads", exposes="one extra head: the logarithm rounded up", num_heads=5),
    Case("slopes/six-heads", exposes="one geometric sequence 2^(-8 h / heads) for every number of heads", num_heads=6),
    Case("slopes/seven-heads", exposes="the slopes of eight heads cut short", num_heads=7),
    Case("slopes/eight-heads", exposes="heads counted from zero: the first slope is 1/2", num_heads=8),
    Case("slopes/twelve-heads", exposes="every second slope taken from the even ones", num_heads=12),
    Case("slopes/sixteen-heads", exposes="slopes in half precision: the first that are no power of two", num_heads=16),
    Case("slopes/twenty-heads", exposes="slopes sorted, so that heads are exchanged", num_heads=20),
    Case("slopes/forty-heads", exposes="a running product that drifts", num_heads=40),
    Case("slopes/seventy-one-heads", exposes="a wrong count of extra heads", num_heads=71),
    Case("slopes/common-width", exposes="a root of the ratio in single precision", num_heads=128),
    Case("slopes/larger-bias", exposes="the exponent 8 fixed", num_heads=8, max_bias=16.0),
    Case("slopes/smaller-bias", exposes="the exponent fixed in the extra heads", num_heads=6, max_bias=4.0),
    Case("slopes/odd-bias", exposes="the exponent rounded to an integer", num_heads=4, max_bias=6.5),
    Case("slopes/one-head-bias", exposes="a single head special-cased", num_heads=1, max_bias=1.0),
    Case("slopes/no-heads", exposes="the logarithm of zero", num_heads=0, error="num_heads must be at least 1, got 0"),
    Case("slopes/half-a-head", exposes="a fractional number of heads", num_heads=2.5, error="num_heads must be an int, got 2.5"),
    Case("slopes/negative-bias", exposes="slopes that grow", num_heads=4, max_bias=-8.0, error="max_bias must be greater than 0, got -8.0"),
    Case("slopes/infinite-bias", exposes="slopes that vanish", num_heads=4, max_bias=float("inf"),
         error="max_bias must be finite, got inf"),
    Case("bias/first-positions", exposes="the sign: far keys rewarded", num_heads=2, query_positions=NEAR, key_positions=NEAR),
    Case("bias/one-head", exposes="the head axis dropped", num_heads=1, query_positions=[2, 9], key_positions=[0, 1]),
    Case("bias/decoding", exposes="distances counted over the queries: one query gives zeros", num_heads=4, query_positions=[9],
         key_positions=[0, 1, 2, 8, 9]),
    Case("bias/later-keys", exposes="the distance clamped at 0", num_heads=2, query_positions=[1], key_positions=[0, 1, 2, 9]),
    Case("bias/symmetric", exposes="the distance signed where it should be absolute", num_heads=2, form="symmetric", query_positions=[1, 2],
         key_positions=[0, 2, 9]),
    Case("bias/symmetric-negative", exposes="positions made absolute instead of their distance", num_heads=1, form="symmetric",
         query_positions=[-2, 0], key_positions=[-9, 1]),
    Case("bias/column", exposes="the sign of the column form", num_heads=2, form="column", equality="row_constant", query_positions=[2],
         key_positions=NEAR),
    Case("bias/column-shifted", exposes="the key's index instead of its position", num_heads=1, form="column", equality="row_constant",
         query_positions=[9, 10], key_positions=[0, 2, 9]),
    Case("bias/column-six-heads", exposes="one geometric sequence of slopes in the column form", num_heads=6, form="column",
         equality="row_constant", query_positions=[2], key_positions=NEAR),
    Case("bias/column-far", exposes="key positions in half precision", num_heads=6, form="column", equality="row_constant",
         query_positions=[4_097], key_positions=[0, 257, 2_049, 4_095]),
    Case("bias/column-twelve-heads", exposes="slopes, key index and product in bfloat16", num_heads=12, form="column",
         equality="row_constant", query_positions=[2_049], key_positions=[1, 67, 257, 771]),
    Case("bias/reversed", exposes="keys counted from the first instead of the last", num_heads=2, form="reversed", equality="row_constant",
         query_positions=[1, 2], key_positions=NEAR),
    Case("bias/reversed-unsorted", exposes="keys counted back by index instead of position, as if they were sorted", num_heads=1,
         form="reversed", equality="row_constant", query_positions=[9], key_positions=[9, 0, 2]),
    Case("bias/reversed-twelve-heads", exposes="extra slopes missing in the reversed form", num_heads=12, form="reversed",
         equality="row_constant", query_positions=[9], key_positions=[0, 9]),
    Case("bias/six-heads", exposes="one geometric sequence 2^(-8 h / heads) for every number of heads", num_heads=6, query_positions=[9],
         key_positions=[0, 2]),
    Case("bias/eight-heads", exposes="the slopes of a rank's own heads: 2^-h starts again", num_heads=8, query_positions=[2],
         key_positions=[1]),
    Case("bias/twelve-heads", exposes="every second slope taken from the even ones", num_heads=12, query_positions=[2], key_positions=[0]),
    Case("bias/sixteen-heads", exposes="slopes in half precision", num_heads=16, query_positions=[9], key_positions=[0]),
    Case("bias/twenty-heads", exposes="slopes sorted", num_heads=20, query_positions=[1], key_positions=[0]),
    Case("bias/seventy-one-heads", exposes="a wrong count of extra heads", num_heads=71, query_positions=[256], key_positions=[1]),
    Case("bias/common-width", exposes="slopes of neighbouring heads exchanged", num_heads=128, query_positions=[131_071],
         key_positions=[0]),
    Case("bias/byte-boundary", exposes="distances in bfloat16, exact to 256 only", num_heads=3, query_positions=[257],
         key_positions=[0, 1, 2]),
    Case("bias/near-byte-boundary", exposes="positions in bfloat16 before they are subtracted", num_heads=3, query_positions=[257],
         key_positions=[255, 256]),
    Case("bias/half-boundary", exposes="distances in float16, exact to 2048 only", num_heads=3, query_positions=[2_049],
         key_positions=[0, 1, 2]),
    Case("bias/page-boundary", exposes="a table of distances that ends at 4096", num_heads=3, query_positions=[4_097],
         key_positions=[0, 1, 2]),
    Case("bias/far", exposes="a distance that is clamped", num_heads=6, query_positions=[131_071], key_positions=[0, 65_535]),
    Case("bias/far-neighbours", exposes="slope times position subtracted from slope times position", num_heads=3,
         query_positions=[131_071, 1_048_576], key_positions=[131_070, 1_048_575]),
    Case("bias/million", exposes="positions that overflow or wrap", num_heads=3, query_positions=[1_048_575, 1_048_576],
         key_positions=[0, 1]),
    Case("bias/by-position", exposes=ladder.EXPOSES, num_heads=9, query_positions=ladder.EVERY, key_positions=[0]),
    Case("bias/by-position-column", exposes=ladder.EXPOSES, num_heads=9, form="column", equality="row_constant", query_positions=[0],
         key_positions=[0, *ladder.EVERY]),
    Case("bias/larger-bias", exposes="the exponent 8 fixed", num_heads=6, max_bias=16.0, query_positions=[2], key_positions=[0, 1]),
    Case("bias/smaller-bias", exposes="the exponent divided by the heads twice", num_heads=4, max_bias=4.0, form="symmetric",
         query_positions=[0], key_positions=[2]),
    Case("bias/unsorted", exposes="positions replaced by their index", num_heads=2, query_positions=[9, 0], key_positions=[2, 9, 2]),
    Case("bias/cube", exposes="head, query and key swapped", num_heads=3, query_positions=[2, 9, 5], key_positions=NEAR),
    Case("bias/negative-positions", exposes="negative positions clamped", num_heads=2, query_positions=[-1], key_positions=[-9, -2]),
    Case("bias/no-heads", exposes="the logarithm of zero", num_heads=0, query_positions=[0], key_positions=[0],
         error="num_heads must be at least 1, got 0"),
    Case("bias/real-positions", exposes="positions that aren't integers", num_heads=2, query_positions=[0.5], key_positions=[0],
         error="query_positions must be integers, got float64"),
    Case("bias/unknown-form", exposes="a form that doesn't exist", num_heads=2, form="diagonal", query_positions=[0], key_positions=[0],
         error="form must be one of row, column, reversed, symmetric, got 'diagonal'"),
    Case("bias/three-axes", exposes="an axis that nobody declared", num_heads=2, query_positions=[[[0]]], key_positions=[0],
         error="query_positions must have axes ([batch], query), got shape (1, 1, 1)"),
    *batched("bias", num_heads=2),
    *batched("bias", "-reversed", num_heads=2, form="reversed", equality="row_constant"),
    *(Case(f"slopes/paper-{word}-heads", exposes=exposes, num_heads=heads, slopes="paper") for word, heads, exposes in PRINTED),
    Case("slopes/paper-sixteen-heads", exposes="slopes in half precision", num_heads=16, slopes="paper"),
    Case("slopes/paper-one-head", exposes="heads counted from zero", num_heads=1, slopes="paper"),
    Case("slopes/paper-common-width", exposes="a table of slopes for 64 heads", num_heads=96, slopes="paper"),
    Case("slopes/paper-inexact-exponent", exposes="the exponent 8 fixed, or in half precision", num_heads=6, max_bias=8.1, slopes="paper"),
    Case("slopes/unknown-slopes", exposes=UNKNOWN, num_heads=2, slopes="sorted", error=NO_SUCH_SLOPES),
    *(
        Case(f"bias/paper-{word}-heads", exposes=exposes, num_heads=heads, slopes="paper", query_positions=[2, 9], key_positions=NEAR)
        for word, heads, exposes in PRINTED
    ),
    Case("bias/paper-column", exposes="the code's rule in the column form", num_heads=6, slopes="paper", form="column",
         equality="row_constant", query_positions=[2], key_positions=NEAR),
    Case("bias/paper-reversed", exposes="the code's rule in the reversed form", num_heads=6, slopes="paper", form="reversed",
         equality="row_constant", query_positions=[1, 2], key_positions=NEAR),
    Case("bias/paper-symmetric", exposes="the distance signed where it should be absolute", num_heads=3, slopes="paper", form="symmetric",
         query_positions=[1, 2], key_positions=[0, 2, 9]),
    Case("bias/paper-far", exposes="a distance that is clamped, or in half precision", num_heads=12, max_bias=16.0, slopes="paper",
         query_positions=[131_071], key_positions=[0, 2_047]),
    Case("bias/paper-batched", exposes="the first row's positions used for every row", num_heads=3, slopes="paper",
         query_positions=[[2, 3], [0, 1]], key_positions=[[0, 1, 2, 3], [0, 0, 0, 1]]),
    Case("bias/unknown-slopes", exposes=UNKNOWN, num_heads=2, slopes="sorted", query_positions=[0], key_positions=[0],
         error=NO_SUCH_SLOPES),
    *attention_cases("weights"),
    *attention_cases("attend"),
)
