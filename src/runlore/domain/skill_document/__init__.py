"""A skill's file: written strictly, read leniently, and its document as a plain value for the store."""

from runlore.domain.skill_document.plain import document_from_plain, document_to_plain
from runlore.domain.skill_document.reading import FrontValue, ToldDocument, document_from_front
from runlore.domain.skill_document.texts import front_texts
from runlore.domain.skill_document.writing import check_document, rendered

__all__ = [
    "FrontValue",
    "ToldDocument",
    "check_document",
    "document_from_front",
    "document_from_plain",
    "document_to_plain",
    "front_texts",
    "rendered",
]
