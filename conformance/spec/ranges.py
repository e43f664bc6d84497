"""What drawn calls are made of: the parameters of released models, the sizes of axes, and positions beside which mistakes show.

Facts of released models are those of their published configurations (``shared/models.yaml`` names the file of each).
"""

from collections.abc import Mapping

from conformance.spec.choices import TYPICAL

#: Rotary widths: ViT-sized heads, GPT-J and phi-2 (16, 80), Phi-3 (96), MiMo (192), Gemma (256, 512); one that no 8 divides, and two that
#: kernels for multiples of 16 and 32 reach with a rest.
WIDTHS = (6, 16, 64, 80, 96, 128, 192, 256, 512, 70, 112, 72)
#: Parts of a head that turn: GPT-NeoX 24, Phi-2 and GPT-J 32 and 64, GLM, Qwen3-Next and MiMo 64, Phi-4-mini 96; all and nearly all.
ROTARY_WIDTHS = (None, 4, 64, 24, 32, 16, 96, 2, 80, 6, 70, 128)
#: Pairs of a head that turn where the slow ones rest: Gemma 4 64 of 256, LFM3 32 of 64.
TURNED_PAIRS = (64, 2, 32, 1, 16, 8, 3, 20)
#: Channels of every axis: height and width alike in most vision models, time, height and width in video (CogVideoX, HunyuanVideo and Flux,
#: Wan); one axis, and axes of unlike widths in either order.
AXES = (
    (32, 32),
    (16, 16, 16),
    (8, 8),
    (40, 40),
    (48, 48),
    (16, 56, 56),
    (44, 42, 42),
    (16, 24, 24),
    (64, 32),
    (4, 2),
    (2, 4),
    (6,),
    (96, 96),
    (64, 64, 64),
    (128, 128),
    (30, 40),
    (32, 16, 24),
    (56, 56),
    (16, 32, 64),
    (72,),
)
#: Widths of a model: BERT 768, GPT-2 XL 1600, LLaMA 4096; the odd ones are taken where the operation takes them, and two are multiples of 4
#: but not of 8.
MODEL_WIDTHS = (2, 7, 16, 64, 66, 128, 513, 768, 1_600, 4_096, 12, 100)
#: DINOv3 and Gemma 4's vision 1e2, nomic 1e3, Qwen2.5 1e6, DeepSeek-V4 1.6e5, MiMo 6.4e5, Kimi 5e4, Llama 3 5e5, MiniCPM 1.115884e7,
#: Devstral 1e8; the fractions are for code that keeps a base in an integer, or in half precision, and no released model has the last two.
BASES = (
    10_000.0,
    500_000.0,
    1_000_000.0,
    8_000_000.0,
    10_000.7,
    100.0,
    150_000.0,
    5_000_000.0,
    11_158_840.0,
    1_000.0,
    100_000_000.0,
    1_000.3,
    640_000.0,
    1.5,
    1e10,
)

#: Pairs of every axis: Qwen2-VL, Qwen3-VL, GLM-4.1V, Qwen3.5, Ernie 4.5 VL by time, height and width, HunYuan-VL; fewer axes, unlike
#: sections in either order, also at models' widths in turns, and an axis that nothing follows.
SECTIONS = (
    (16, 24, 24),
    (24, 20, 20),
    (8, 12, 12),
    (11, 11, 10),
    (20, 22, 22),
    (16, 16, 16, 16),
    (2, 3, 3),
    (1, 1, 1),
    (16, 16),
    (5, 3),
    (3,),
    (24, 24, 0),
    (28, 20, 16),
    (28, 16, 20),
    (14, 10, 8),
    (14, 8, 10),
)

