"""llama.cpp's own server, out of a package, with one model on one port.

    python -m tests.local_model_server MODEL PORT

It answers the same words to the same question: nothing is drawn by chance.
"""

import importlib
import sys
import threading

from tests.local_model import ANSWER_TOKENS, BINDING, CONTEXT_TOKENS


def main() -> None:
    """Serve until somebody ends it."""
    binding = importlib.import_module(BINDING)
    params = binding.CommonParams()
    params.model.path = sys.argv[1]
    params.port = int(sys.argv[2])
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # More threads wait for each other busily, and take for ever where others work too.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_predict = ANSWER_TOKENS
    params.sampling.temp = 0.0
    params.use_jinja = True
    server = binding.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
