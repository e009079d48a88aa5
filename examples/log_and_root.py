"""A logarithm and a square root, with gaps in the data where one of them is undefined."""

import numpy as np

from ceql import CEQLRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-3.0, 3.0, 400)
with np.errstate(invalid="ignore"):
    y = 1.5 * np.log(x**2 - 1.2) + np.sqrt(x + 2.5)

# Rows without a value are left out. The remaining rows lie on either side of a gap around zero.
measured = np.isfinite(y)
print(f"{measured.sum()} of {len(x)} rows have a value")

# Naming the operators is optional; the search is faster with fewer of them.
model = CEQLRegressor(operators=["square", "log", "sqrt"], random_state=0)
model.fit(x[measured].reshape(-1, 1), y[measured])

print("formula:", model.sympy(form="readable"))
for pole in model.poles_:
    print(f"{pole.kind}: {pole}")

# Inside the gap the formula is undefined, and the prediction is NaN.
print("at x = 0:", model.predict([[0.0]])[0])
