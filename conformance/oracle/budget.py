"""The error budget: how far each step of a computation may stray, in unit roundoffs, and why. The one table of such numbers.

A step belongs to a stage, and a profile says in which format a stage computes and, where the result is stored in half precision, in which
format it is stored. A step may stray by ``units`` roundoffs of the computing format, and by one roundoff of the storing format.
Frequencies and angles are never stored in half: there it is a mistake, not a profile. So ALiBi slopes, YaRN frequencies and attention
factors, and T5's logarithm are float32 steps in every half profile; only an ALiBi bias, a product, is stored in half by a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["PROFILES", "ROWS", "Format", "Profile", "Row", "Stage"]


class Stage(Enum):
    """The part of a computation that a step belongs to."""

    FREQUENCY = "frequency, angle, cosine and sine as computed"
    TABLE = "the table of cosines and sines as stored"
    ARITHMETIC = "product and sum"


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: its precision, the exponent of its least normal number, and what a lost result may cost."""

    precision: int
    least_normal: int
    underflow: int

    @property
    def roundoff(self) -> int:
        """The exponent of the unit roundoff: half a unit in the last place of 1."""
        return -self.precision


# Hardware flushes the subnormals of every format but float16: a lost result costs the least normal number, there half the least subnormal.
FLOAT64 = Format(53, -1022, -1022)
FLOAT32 = Format(24, -126, -126)
FLOAT16 = Format(11, -14, -25)
BFLOAT16 = Format(8, -126, -126)


@dataclass(frozen=True)
class Profile:
    """The format in which everything is computed, the stages whose results are stored in half, and whether frequencies may be loose."""

    computing: Format
    stored: Mapping[Stage, Format] = field(default_factory=dict)
    loose: bool = False


PROFILES: Mapping[str, Profile] = {
    "float64": Profile(FLOAT64),
    "float32": Profile(FLOAT32),
    "float32-loose-frequencies": Profile(FLOAT32, loose=True),
    "float16-table": Profile(FLOAT32, {Stage.TABLE: FLOAT16}),
    "bfloat16-table": Profile(FLOAT32, {Stage.TABLE: BFLOAT16}),
    "float16-model": Profile(FLOAT32, {Stage.TABLE: FLOAT16, Stage.ARITHMETIC: FLOAT16}),
    "bfloat16-model": Profile(FLOAT32, {Stage.TABLE: BFLOAT16, Stage.ARITHMETIC: BFLOAT16}),
}


@dataclass(frozen=True)
class Row:
    """The budget of one step: ``units`` roundoffs of its magnitude, and ``per`` further ones for each of the counts that it names."""

    stage: Stage
    units: int
    covers: str
    argument: str
    needs: str
    per: Mapping[str, int] = field(default_factory=dict)


