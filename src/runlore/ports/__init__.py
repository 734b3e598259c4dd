"""What the flow needs from outside, as Protocols that speak in domain values and plain types.

No implementation lives here; `daemon` alone picks them.
"""