#: Values of a parameter that is free, where released models have others than ``TYPICAL``.
VALUES: Mapping[str, tuple[object, ...]] = {
    **TYPICAL,
    "alpha": (1.0, 2.0, 0.5),
    "attention_factor": (None, 1.0, 1.2079441541679836, 1.34657359, 0.5),
    "attn_scale": (0.1, 0.125, 1.0, 0.3, 0.0, 2.0),
    "axes": AXES,
    "base": BASES,
    "beta": (32.0, 4.0, 1.25, 16.0, 2.25, 8.0),
    "beta_fast": (32.0, 4.0, 16.0, 8.0),
    "beta_slow": (1.0, 2.0, 0.5),
    "bits": (8, 1, 13, 21, 62, 32, 17, 40, 3),
    "centre": (0, 1, 512, 1_000, 300, -1),
    "chunk_size": (8, 3_072, 6, 262_144, 64, 100, 16, 5, 8_192, 1_000),
    "clamp_length": (None, 1_000, 2, 1, 128, 400, 4_096, 20_000),
    "dim": MODEL_WIDTHS,
    "factor": (4.0, 1.0, 16.0, 2.5, 40.0, 8.0, 128.0, 64.0, 2_048.0, 1.1, 1.05),
    "floor_scale": (8_192, 16_384, 49, 16, 4_096, 41, 1, 100, 65_536),
    "group_size": (8, 2, 41, 4, 1, 3, 7, 64, 5, 16),
    "head_dim": WIDTHS,
    "heights": ((2,), (3, 2), (30,), (1, 4), (2, 1, 3), (9, 2), (1, 36, 2), (2, 2), (2, 2, 2), (1, 2, 2, 1, 3), (12,), (4, 6)),
    "high_freq_factor": (4.0, 1.25, 8.0, 32.0, 2.25),
    "length": (4_096, 4_097, 131_072, 512, 1_048_576, 8_193),
    "local_size": (2, 256, 1, 8_192, 4, 3, 33, 1_024),
    "low_freq_factor": (1.0, 2.0, 0.5, 3.5),
    "max_bias": (8.0, 16.0, 4.0, 6.5, 8.1, 32.0, 64.0),
    "max_distance": (128, 2, 16, 64, 800, 512, 5, 256),
    "long_mscale": (None, 1.243163121016122, 1.0, 1.5),
    "max_length": (131_072, 4_096, 1_048_576, 8_192, 65_536, 100_000, 12_000),
    "memory": (0, 1, 3, 16, 64, 127),
    "merge": (2, 1, 3, 4),
    "mscale": (None, 1.0, 0.707, 0.0, 2.0),
    "mscale_all_dim": (None, 1.0, 0.707, 0.0, 1.5),
    "num_buckets": (32, 320, 512, 64, 8, 256, 20, 6, 3),
    "num_heads": (1, 2, 8, 12, 20, 32, 40, 71, 160, 6, 128, 257),
    "offset": (0, 2, 1, 3, 64),
    "original_length": (4_096, 512, 8_192, 32_768, 2_048, 16_384, 65_536, 131_072),
    "qk_head_dim": (192, 256, 64, 576, 96, 128, 1, 7, 3_072),
    "rotary_dim": ROTARY_WIDTHS,
    "scale": (1.0, 0.5, 2.0, 0.1, 1.0, -0.5, 2.0, 0.1, 0.0, 1_000.0),
    "scale_base": (512.0, 2_048.0, 262_144.0, 512.3, 16_384.0, 1_000.0),
    "seconds": (1.0, 0.5, 2.0, 1.5, 0.625, 3.25, 0.0625, 1 / 3, 0.7, 1.4, 2 / 24),
    "sections": SECTIONS,
    "short_mscale": (None, 1.243163121016122, 1.0, 0.75),
    "sides": ((), (14, 14), (16, 37), (), (37, 16), (5, 3), (8, 14, 9), (63,), (26, 62), (40, 4_096, 4_096)),
    "slope": (0.1, 0.07),
    "start_tokens": (0, 4, 256, 1, 2_048),
    "text": ((4,), (15, 4), (201,), (0, 3), (1, 1, 1), (2_047, 9), (9, 257, 4), (0, 0), (2, 0, 0), (1, 0, 3, 0, 2)),
    "times": ((1,), (1, 1), (4,), (3, 1), (1, 2, 1), (1, 4), (1, 1, 1), (120,), (2, 2), (2, 2, 2), (1, 3, 1, 2, 4)),
    "tokens_per_second": (1, 2, 25, 13),
    "top_k": (2, 8, 1, 3, 16, 5, 64, 4, 2_048, 512),
    "turned_pairs": TURNED_PAIRS,
    "widths": ((3,), (2, 5), (40,), (4, 1), (2, 3, 1), (3, 9), (36, 2, 1), (3, 3), (2, 2, 2), (2, 1, 1, 4, 2), (24,), (6, 12)),
    "window": (512, 4, 16, 1_024, 1, 100, 3, 33),
}

