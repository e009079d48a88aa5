"""Python functions of whole columns: NumPy, JAX and PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.formula import Formula
from ceql.output.export.program_text import Dialect, plain_calls
from ceql.output.export.python import KEYWORDS, body
from ceql.output.export.source import Plan, plan

_UNDEFINED = "NaN where the formula is undefined."


def _dialect(language: str, module: str) -> Dialect:
    return Dialect(number=repr, call=plain_calls(language, f"{module}.{{}}"))


def write_numpy(formula: Formula, names: Sequence[str], target: str | None) -> str:
    notes = [f"One array of equal length, or one number, for each input. {_UNDEFINED}"]
    planned = plan(formula, names, target, _dialect("numpy", "np"), KEYWORDS | {"np", "float"}, "#", notes)
    before = "".join(f"    {name} = np.asarray({name}, dtype=float)\n" for name in planned.arguments)
    if planned.is_constant:
        inner = (
            before + f"    return np.full(np.broadcast({', '.join(planned.arguments)}).shape, {planned.text.value})\n"
        )
    else:
        quiet = '    with np.errstate(all="ignore"):\n'
        inner = before + quiet + body(planned.text, indent=8 * " ")
    return f"{planned.top}\nimport numpy as np\n\n\n{_signature(planned)}{inner}"


def write_jax(formula: Formula, names: Sequence[str], target: str | None) -> str:
    notes = [
        f"One array of equal length, or one number, for each input. {_UNDEFINED}",
        "JAX computes in single precision unless told otherwise, before anything else, with "
        'jax.config.update("jax_enable_x64", True). Numbers below 2e-308 count as zero.',
    ]
    planned = plan(formula, names, target, _dialect("jax", "jnp"), KEYWORDS | {"jnp", "jax"}, "#", notes)
    before = "".join(f"    {name} = jnp.asarray({name}, dtype=float)\n" for name in planned.arguments)
    value = f"    return jnp.full(jnp.broadcast_shapes({_shapes(planned)}), {planned.text.value})\n"
    inner = before + (value if planned.is_constant else body(planned.text))
    return f"{planned.top}\nimport jax.numpy as jnp\n\n\n{_signature(planned)}{inner}"


def write_torch(formula: Formula, names: Sequence[str], target: str | None) -> str:
    notes = [f"One tensor of equal shape for each input; float64 gives all digits. {_UNDEFINED}"]
    planned = plan(formula, names, target, _dialect("torch", "torch"), KEYWORDS | {"torch"}, "#", notes)
    value = f"    return torch.full_like({planned.arguments[0]}, {planned.text.value})\n"
    inner = value if planned.is_constant else body(planned.text)
    return f"{planned.top}\nimport torch\n\n\n{_signature(planned)}{inner}"


def _signature(planned: Plan) -> str:
    return f"def {planned.function}({', '.join(planned.arguments)}):\n"


def _shapes(planned: Plan) -> str:
    return ", ".join(f"{name}.shape" for name in planned.arguments)
