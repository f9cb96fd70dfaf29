"""Sentences per second of sentence-transformers, to compare with crates/engine/benches/mpnet.rs.

    python benches/mpnet.py MODEL_FOLDER [THREADS]
"""

import json
import sys
import time
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
sentences = (Path(__file__).parent / "steps.txt").read_text().splitlines()
modules = [Transformer(sys.argv[1], max_seq_length=384), Pooling(768, "mean")]
model = SentenceTransformer(modules=modules, device="cpu")
model.encode(sentences[:64])
best = 0.0
for _ in range(3):
    start = time.perf_counter()
    model.encode(sentences, batch_size=32, normalize_embeddings=True)
    best = max(best, len(sentences) / (time.perf_counter() - start))
print(json.dumps({"sentence_transformers_sentences_per_s": round(best, 1)}))
