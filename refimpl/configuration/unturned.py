"""Model types in which no layer turns by tokens: those that don't turn at all, and encoders of images."""

#: Model types in which no layer turns: their positions are learned, added as sinusoids, or a bias on the logits.
UNTURNED = frozenset(
    {
        *("albert", "bart", "bert", "big_bird", "biogpt", "blenderbot", "bloom", "camembert", "ctrl", "deberta", "deberta-v2"),
        *("distilbert", "electra", "fsmt", "gpt2", "gpt_bigcode", "gpt_neo", "imagegpt", "layoutlmv2", "led", "longformer"),
        *("longt5", "m2m_100"),
        *("marian", "mbart", "mpnet", "mpt", "mt5", "nllb-moe", "openai-gpt", "opt", "pegasus", "prophetnet", "roberta"),
        *("switch_transformers", "t5", "trocr", "umt5", "whisper", "xglm", "xlm", "xlm-roberta", "xlm-roberta-xl", "xlnet"),
    }
)

#: The same of encoders of images, and of the encoders of text beside them.
UNTURNED_IMAGES = frozenset(
    {
        *("aimv2", "aimv2_vision", "align", "align_vision", "altclip", "altclip_vision", "beit", "blip", "blip_2_vision", "blip_vision"),
        *("bridgetower", "bridgetower_vision", "chinese_clip", "chinese_clip_vision", "clip", "clip_vision", "clipseg", "clipseg_vision"),
        *("data2vec-vision", "deit", "dinov2", "dinov2_with_registers", "dpt", "flava", "flava_image", "florence_vision"),
        *("clap_audio", "git_vision", "groupvit", "idefics_vision", "ovis2_vision", "swiftformer", "unlimited_ocr_sam_vision"),
        *("groupvit_vision", "hiera", "idefics2_vision", "idefics3_vision", "ijepa", "inkling_vision", "instructblip_vision"),
        *("instructblipvideo_vision", "internvl_vision", "janus_vision", "kosmos_2_vision", "metaclip_2", "metaclip_2_vision"),
        *("owlv2", "owlv2_vision", "owlvit", "owlvit_vision", "pix2struct_vision", "sam_hq_vision", "sam_vision", "siglip", "siglip2"),
        *("siglip2_vision", "siglip_vision", "smolvlm_vision", "swin", "swin2sr", "swinv2", "timesformer", "tipsv2", "tipsv2_vision"),
        *("videomae", "vit", "vit_mae", "vit_msn", "vitdet", "vitpose_backbone", "vivit", "xclip", "xclip_vision", "yolos"),
    }
)

#: Encoders of images whose height turns the first half of the pairs, and whose width the second one.
IMAGES = (
    *("cohere_compass_vision", "dots3_note_vision_encoder", "ernie4_5_vl_moe_vision", "exaone4_5_vision", "glm4v_moe_vision"),
    *("glm4v_vision", "glm5_next_vision", "glm_ocr_vision", "mlcd_vision", "muse_glimmer_vision", "muse_spark_vision"),
    *("paddleocr_vl_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision", "qwen2_vl_vision", "qwen3_5_moe_vision"),
    *("qwen3_5_vision", "qwen3_omni_moe_vision_encoder", "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision"),
    "video_llama_3_vision",
)
