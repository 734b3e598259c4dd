"""What takes more than one stage: radar's adoption, capturing a run, reviewing a candidate.

The stages do not know each other. The modules here, and `flow/reactions.py`, are the only ones that name two.
"""
