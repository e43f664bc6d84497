"""What a profile computes with, in a few words."""

WORDS = {
    "float64": "float64 arithmetic",
    "float32": "float32 angles",
    "float32-loose-frequencies": "loose float32 frequencies",
    "float16-table": "float16 tables",
    "bfloat16-table": "bfloat16 tables",
    "float16-model": "float16 tables and products",
    "bfloat16-model": "bfloat16 tables and products",
}
