"""A noisy table with named columns, and a custom operator: a smooth step."""

import numpy as np
import pandas as pd
import sympy

from ceql import CEQLRegressor, operators

# Any formula of one or two SymPy symbols can become an operator.
z = sympy.Symbol("z", real=True)
operators.register("step", z, (1 + sympy.tanh(z)) / 2)

rng = np.random.default_rng(0)
table = pd.DataFrame({"hour": rng.uniform(0, 10, 200), "dose": rng.uniform(0.5, 2, 200)})
truth = 3 * (1 + np.tanh(0.8 * table["hour"] - 4)) / 2 + 0.5 * table["dose"]
response = truth + rng.normal(0, 0.05, len(table))

model = CEQLRegressor(operators=["step"], time_limit=2, random_state=0).fit(table, response)

# The front: how much the loss falls with each additional node of the formula.
print(model.equations_[["complexity", "loss", "chosen"]].to_string())
print("formula:", model.sympy())
for value, error in model.discovery_.best.constants:
    print(f"constant {value:.4g}, standard error {error:.2g}")
print("residuals:", round(float(np.std(response - model.predict(table))), 3), "with noise of 0.05")
