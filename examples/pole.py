"""A pole in one variable: where does a thin lens form the image of an object?"""

import numpy as np

from ceql import CEQLRegressor

FOCAL_LENGTH = 3.2

# The object moves towards the lens. At the focal length its image goes to infinity and changes sides.
rng = np.random.default_rng(0)
distance = rng.uniform(0.5, 10.0, 80)
image = FOCAL_LENGTH * distance / (distance - FOCAL_LENGTH)

model = CEQLRegressor(random_state=0).fit(distance.reshape(-1, 1), image)

print("formula:", model.sympy(form="readable"))
for pole in model.poles_:
    print(f"{pole.kind}: {pole}")

# A formula also holds outside the data: the image of a distant object is at the focal length.
print("image of an object at 1000:", model.predict([[1000.0]])[0].round(4))
