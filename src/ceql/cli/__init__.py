"""The commands of `ceql`, one module each, and what they share. `ceql.__main__` combines them."""
