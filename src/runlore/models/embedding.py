"""The configured embedding backend. What it needs is loaded with the first text, not before."""

from runlore.ports.embedder import Embedder, EmbeddingBackend, EmbeddingProvider


def open_embedder(backend: EmbeddingBackend) -> Embedder:
    if backend.provider is EmbeddingProvider.LOCAL:
        from runlore.models.embedding_local import LocalEmbedder

        return LocalEmbedder(backend)
    from runlore.models.embedding_http import HttpEmbedder

    return HttpEmbedder(backend)
