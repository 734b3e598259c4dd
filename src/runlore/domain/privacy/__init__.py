"""Personal data by its shape: e-mail and IP addresses, phone and card numbers, IBANs, national ids.

Each module finds one kind in a folded text (`view.py`) and says where. Nothing is found by what it means:
names and postal addresses have no shape, and stay.
"""