#: Parameters that belong together in one model: Llama 3 and Qwen heads, gpt-oss, DeepSeek, Kimi K2, Phi-3.5 and its MoE, T5, WavLM,
#: DeBERTa-v3, XLNet, Qwen3-Next, GPT-NeoX-20B, DeepSeek-V4, the latent attention of DeepSeek-V3 as it is and as kernels have it; axes of
#: three widths; a band of an eighth of a turn; a single pair, at which no base shows, buckets that reach beyond any table, or are more than
#: any model's, two magnitudes above 1, a base below 2 at a width where it shows; the first Transformer, and Flux's times of diffusion; two
#: frames of Qwen3-VL with their times as text, a video and an image of Qwen2.5-Omni; two videos, or three images, side by side, five grids,
#: 33 pages, a video of so many steps that seconds in half precision move what follows, one of thirds of a second, grids behind more text
#: than float16 and 16 bits count, and behind more patches; patches of an image, of videos among images, in blocks of two, three and four,
#: and in rows, and of a strip with more rows than float16 counts.
TOGETHER: tuple[Mapping[str, object], ...] = (
    {"head_dim": 128, "base": 500_000.0, "factor": 8.0, "original_length": 8_192, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    {
        "head_dim": 128, "original_length": 4_352, "factor": 16.0, "alpha": 1.0, "beta": 1.125, "low_freq_factor": 1.0,
        "high_freq_factor": 1.125,
    },
    {"base": 10_000.0, "original_length": 4_352, "factor": 16.0, "alpha": 1.0, "beta": 1.125},
    {"num_buckets": 32, "max_distance": 128},
    {"head_dim": 64, "base": 150_000.0, "factor": 32.0, "original_length": 4_096, "beta_fast": 32.0, "beta_slow": 1.0},
    {"num_buckets": 320, "max_distance": 800},
    {"head_dim": 64, "base": 10_000.0, "factor": 40.0, "original_length": 4_096, "mscale": 0.707, "mscale_all_dim": 0.707},
    {"qk_head_dim": 192, "factor": 40.0, "mscale_all_dim": 0.707},
    {"head_dim": 96, "base": 10_000.0, "original_length": 4_096, "length": 131_072, "max_length": 131_072},
    {"num_buckets": 512, "max_distance": 512},
    {"num_buckets": 32, "max_distance": 1_000_000},
    {"num_buckets": 576, "max_distance": 1_024},
    {"head_dim": 64, "base": 50_000.0, "factor": 64.0, "original_length": 4_096, "beta_fast": 32.0, "beta_slow": 1.0},
    {"head_dim": 64, "base": 50_000.0, "factor": 32.0, "original_length": 4_096, "beta_fast": 1.0, "beta_slow": 1.0},
    {"head_dim": 128, "base": 100_000_000.0, "factor": 48.0, "original_length": 8_192, "mscale": 1.0, "mscale_all_dim": 1.0},
    {"head_dim": 256, "base": 10_000_000.0, "factor": 4.0, "original_length": 262_144},
    {"original_length": 32_768, "length": 32_769, "max_length": 131_072},
    {
        "head_dim": 128, "base": 10_000.0, "original_length": 4_096, "length": 4_097, "max_length": 131_072,
        "short_mscale": 1.243163121016122, "long_mscale": 1.243163121016122,
    },
    {"head_dim": 256, "rotary_dim": 64},
    {"head_dim": 96, "rotary_dim": 24},
    {"head_dim": 128, "rotary_dim": 64},
    {"head_dim": 64, "rotary_dim": 32},
    {"head_dim": 512, "rotary_dim": 64, "placement": "last"},
    {"head_dim": 192, "rotary_dim": 64, "placement": "last"},
    {"head_dim": 576, "rotary_dim": 64, "placement": "last"},
    {"head_dim": 112, "axes": (16, 32, 64)},
    {"head_dim": 72, "axes": (32, 16, 24)},
    {"head_dim": 512, "turned_pairs": 64, "base": 1_000_000.0, "factor": 1.0},
    {"head_dim": 128, "turned_pairs": 32, "base": 1_000_000.0, "factor": 1.0},
    {"head_dim": 128, "factor": 10.0, "original_length": 2_048, "length": 16_384},
    {"head_dim": 128, "sections": (16, 24, 24), "base": 1_000_000.0},
    {"head_dim": 128, "sections": (24, 20, 20), "base": 5_000_000.0},
    {"head_dim": 2, "base": 10_000.0},
    {"factor": 40.0, "mscale": 2.0, "mscale_all_dim": 1.5, "attention_factor": None},
    {"dim": 64, "base": 1.5, "scale": 1.0},
    {"dim": 512, "base": 10_000.0, "scale": 1.0},
    {"dim": 256, "base": 10_000.0, "scale": 1_000.0},
    {"text": (9, 8), "times": (1, 1), "heights": (2, 2), "widths": (3, 3)},
    {"text": (15, 2), "times": (4, 1), "heights": (1, 2), "widths": (2, 3), "tokens_per_second": 25, "seconds": 0.5},
    {"text": (4, 0), "times": (2, 2), "heights": (2, 2), "widths": (2, 2), "tokens_per_second": 1, "seconds": 1.0},
    {"text": (3,), "times": (2_400,), "heights": (1,), "widths": (1,), "tokens_per_second": 25, "seconds": 2 / 29.97},
    {"text": (1, 0, 3, 0, 2), "times": (1, 3, 1, 2, 4), "heights": (1, 2, 2, 1, 3), "widths": (2, 1, 1, 4, 2)},
    {"text": (2, 0, 0), "times": (1, 1, 1), "heights": (2, 2, 2), "widths": (3, 3, 3)},
    {"text": (2, 0, 1) * 11, "times": (1,) * 33, "heights": (2, 3, 1) * 11, "widths": (3, 1, 2) * 11},
    {"text": (5,), "times": (120,), "heights": (1,), "widths": (1,), "tokens_per_second": 1, "seconds": 1 / 3},
    {"text": (2_051, 37_003), "times": (1, 1), "heights": (3, 2), "widths": (2, 4)},
    {"text": (5, 7), "times": (10, 1), "heights": (64, 3), "widths": (64, 5), "tokens_per_second": 1, "seconds": 1.0},
    {"times": (1,), "heights": (36,), "widths": (52,), "merge": 2},
    {"times": (2, 1), "heights": (4, 6), "widths": (6, 10), "merge": 2},
    {"times": (3, 1, 2), "heights": (2, 8, 4), "widths": (6, 4, 2), "merge": 2},
    {"times": (1, 3), "heights": (6, 9), "widths": (9, 3), "merge": 3},
    {"times": (1, 1), "heights": (8, 4), "widths": (4, 12), "merge": 4},
    {"times": (3,), "heights": (37,), "widths": (14,), "merge": 1},
    {"times": (1, 1), "heights": (4_102, 2), "widths": (2, 6), "merge": 2},
)

#: Sizes of axes that no parameter fixes: batches, heads, groups of query heads per key head, and tokens on both sides of vector widths,
#: tiles and pages.
SIZES: Mapping[str, tuple[int, ...]] = {
    "batch": (1, 2, 3, 5, 7),
    "head": (1, 2, 3, 8, 12, 33),
    "key_head": (1, 2, 3),
    "group": (1, 3, 8, 1, 16, 2, 5, 7, 9, 12),
    "token": (1, 2, 3, 5, 9, 17, 33, 64, 65, 129),
    "query": (1, 2, 3, 5, 17, 33),
    "key": (1, 2, 4, 9, 17, 33, 65, 129),
    "offset": (1, 2, 3, 9, 33),
    "pair": (1, 3, 8, 32, 40, 64, 35, 36, 56, 48),
    "input": (1, 2, 7, 64, 128),
    "head_dim": (2, 1, 4, 7, 16, 64, 80, 128, 72, 96, 112),
    "dim": (1, 2, 7, 64, 768, 2_048),
    "length": (1, 2, 6, 130, 512, 514, 1_026, 2_050, 4_096),
    "...": (1, 2, 9, 33, 129),
}

#: Where formats, bytes, pages and tables end: every power of two from 2^4 to 2^20 and its neighbours; the smallest positions by hand.
FARTHEST = 1 << 20
EDGES = (0, 1, 2, 3, 9, *sorted({min((1 << power) + beside, FARTHEST) for power in range(4, 21) for beside in (-1, 0, 1)}))
#: Parameters, or bounds, beside whose values a position tells most.
BESIDE = (
    *("original_length", "length", "max_length", "max_distance", "clamp_length", "start_tokens", "num_buckets", "floor_scale"),
    *("centre", "window", "chunk_size", "local_size"),
)

#: Learned saturations: small ones, and those at which ``1 + e^v`` leaves float16, or comes near the end of float32.
SATURATIONS = (0.5, 0.0, 1.0, 3.0, -2.0, -20.0, 10.0, 40.0, 80.0)

#: Powers of two that learned kernels are multiplied by: KERPLE's authors begin below 2, and may end at 0.01; a logarithm's rate has no
#: upper end.
KERNELS: Mapping[str, tuple[int, int]] = {"first": (-8, 2), "second": (-8, 4)}
