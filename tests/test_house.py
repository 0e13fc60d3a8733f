"""The files around the package say the same thing, and nothing about the machine they were made
on.
"""

import importlib.util
import re
import subprocess
import tomllib
from importlib.metadata import requires, version
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import safescreen

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
GROUPS = PYPROJECT["dependency-groups"]


def of_group(name):
    """Return what a dependency group installs, with the groups that it includes."""
    found = []
    for line in GROUPS[name]:
        found += of_group(line["include-group"]) if isinstance(line, dict) else [line]
    return found


def requirements(groups=("dev",)):
    """Return the requirements of the library, of its extras and of some groups, by name."""
    lists = [PROJECT["dependencies"], *EXTRAS.values(), *map(of_group, groups)]
    found = [Requirement(line) for lines in lists for line in lines]
    return {req.name: req.specifier for req in found}


def tracked_files():
    """Text files known to git; all files of the house when this is not a clone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        folders = ("lib", "benchmarks", "tests", "notebooks")
        paths = [
            *ROOT.glob("*.*"),
            *(path for folder in folders for path in (ROOT / folder).rglob("*.*")),
        ]
    skipped = {".png", ".pyc", ".gz", ".npz", ".xz"}
    return [path for path in paths if path.is_file() and path.suffix not in skipped]


def test_the_library_needs_four_others_and_two_of_theirs():
    assert {Requirement(line).name for line in PROJECT["dependencies"]} == {
        "joblib",
        "numba",
        "numpy",
        "scikit-learn",
        "scipy",
        "threadpoolctl",
    }


def test_extras_are_for_users_and_groups_for_a_checkout():
    assert set(EXTRAS) == {"book", "cluster"}
    assert [line["include-group"] for line in GROUPS["dev"]] == ["docs", "lint", "test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = re.findall(r"pip install .*?(-e \S+)? --group (\w+)", makefile)
    assert installed == [("-e '.[book,cluster]'", "dev"), ("", "nightly"), ("", "peers")]


def test_environment_yml_equals_pyproject():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert listed.pop() == {"pip": ["-e ."]}
    conda = {Requirement(line).name: Requirement(line).specifier for line in listed}
    assert len(conda) == len(listed)
    assert conda.pop("python") == SpecifierSet(PROJECT["requires-python"])
    conda.pop("pip")
    assert conda == {CONDA_NAMES.get(name, name): spec for name, spec in requirements().items()}


def constraints():
    """Return the pinned version of each package by its name."""
    pins = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        assert re.fullmatch(r"[a-z0-9.-]+==[\w.+!]+", line), line
        name, pin = line.split("==")
        pins[name] = pin
    return pins


def test_constraints_pin_every_requirement_within_its_bounds():
    pins = constraints()
    for name, specifier in requirements(groups=GROUPS).items():
        assert pins[name.lower()] in specifier, name


BINDER = ROOT / ".binder"


def locked():
    """Return what Binder installs: the version of each package by its name."""
    text = (BINDER / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    pins = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            pin, *hashes = line.split()
            name, version = pin.split("==")
            assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", h) for h in hashes)
            pins[name] = version
    return pins


def wanted_by_binder():
    """Return the requirements of the library, of the book and of the build; JupyterLab is there."""
    lines = [*PROJECT["dependencies"], *EXTRAS["book"], *PYPROJECT["build-system"]["requires"]]
    found = [Requirement(line) for line in lines]
    return [req for req in found if req.name != "jupyterlab"]


def test_binder_installs_what_is_pinned():
    lock = locked()
    assert lock.items() <= constraints().items()
    for req in wanted_by_binder():
        assert lock[req.name] in req.specifier, req.name
    python = (BINDER / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")
    assert python in SpecifierSet(PROJECT["requires-python"])


def test_binder_installs_nothing_else_and_misses_nothing():
    lock = locked()
    linux = {"python_version": "3.11", "python_full_version": "3.11.14", "extra": ""}
    linux |= {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
    linux |= {"platform_python_implementation": "CPython", "implementation_name": "cpython"}
    needed = set()
    asked = wanted_by_binder()
    while asked:
        req = asked.pop()
        name = canonicalize_name(req.name)
        if name in needed or (req.marker and not req.marker.evaluate(linux)):
            continue
        if version(name) != lock.get(name, version(name)):
            pytest.skip(f"{name} {version(name)} is installed, and {lock[name]} pinned")
        needed.add(name)
        asked += [Requirement(line) for line in requires(name) or ()]
    assert needed == set(lock)


@pytest.mark.parametrize("name", sorted(requirements()))
def test_what_is_installed_is_within_the_bounds(name):
    assert version(name) in requirements()[name]


def test_no_addresses_in_constraints():
    assert "://" not in (ROOT / "constraints.txt").read_text(encoding="utf-8")


MACHINE = re.compile(
    rb"(?<![\w.~-])/(?:root|work|home|Users|tmp|opt)/[\w.-]|python[h]osted|index[-]url"
)


def test_no_machine_paths_in_tracked_files():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line[:80]!r}"
        for path in tracked_files()
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_search_for_machine_paths_finds_them():
    machines = ["cd /{}/me/x", '"path": "/{}/x"', "'/{}/a'"]
    lines = [line.format(root) for line in machines for root in ("home", "tmp", "work", "root")]
    for line in [*lines, "--{}-url".format("index")]:
        assert MACHINE.search(line.encode()), line
    others = ["https://example.org/{}/x", "~/{}/x", "lib/{}/x", "make PYTHON=/path/{}/python"]
    for line in [line.format(root) for line in others for root in ("home", "tmp", "work", "root")]:
        assert not MACHINE.search(line.encode()), line


def test_citation_names_the_five_papers():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == safescreen.__version__
    assert citation["license"] == PROJECT["license"]
    assert sorted(paper["year"] for paper in citation["references"]) == [
        2013,
        2014,
        2018,
        2019,
        2019,
    ]
    for paper in citation["references"]:
        assert paper["title"]
        assert all(author["family-names"] for author in paper["authors"])


def test_changelog_dates_every_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", text, flags=re.M)
    numbers = [number for number, _ in versions]
    assert numbers == [PROJECT["version"], "0.4.0", "0.3.0", "0.2.0", "0.1.0"]
    assert sorted(day for _, day in versions)[::-1] == [day for _, day in versions]


def workflow(name):
    """Return the matrix of the one job of a workflow, and the commands that it runs."""
    path = ROOT / ".github" / "workflows" / f"{name}.yml"
    (job,) = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    return job["strategy"]["matrix"], commands


def test_the_workflow_and_the_check_run_the_same_commands():
    matrix, commands = workflow("ci")
    *commands, elsewhere = commands
    assert commands == ["make lint", "make test", "make experiments"]
    pythons = matrix["python"]
    assert pythons and all(
        SpecifierSet(PROJECT["requires-python"]).contains(python) for python in pythons
    )
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in check if line.startswith(("make", "rm"))] == [
        "rm -rf .venv",
        *commands,
        "make elsewhere ELSEWHERE='--kinds Prescott --parts notebooks,smoke,solvers'",
    ]
    parts = "--parts notebooks,smoke,solvers'"
    assert elsewhere.startswith("make elsewhere") and elsewhere.endswith(parts)


def test_the_nightly_workflow_runs_what_make_nightly_does():
    matrix, (command,) = workflow("nightly")
    assert command.startswith("make ${{ matrix.target }}")
    targets = {*matrix["target"], *(one["target"] for one in matrix["include"])}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r"^nightly: ([a-z ]+) ##", makefile, flags=re.M)
    assert targets == set(line.split())
    listed = ROOT / "tests" / "mutation" / "operators.yml"
    operators = yaml.safe_load(listed.read_text(encoding="utf-8"))
    chosen = [one["modules"] for one in matrix["include"]]
    for module in operators["modules"]:
        assert sum(part in module for part in chosen) == 1, module


def test_the_other_workflows_cover_what_the_classifiers_promise():
    folder = ROOT / ".github" / "workflows"
    systems, release, site = (
        yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
        for name in ("systems", "release", "site")
    )
    prefix = "Programming Language :: Python :: 3."
    pythons = {
        "3." + c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)
    }
    matrix = systems["jobs"]["systems"]["strategy"]["matrix"]
    assert set(matrix["python"]) == pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    upcoming = " ".join(step.get("run", "") for step in systems["jobs"]["upcoming"]["steps"])
    named = {Requirement(line).name for line in PROJECT["dependencies"]}
    assert named - {"joblib", "threadpoolctl"} <= set(upcoming.split())
    oldest = " ".join(step.get("run", "") for step in systems["jobs"]["oldest"]["steps"])
    assert "--resolution lowest-direct" in oldest
    # YAML 1.1 reads the key "on" as true
    assert release[True]["push"]["tags"] == ["v*"] == site[True]["push"]["tags"]
    assert release["jobs"]["publish"]["needs"] == "build"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_keep_no_credentials(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"^ *(?:- )?uses: (.*)$", text, flags=re.M)
    assert used
    for line in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    for job in yaml.safe_load(text)["jobs"].values():
        pushes = any("git push" in step.get("run", "") for step in job["steps"])
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                kept = step.get("with", {}).get("persist-credentials", True)
                assert kept == pushes


def test_an_action_has_one_commit_in_all_workflows():
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    pins = set(re.findall(r"uses: (\S+)@(\S+ # \S+)", text))
    assert len(pins) == len({action for action, _ in pins}) == 5


def test_dependabot_watches_actions_and_every_folder_with_pins():
    text = (ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8")
    updates = {one["package-ecosystem"]: one for one in yaml.safe_load(text)["updates"]}
    assert set(updates) == {"github-actions", "pip"}
    for folder in updates["pip"]["directories"]:
        assert list((ROOT / folder.lstrip("/")).glob("*.txt")), folder
    for one in updates.values():
        assert one["schedule"] == {"interval": "monthly"} and len(one["groups"]) == 1


def test_the_address_stands_in_one_place_and_is_written_everywhere():
    spec = importlib.util.spec_from_file_location("address", ROOT / ".github" / "address.py")
    address = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(address)
    assert address.main(["--check"]) == 0
    for path in address.PLACES:
        text = (ROOT / path).read_text(encoding="utf-8")
        new = address.written(path, text, "some-one/thing.x", "10.1000/1")
        assert "some-one/thing.x" in new and "OWNER" not in new.replace("OWNER/NAME", "").replace(
            'repository = "OWNER/REPOSITORY"', ""
        )
        assert ('doi: "10.1000/1"' in new) == (path == "CITATION.cff")
        assert address.written(path, new, "OWNER/REPOSITORY", "") == text
    with pytest.raises(ValueError, match="README.md has no place for the address"):
        address.written("README.md", "nothing", "some-one/thing", "")


def test_the_conda_recipe_equals_pyproject():
    recipe = yaml.safe_load((ROOT / ".github" / "conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    run = {r.name: r.specifier for r in map(Requirement, recipe["requirements"]["run"])}
    assert run.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert run == {r.name: r.specifier for r in map(Requirement, PROJECT["dependencies"])}
    build = recipe["build"]
    assert build["noarch"] == "python"
    (entry,) = build["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]
    assert recipe["about"]["license"] == PROJECT["license"]


def test_hooks_are_programs_that_are_installed():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))[
        "repos"
    ]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program, flag, module, *_ = hook["entry"].split()
        assert (hook["language"], program, flag) == ("system", ".venv/bin/python", "-m")
        assert find_spec(module) is not None


def test_every_make_target_is_described_and_on_the_page_of_commands():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.M)
    described = re.findall(r"^([a-z]+):.*## \S", makefile, flags=re.M)
    assert sorted(phony.split()) == sorted(described)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in described if f"`make {name}`" not in page] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^make (\w+)", readme, flags=re.M)
    assert set(named) <= set(described) and {"reproduce", "test", "lab", "help"} <= set(named)


def test_readme_links_lead_somewhere():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)\)", readme)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_folders_that_a_page_names_are_there():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    folders = re.findall(r"^\| `([\w/.]*)` \|", page, flags=re.M)
    assert len(folders) > 5
    assert [name for name in folders if name != "outputs/" and not (ROOT / name).exists()] == []


def test_the_readme_is_short_and_cites_this_version():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) < 1000
    assert re.findall(r"^  version = \{(.*)\},$", readme, flags=re.M) == [PROJECT["version"]]
