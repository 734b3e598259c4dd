"""A skill's file: written strictly and read leniently."""

from runlore.domain.skill_document.reading import FrontValue, ToldDocument, document_from_front
from runlore.domain.skill_document.texts import front_texts
from runlore.domain.skill_document.writing import check_document, rendered

__all__ = [
    "FrontValue",
    "ToldDocument",
    "check_document",
    "document_from_front",
    "front_texts",
    "rendered",
]
