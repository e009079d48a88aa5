"""The paper's training: phases as data, recipes made of them, and the loop that runs a recipe."""

from ceql.training import recipes
from ceql.training.phase import Loss, Phase, Recipe
from ceql.training.run import Trained, train

__all__ = ["Loss", "Phase", "Recipe", "Trained", "recipes", "train"]
