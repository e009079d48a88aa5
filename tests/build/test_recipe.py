"""The conda recipe asks for what pyproject.toml asks for."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="it comes with the dev extra, by mkdocs")
    return yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))


def wishes(lines: list[str]) -> dict[str, str]:
    parsed = [Requirement(line) for line in lines if not line.startswith("${{")]
    return {wish.name: str(wish.specifier) for wish in parsed}


def test_version_and_words_are_those_of_the_project(recipe: dict[str, Any]) -> None:
    assert recipe["context"]["version"] == PROJECT["project"]["version"]
    assert recipe["about"]["summary"] == PROJECT["project"]["description"]
    assert recipe["about"]["license"] == PROJECT["project"]["license"]
    commands = [f"{name} = {place}" for name, place in PROJECT["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands


def test_what_it_needs_to_run_is_what_the_project_needs(recipe: dict[str, Any]) -> None:
    needed = wishes(PROJECT["project"]["dependencies"])
    assert wishes(recipe["requirements"]["run"]) == needed | {"python": ""}


def test_what_it_needs_to_be_built_is_what_the_project_needs(recipe: dict[str, Any]) -> None:
    host = wishes(recipe["requirements"]["host"])
    assert wishes(PROJECT["build-system"]["requires"]).items() <= host.items()
