"""The training of the paper: phases as data, recipes made of phases, and the loop that runs a recipe."""

from ceql.training import recipes
from ceql.training.phase import Loss, Phase, Recipe
from ceql.training.reading import read_off, training_error
from ceql.training.run import Trained, train
from ceql.training.starts import trainings

__all__ = ["Loss", "Phase", "Recipe", "Trained", "read_off", "recipes", "train", "training_error", "trainings"]
