"""Storage on disk: models, checkpoints, and files that are written completely or not at all."""
