"""A server on this machine that speaks OpenAI's embeddings, with the vectors of the local model."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingProvider


@contextmanager
def embedding_server(model: Embedder) -> Iterator[EmbeddingBackend]:
    """Serve, and give the settings that lead there."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer one request."""
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            vectors = model.embed(asked["input"])
            data = [
                {"object": "embedding", "index": number, "embedding": list(vector)}
                for number, vector in enumerate(vectors)
            ]
            body = json.dumps({"object": "list", "data": data, "model": asked["model"]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield EmbeddingBackend(
            provider=EmbeddingProvider.HTTP,
            base_url=f"http://127.0.0.1:{server.server_port}/v1",
            model="wordllama",
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
