"""A skill's file: written strictly and read leniently."""

from runlore.domain.skill_document.reading import FrontValue, ParsedDocument, document_from_front, front_texts
from runlore.domain.skill_document.writing import check_document, render_document

__all__ = [
    "FrontValue",
    "ParsedDocument",
    "check_document",
    "document_from_front",
    "front_texts",
    "render_document",
]
