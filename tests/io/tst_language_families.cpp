// SPDX-License-Identifier: MIT
// Language models: the number of parameters of published models, from the numbers of their configs.
#include <QTest>

#include "core/io/language/language_file.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;

class TestLanguageFamilies : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    /// Counts are those of the models' pages on the Hugging Face Hub, or of their papers.
    void parametersOfPublishedModels_data() {
        QTest::addColumn<qint64>("parameters");
        QTest::addColumn<QByteArray>("config");
        const auto add = [](const char* name, qint64 parameters, const char* config) {
            QTest::newRow(name) << parameters << QByteArray(config);
        };
        add("Phi-3-mini", 3821079552,
            R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064, "sliding_window": 2047,
            "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "architectures": ["Phi3ForCausalLM"],
            "rope_scaling": null})");
        add("Gemma-2-9B", 9241705984,
            R"({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
            "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
            "sliding_window": 4096, "max_position_embeddings": 8192})");
        add("Gemma-2-2B", 2614341888,
            R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
            "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
            "sliding_window": 4096, "max_position_embeddings": 8192})");
        add("Gemma-3-1B", 999885952,
            R"({"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 26,
            "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912,
            "vocab_size": 262144, "sliding_window": 512, "sliding_window_pattern": 6,
            "max_position_embeddings": 32768})");
        add("Gemma-3-4B with its vision tower", 4300079472,
            R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
            "mm_tokens_per_image": 256, "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
            "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024},
            "vision_config": {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
            "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27,
            "patch_size": 14, "vision_use_head": false}})");
        add("OPT-125M", 125239296,
            R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768,
            "torch_dtype": "float16", "do_layer_norm_before": true})");
        add("OPT-350M, which projects its embedding", 331196416,
            R"({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
            "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
            "torch_dtype": "float16", "do_layer_norm_before": false})");
        add("Falcon-7B, tied", 6921720704,
            R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
            "vocab_size": 65024, "multi_query": true, "new_decoder_architecture": false, "parallel_attn": true,
            "bias": false, "alibi": false, "torch_dtype": "bfloat16"})");
        add("Falcon-40B", 41303293952,
            R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
            "num_kv_heads": 8, "vocab_size": 65024, "multi_query": true, "new_decoder_architecture": true,
            "parallel_attn": true, "bias": false, "alibi": false, "torch_dtype": "bfloat16"})");
        add("StableLM-3B-4E1T", 2795443200,
            R"({"model_type": "stablelm", "hidden_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 32, "intermediate_size": 6912, "vocab_size": 50304, "use_qkv_bias": false,
            "torch_dtype": "bfloat16", "max_position_embeddings": 4096})");
        add("Qwen1.5-MoE-A2.7B", 14315784192,
            R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
            "num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
            "vocab_size": 151936, "decoder_sparse_step": 1, "torch_dtype": "bfloat16"})");
        add("DeepSeek-V2-Lite", 15706484224,
            R"({"model_type": "deepseek_v2", "hidden_size": 2048, "num_hidden_layers": 27,
            "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 10944,
            "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1, "kv_lora_rank": 512,
            "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "vocab_size": 102400, "topk_method": "greedy"})");
        add("DeepSeek-V2", 235741434880,
            R"({"model_type": "deepseek_v2", "hidden_size": 5120, "num_hidden_layers": 60,
            "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 12288,
            "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1, "kv_lora_rank": 512,
            "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "vocab_size": 102400, "topk_method": "group_limited_greedy"})");
        add("Whisper small", 241734912,
            R"({"model_type": "whisper", "d_model": 768, "encoder_layers": 12, "decoder_layers": 12,
            "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072, "num_mel_bins": 80, "vocab_size": 51865, "max_source_positions": 1500,
            "max_target_positions": 448, "num_hidden_layers": 12})");
        add("Whisper large-v3", 1543490560,
            R"({"model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32,
            "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
            "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866, "max_source_positions": 1500,
            "max_target_positions": 448, "num_hidden_layers": 32, "torch_dtype": "float16"})");
        // num_hidden_layers are those of the encoder.
        add("Whisper large-v3-turbo", 808878080,
            R"({"model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "decoder_layers": 4,
            "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
            "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866, "max_source_positions": 1500,
            "max_target_positions": 448, "num_hidden_layers": 32, "torch_dtype": "float16",
            "architectures": ["WhisperForConditionalGeneration"]})");
        add("ViT-B/16", 86567656,
            R"({"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768,
            "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224,
            "patch_size": 16, "num_channels": 3, "qkv_bias": true, "id2label": LABELS})");
        add("T5-base", 222903552,
            R"({"model_type": "t5", "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12,
            "num_decoder_layers": 12, "num_heads": 12, "vocab_size": 32128,
            "relative_attention_num_buckets": 32, "feed_forward_proj": "relu"})");
        add("FLAN-T5-XL", 2849757184,
            R"({"model_type": "t5", "d_model": 2048, "d_kv": 64, "d_ff": 5120, "num_layers": 24,
            "num_decoder_layers": 24, "num_heads": 32, "vocab_size": 32128,
            "relative_attention_num_buckets": 32, "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": false})");
        add("BERT-base", 109482240,
            R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 768, "num_hidden_layers": 12,
            "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
            "max_position_embeddings": 512, "type_vocab_size": 2})");
        add("GPT-2 XL", 1557611200,
            R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257,
            "n_positions": 1024, "n_ctx": 1024, "architectures": ["GPT2LMHeadModel"]})");
        add("Qwen3-235B-A22B", 235093634560,
            R"({"model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64,
            "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288,
            "moe_intermediate_size": 1536, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936,
            "decoder_sparse_step": 1, "mlp_only_layers": [], "torch_dtype": "bfloat16"})");
        add("Pythia-70M", 70426624,
            R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
            "intermediate_size": 2048, "vocab_size": 50304, "torch_dtype": "float16"})");
        add("Qwen2.5-0.5B", 494032768,
            R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
            "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
            "tie_word_embeddings": true, "sliding_window": 32768, "use_sliding_window": false,
            "max_window_layers": 24, "torch_dtype": "bfloat16"})");
        add("BLOOM-560M", 559214592,
            R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
            "vocab_size": 250880})");
    }
    void halvesOfModelsAreRefused() {
        const QString message = test::refusal([&] {
            read_network(fileWith("config.json",
                                  R"({"model_type": "t5", "architectures": ["T5EncoderModel"], "d_model": 768,
                    "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "vocab_size": 32128})"),
                         {});
        });
        QVERIFY2(message.contains("T5EncoderModel") && message.contains("placewright.export"),
                 qPrintable(message));
    }

    void parametersOfPublishedModels() {
        QFETCH(qint64, parameters);
        QFETCH(QByteArray, config);
        QByteArray labels = "{";
        for (int i = 0; i < 1000; ++i)
            labels += (i > 0 ? ",\"" : "\"") + QByteArray::number(i) + "\":\"class\"";
        config.replace("LABELS", labels + '}');
        ReadOptions options;
        options.language.weights = WeightType::fp32;
        const NetworkFile file = read_network(fileWith("config.json", config.toStdString()), options);
        std::int64_t bytes = 0;
        for (const Op& op : file.graph.ops()) bytes += op.parameter_bytes;
        QCOMPARE(bytes, 4 * parameters);
    }
};

QTEST_GUILESS_MAIN(TestLanguageFamilies)
#include "tst_language_families.moc"
