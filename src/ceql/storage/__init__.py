"""What is kept on disk: models, checkpoints, and files that are there whole or not at all."""