ROWS: Mapping[str, Row] = {
    "parameter": Row(
        Stage.FREQUENCY,
        1,
        covers="a parameter that is converted to the computing format",
        argument="one rounding; a parameter that is exact in the format is not widened",
        needs="torch 2.13: a Python float becomes float32 in `base ** tensor`",
    ),
    "frequency": Row(
        Stage.FREQUENCY,
        4,
        per={"logarithm": 4},
        covers="base^-x by pow, by exp(-x ln base), by exp2(-x log2 base), and 1 / base^x",
        argument="four roundings of the logarithm (exponent, ln base, product, a spare) become 4 |ln theta|; pow, exp or 1 / x adds 4",
        needs="jax 0.10.2 computes a power as exp2 of a product: up to 29 units in all",
    ),
    "decay": Row(
        Stage.FREQUENCY,
        5,
        per={"logarithm": 5, "power": 6},
        covers="zeta^((p - c) / s) with zeta = (2 j + 0.4 d) / (1.4 d), by pow, exp or exp2, and its reciprocal",
        argument="six roundings of zeta enter as often as the exponent says; the exponent has one more than a frequency's, as has 1 / x",
        needs="torchscale 0.3.0: scale ** arange.div(scale_base), 1 / scale",
    ),
    "loose frequency": Row(
        Stage.FREQUENCY,
        4,
        per={"logarithm": 4, "base_logarithm": 4, "pair": 2},
        covers="a running product theta_(j+1) = theta_j * ratio, and an exponent with an error of its own",
        argument="per pair, a product's rounding and the ratio's; the error of its logarithm adds up to 4 |ln base| over all pairs",
        needs="ggml 0.13.1: `theta *= theta_scale` for every pair",
    ),
    "slope": Row(
        Stage.FREQUENCY,
        4,
        per={"logarithm": 4, "power": 1},
        covers="2^(-x), e^(-x ln 2), m^k by pow, and m^k by k - 1 products, for m = 2^(-max_bias / c)",
        argument="as a frequency, also where m is a power of two and pow is exact; the rounding of m itself enters k times",
        needs="transformers 5.23.0, BLOOM: `torch.pow(base, powers)` with a rounded base",
    ),
    "coordinate": Row(
        Stage.FREQUENCY,
        4,
        covers="2 pi (2 (i + 1/2) / n - 1), the quotient by a product with 1 / n or not",
        argument="quotient and reciprocal of a number near 1/2, the difference, and a product with 2 pi, of at most 2 pi (1 + |c|)",
        needs="transformers 5.23.0, DINOv3: 2.0 * coords - 1.0 in float32",
    ),
    "rising frequency": Row(
        Stage.FREQUENCY,
        4,
        covers="1 + (base - 1) j / (n - 1), by steps from either end or from both",
        argument="the difference of the ends, the step, its product with j and the sum; of the nearer end, at most the result itself",
        needs="torch 2.13: linspace(1, 112, 16) in float32",
    ),
    "interpolation": Row(
        Stage.FREQUENCY,
        2,
        covers="theta / s and theta * (1 / s)",
        argument="the constant and the operation, one rounding each",
        needs="ggml 0.13.1: freq_scale = 1 / s, then a product",
    ),
    "mixed logarithm": Row(
        Stage.FREQUENCY,
        9,
        covers="ln s (j + 1)^p / (d / 2)^p, as a product with ln s / (d / 2)^p or a power of the quotient",
        argument="two powers, 3 each, a logarithm, a quotient and a product, one rounding each",
        needs="vllm 0.10, NTKScalingRotaryEmbedding: log, arange ** mixed_b and a product in float32",
    ),
    "learned exponent": Row(
        Stage.FREQUENCY,
        5,
        per={"logarithm": 2},
        covers="theta e^a by exp, by exp2(a log2 e), and by exp(ln theta + a)",
        argument="exp and a product, 4 and 1; of the logarithm a, or ln theta and a, the constant and a product or sum, one rounding each",
        needs="jax 0.10.2 computes exp as exp2 of a product; a frequency that is learned as its logarithm is a sum",
    ),
    "bound": Row(
        Stage.FREQUENCY,
        4,
        covers="d ln(L / (2 pi n)) / (2 ln base)",
        argument="the argument's roundings are absolute in the logarithm: the magnitude is |bound| + d / (2 ln base)",
        needs="ggml 0.13.1: logf throughout",
    ),
    "stretch": Row(
        Stage.FREQUENCY,
        4,
        covers="s n / L - (s - 1)",
        argument="a product, a quotient and two differences, one rounding each, of at most s n / L",
        needs="transformers 5.23.0: `factor * seq_len / max_position_embeddings - (factor - 1)`",
    ),
    "raised base": Row(
        Stage.FREQUENCY,
        3,
        per={"logarithm": 2},
        covers="base * s^(d / (d - 2)), and base * s",
        argument="a power, a product and a spare; the rounding of the exponent is relative in the logarithm, once more that of a quotient",
        needs="transformers 5.23.0, HunYuan: `rope_theta * alpha ** (dim / (dim - 2))`, in binary64 there",
    ),
    "wavelength": Row(
        Stage.FREQUENCY,
        2,
        covers="2 pi / theta before it is rounded to a whole number, and 2 pi over that number",
        argument="the constant and the quotient, one rounding each; the error of theta comes with theta",
        needs="sheryc/resonance_rope at 4a7f5a7, modeling_llama_yarn.py: 2 * math.pi / self.inv_freq in float32",
    ),
    "turns": Row(
        Stage.FREQUENCY,
        4,
        covers="L theta / (2 pi), and L / lambda with lambda = 2 pi / theta",
        argument="the constant, the wavelength, the quotient and a spare; the error of theta comes with theta",
        needs="transformers 5.23.0, ROPE_INIT_FUNCTIONS['llama3']: wavelen = 2 * math.pi / inv_freq",
    ),
    "ramp quotient": Row(
        Stage.FREQUENCY,
        2,
        covers="(j - low) / (high - low), the differences rounded or not; the same of turns",
        argument="one rounding of the quotient, one of the differences",
        needs="transformers 5.23.0: float32 `linear_func`",
    ),
    "ramp": Row(
        Stage.FREQUENCY,
        2,
        covers="r and 1 - r, computed from one another either way",
        argument="1 - r is rounded near 1, and again where r is recovered from it: absolute units, strictly inside (0, 1) only",
        needs="transformers 5.23.0: 1 - inv_freq_extrapolation_factor",
    ),
    "blend": Row(
        Stage.FREQUENCY,
        1,
        covers="the products and the sum of theta / s * r + theta * (1 - r), fused or not",
        argument="one rounding each",
        needs="transformers 5.23.0, ROPE_INIT_FUNCTIONS['yarn']",
    ),
    "attention factor": Row(
        Stage.FREQUENCY,
        3,
        covers="0.1 m ln s + 1, the ratio of two, and sqrt(1 + ln s / ln L)",
        argument="logarithm, product and sum, each below its result (1.5 seen); a ratio rounds within the same; a root halves errors",
        needs="ggml 0.13.1: 1.0f + 0.1f * logf(1 / freq_scale)",
    ),
    "softmax scale": Row(
        Stage.FREQUENCY,
        6,
        covers="1 / sqrt(d), or d^(-1/2), times the square of a growth",
        argument="pow stays below 4 units, also where the root is a power of two; the growth is multiplied twice",
        needs="transformers 5.23.0: qk_head_dim ** (-0.5), scaling * mscale * mscale",
    ),
    "handed factor": Row(
        Stage.FREQUENCY,
        5,
        covers="w = (w / (0.1 ln s + 1)) (0.1 ln s + 1): a kernel that multiplies by the growth is handed the quotient",
        argument="the growth as an attention factor (3), the quotient and the product one each; w = 1 is no exception",
        needs="ggml 0.13.1: rope_yarn's mscale *= 1.0f + 0.1f * logf(1.0f / freq_scale)",
    ),
    "logarithm": Row(
        Stage.FREQUENCY,
        4,
        covers="ln and log2 of a positive number",
        argument="as pow and exp: a vector library's logarithm stays below 4 units",
        needs="jax 0.10.2: jnp.log on a CPU",
    ),
    "bucket": Row(
        Stage.FREQUENCY,
        1,
        covers="each quotient and product of ln(a / e) / ln(D / e) * (nb - e), in any order",
        argument="one rounding each",
        needs="transformers 5.23.0: T5Attention._relative_position_bucket",
    ),
    "moment": Row(
        Stage.FREQUENCY,
        2,
        covers="step * tokens_per_second * seconds, in any order, before it is cut to an integer",
        argument="two products; the integers are exact",
        needs="transformers 5.23.0: Qwen2_5_VLModel.get_vision_position_ids",
    ),
    "angle": Row(
        Stage.FREQUENCY,
        2,
        covers="p * theta, p / base^x, and (p / s) * theta",
        argument="product or quotient, and one more where the position is scaled first",
        needs="onnxruntime 1.31.1 and every table of p / base^x",
    ),
    "axes": Row(
        Stage.FREQUENCY,
        1,
        covers="the sum of the angles of two axes, fused with a product or not",
        argument="one rounding; the products are angles with their own",
        needs="timm 1.0.31, RotaryEmbeddingMixed: t_x @ freqs[0] + t_y @ freqs[1]",
    ),
    "two turns": Row(
        Stage.FREQUENCY,
        9,
        covers="a pair that is turned by the angle of one axis and then by that of another, or cosine and sine of a sum by those of both",
        argument="another cosine and sine, 3 units each in both entries, products and sums; a sine below 1 errs by the angles together",
        needs="torch 2.13: x * polar(1, t_x @ freqs[0]) * polar(1, t_y @ freqs[1]), where both angles nearly cancel",
    ),
    "cosine": Row(
        Stage.FREQUENCY,
        3,
        covers="cosine in the computing format, argument reduction included",
        argument="absolute units: relative to 1, since reduction errs absolutely (1.6 seen up to 1.1e6)",
        needs="mlx 0.32.4: 2.6 units up to 2^24",
    ),
    "sine": Row(
        Stage.FREQUENCY,
        3,
        covers="sine in the computing format, argument reduction included",
        argument="units of min(1, |angle|): below 1 radian nothing is reduced, and a sine errs relatively",
        needs="mlx 0.32.4: 2.6 units up to 2^24",
    ),
    "factor": Row(
        Stage.FREQUENCY,
        1,
        covers="a table times the attention factor, before it is stored, or x times the factor in the computing format",
        argument="one rounding",
        needs="transformers 5.23.0: cos() * attention_scaling",
    ),
    "table": Row(
        Stage.TABLE,
        0,
        covers="a table that is kept in half precision, the attention factor included",
        argument="the rounding of what is stored, and nothing else",
        needs="transformers 5.23.0: cos.to(dtype=x.dtype)",
    ),
    "product": Row(
        Stage.ARITHMETIC,
        1,
        covers="a product, fused into the following sum or not",
        argument="one rounding, or none",
        needs="transformers 5.23.0: x * cos",
    ),
    "sum": Row(
        Stage.ARITHMETIC,
        1,
        covers="the sum of two numbers",
        argument="one rounding",
        needs="transformers 5.23.0: x * cos + rotate_half(x) * sin",
    ),
    "embedding scale": Row(
        Stage.ARITHMETIC,
        2,
        covers="sqrt(d) that embeddings are multiplied by, as root or as power, kept in their format",
        argument="a root or a power, and the rounding to the format",
        needs="jax 0.10.2: a Python float becomes bfloat16 in `embeddings * scale`",
    ),
    "bias": Row(
        Stage.ARITHMETIC,
        1,
        covers="a slope times a distance",
        argument="one rounding; the distance is an integer and exact",
        needs="transformers 5.23.0, BLOOM: slopes[..., None] * arange_tensor",
    ),
    "kernel argument": Row(
        Stage.FREQUENCY,
        1,
        covers="r2 R, and 1 + r2 R where it is rounded before its logarithm is taken, fused or not",
        argument="one rounding each; that of the sum is absolute, so that a small logarithm is relatively as uncertain as log leaves it",
        needs="chijames/KERPLE at 73f1ee2, megatron/mpu/layers.py: torch.log(1 + self.bias_a * diff)",
    ),
    "kernel logarithm": Row(
        Stage.FREQUENCY,
        6,
        covers="ln(1 + r2 R) by log, by log1p, and by log2 times ln 2, that constant apart or in r1",
        argument="a vector library's logarithm stays below 4 units; the constant and its product are one rounding each",
        needs="jax 0.10.2 on a CPU: log1p is 3.4 units off, log2 times ln 2 is 2.9",
    ),
    "kernel power": Row(
        Stage.FREQUENCY,
        4,
        per={"logarithm": 5},
        covers="R^r2 by pow, by exp(r2 ln R) and by exp2(r2 log2 R); the same of a decay, gamma^R",
        argument="the logarithm's 4 units and the rounding of its product become 5 |ln R^r2|; pow or exp adds 4",
        needs="chijames/KERPLE at 73f1ee2: diff.pow; jax 0.10.2 computes a power as exp2 of a product",
    ),
    "dot": Row(
        Stage.ARITHMETIC,
        0,
        per={"terms": 1},
        covers="a dot product of n terms in any order, blocked, fused or not; a half result accumulates in float32 and is rounded once",
        argument="one rounding per product and n - 1 of the sums, each below sum |terms| (Higham 2002, eq. 3.5)",
        needs="torch 2.13: blocked matmul",
    ),
    "scale": Row(
        Stage.ARITHMETIC,
        3,
        covers="1 / sqrt(d) before, after, or split between q and k; a bias divided by it, and multiplied by it with the sum",
        argument="the constant twice where split or undone, and the operation",
        needs="torch 2.13: scaled_dot_product_attention multiplies q and k by sqrt(scale)",
    ),
    "exponent": Row(
        Stage.ARITHMETIC,
        2,
        covers="z - max z, and exp2 of it times log2 e",
        argument="units of |z - max z|: one for the difference, one for the product",
        needs="mlx 0.32.4: exp is 16 units at -20, 64 at -85",
    ),
    "exponential": Row(
        Stage.ARITHMETIC,
        4,
        covers="e^x of a number, alone or inside a sigmoid; where e^-x overflows, 1 / (1 + e^-x) is below the least number",
        argument="as pow and exp: a vector library's exponential stays below 4 units",
        needs="torch 2.13: torch.exp and torch.sigmoid in float32",
    ),
    "softplus": Row(
        Stage.ARITHMETIC,
        5,
        covers="ln(1 + e^x) by log1p of e^x, and by max(x, 0) + log1p(e^-|x|), its power apart",
        argument="four for the logarithm, one for the sum; a difference of two is an exponent, whose absolute error is one of the power",
        needs="torch 2.13 and jax 0.10.2: exp of logaddexp(0, v) - logaddexp(0, v - w R)",
    ),
    "probability": Row(
        Stage.ARITHMETIC,
        9,
        per={"terms": 1},
        covers="exp(z - max) / sum exp(z - max), also accumulated block by block",
        argument="two exponentials of 4 units, n - 1 for the sum of positive terms, 2 for reciprocal and product",
        needs="mlx 0.32.4 and jax 0.10.2: vectorised exp",
    ),
}
