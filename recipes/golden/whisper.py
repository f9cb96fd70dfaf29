"""Makes the golden files of the speech recogniser.

    python recipes/golden/whisper.py [MODEL_FOLDER]

Writes to crates/engine/tests/data:
- whisper-spectra.json: a made-up sound's spectrum by transformers' WhisperFeatureExtractor, 80 and
  128 bands, every 37th column;
- tiny-whisper/: a Whisper with random weights and the real shapes of window and times, but a narrow
  network and a small vocabulary, in 16 bits;
- tiny-whisper.json: what transformers' encoder and decoder make of that sound with it.
With the folder of whisper-base it writes the same for that one to whisper-base.json, for the test
that runs where the model is installed.
Needs: torch, transformers, tokenizers, numpy.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

DATA = Path(__file__).resolve().parents[2] / "crates" / "engine" / "tests" / "data"
torch.manual_seed(7)


def sound(seconds=4.0, rate=16000):
    """A chirp over a hum, with whole numbers so that every machine makes the same samples."""
    n = np.arange(int(seconds * rate), dtype=np.int64)
    hum = (n * 7919 % 400 - 200) * 20
    chirp = ((n * n // 2000) % 512 - 256) * 40
    return (hum + chirp).astype(np.float32) / 32768


def spectra():
    golden = {}
    for bands in (80, 128):
        mel = WhisperFeatureExtractor(feature_size=bands)(sound(), sampling_rate=16000).input_features[0]
        golden[str(bands)] = [[round(float(x), 6) for x in mel[:, c]] for c in range(0, 3000, 37)]
    (DATA / "whisper-spectra.json").write_text(json.dumps(golden))


def tiny_tokenizer(path):
    """Bytes as words, and the tokens that steer, in Whisper's order."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["endoftext", "startoftranscript", "en", "de", "haw", "translate", "transcribe",
             "startoflm", "startofprev", "nospeech", "notimestamps"]
    tokenizer.add_special_tokens([AddedToken(f"<|{name}|>", special=True) for name in names])
    tokenizer.save(str(path))
    return tokenizer


def tiny():
    folder = DATA / "tiny-whisper"
    folder.mkdir(exist_ok=True)
    tokenizer = tiny_tokenizer(folder / "tokenizer.json")
    size = tokenizer.get_vocab_size()
    config = WhisperConfig(
        vocab_size=size + 1501, d_model=16, encoder_layers=2, decoder_layers=2, num_mel_bins=80,
        encoder_attention_heads=2, decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=40,
        max_source_positions=1500, max_target_positions=64, pad_token_id=256, bos_token_id=256,
        eos_token_id=256, decoder_start_token_id=257, suppress_tokens=[1, 2], begin_suppress_tokens=[220, 256],
    )
    model = WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
        for name, parameter in model.named_parameters():
            parameter.copy_(parameter.half().float())
    from safetensors.torch import save_file
    state = {k: v.half().contiguous() for k, v in model.state_dict().items() if k != "proj_out.weight"}
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config.to_dict(), indent=1))
    tokens = [257, 258, 262, 267, 40, 41, 300]
    (DATA / "tiny-whisper.json").write_text(json.dumps({"tokens": tokens, **answers(model, tokens, 80)}))


def answers(model, tokens, bands):
    mel = WhisperFeatureExtractor(feature_size=bands)(sound(), sampling_rate=16000, return_tensors="pt")
    with torch.no_grad():
        encoded = model.model.encoder(mel.input_features).last_hidden_state[0]
        ids = torch.tensor([tokens])
        logits = model(input_features=mel.input_features, decoder_input_ids=ids).logits[0]
    rows = [[round(float(x), 5) for x in encoded[i, :64]] for i in range(0, 1500, 101)]
    tops = [[round(float(x), 4) for x in row[::97]] for row in logits]
    return {"encoded": rows, "logits": tops}


if len(sys.argv) > 1:
    real = WhisperForConditionalGeneration.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
    tokens = [50258, 50259, 50359, 50364, 440, 2068, 50400]
    golden = {"tokens": tokens, **answers(real, tokens, real.config.num_mel_bins)}
    (DATA / "whisper-base.json").write_text(json.dumps(golden))
else:
    spectra()
    tiny()
