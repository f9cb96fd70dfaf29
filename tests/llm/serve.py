"""Serves a GGUF model with an OpenAI-compatible API until it is terminated.

    python serve.py MODEL.gguf PORT
"""

import sys
import threading

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames, params.port = ["127.0.0.1"], int(sys.argv[2])
params.n_ctx = 8192
params.n_parallel = 1
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)
print(f"serving at {server.listening_address}", flush=True)
threading.Event().wait()
