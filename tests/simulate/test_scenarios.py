"""Named scenarios: a name fixes every bit, laziness, a cache that is verified."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from loopscm.errors import OptionError
from loopscm.simulate import Perturbations, _cache, scenario, scenario_families
from loopscm.simulate import scenarios as module
from loopscm.simulate._families import FAMILIES, STRESS_KINDS

NAMES = (
    "synthetic/p16-d4-r0.2/seed3",
    "synthetic/p8-d2-r0-n50/seed0",
    "gnw/12-3",
    "gnw/12-3-microarray/seed1",
    "dream4/size10-1",
    *(f"stress/{kind}-p15/seed2" for kind in STRESS_KINDS),
)


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    monkeypatch.setattr("loopscm.simulate._families.GENE_SAMPLES", 200)


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_is_complete(name, tmp_path):
    world = scenario(name, cache=tmp_path)
    assert world.data.shape == (world.n, world.graph.n_observed)
    assert world.stats.names == world.graph.names
    assert world.stats.n == world.n
    meta = world.metadata
    assert meta["name"] == name
    assert meta["edges"] == world.graph.directed.sum()
    assert meta["content_sha256"] == scenario(name, cache=False).metadata["content_sha256"]
    if world.model is not None:
        assert world.model.graph == world.graph
    with pytest.raises(ValueError, match="read-only"):
        world.data[0, 0] = 0.0


def test_gene_scenarios_know_their_network_and_how_long_they_ran():
    world = scenario("gnw/12-3", cache=False)
    assert world.network is not None
    assert world.network.names == (*world.graph.names, *world.graph.latent_names)
    rest = world.network.steady_states(Perturbations.none(world.network, 1))
    assert world.metadata["settled"] == bool(rest.settled[0])
    assert world.metadata["duration"] == max(rest.times[0], 100.0)
    noisy = scenario("gnw/12-3-microarray", cache=False)
    assert noisy.network == world.network
    assert scenario("synthetic/p8-d2-r0-n50/seed0", cache=False).network is None


def test_a_scenario_reports_progress_and_refuses_bad_options():
    meter = Meter()
    assert scenario("gnw/12-3", cache=False, progress=meter).n == 200
    assert meter.total == meter.done == 200
    with pytest.raises(OptionError, match="n_jobs"):
        scenario("gnw/12-3", n_jobs=0)
    with pytest.raises(OptionError, match="cache must be"):
        scenario("gnw/12-3", cache=3)  # type: ignore[arg-type]


class Meter:
    total = done = 0

    def start(self, total, what):
        self.total = total

    def advance(self, count=1):
        self.done += count

    def finish(self):
        pass


def test_every_example_is_a_valid_name():
    for family in FAMILIES.values():
        assert scenario(family.example, cache=False).name == family.example
    assert len(scenario_families()) == len(FAMILIES)


def test_nothing_happens_before_it_is_asked_for(tmp_path):
    world = scenario("synthetic/p16-d4-r0.2/seed4", cache=tmp_path)
    repr(world)
    assert not list(tmp_path.iterdir())
    assert world.n == 10_000
    assert len(list(tmp_path.rglob("*.npz"))) == 1


def test_names_differ_in_everything_but_sample_size_and_measurement():
    base = scenario("synthetic/p16-d4-r0.2/seed3", cache=False)
    small = scenario("synthetic/p16-d4-r0.2-n50/seed3", cache=False)
    assert small.model is not None
    assert base.model is not None
    assert small.graph == base.graph
    assert (small.model.coefficients == base.model.coefficients).all()
    other = scenario("synthetic/p16-d4-r0.2/seed5", cache=False)
    assert other.graph != base.graph
    clean = scenario("gnw/12-3", cache=False)
    noisy = scenario("gnw/12-3-microarray", cache=False)
    assert noisy.graph == clean.graph
    assert (noisy.data != clean.data).any()


SCRIPT = """
import sys
from loopscm.simulate import _families, scenario
_families.GENE_SAMPLES = 200
for name in sys.argv[2:]:
    print(scenario(name, cache=False, n_jobs=int(sys.argv[1])).metadata["content_sha256"])
"""


def test_same_bits_in_other_processes_with_any_number_of_threads():
    names = ["gnw/12-3", "synthetic/p32-d4-r0.3/seed1", "stress/scales-p15/seed0"]
    here = [scenario(name, cache=False).metadata["content_sha256"] for name in names]
    for n_jobs in ("1", "3"):
        environment = {**os.environ, "OMP_NUM_THREADS": n_jobs, "PYTHONHASHSEED": n_jobs}
        command = [sys.executable, "-c", SCRIPT, n_jobs, *names]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert out.stdout.split() == here


def test_many_processes_at_once_share_one_cache(tmp_path):
    """Four processes ask for the same name at the same time; all get the same bits."""
    name = "gnw/12-3"
    here = scenario(name, cache=False).metadata["content_sha256"]
    script = SCRIPT.replace("cache=False", "cache=None")
    command = [sys.executable, "-c", script, "1", name]
    environment = {**os.environ, "LOOPSCM_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0].strip() for process in running] == [here] * 4
    assert len(list(tmp_path.rglob("*.npz"))) == 1
    assert not list(tmp_path.rglob("*.tmp"))


# ---- cache ------------------------------------------------------------------------------------

NAME = "synthetic/p8-d2-r0.2-n30/seed1"


def cached_file(folder):
    (file,) = folder.rglob("*.npz")
    return file


def forbid_generation(monkeypatch):
    def fail(*_):
        raise AssertionError("generated again")

    monkeypatch.setattr(module, "_as_arrays", fail)


def test_second_use_reads_the_file(tmp_path, monkeypatch):
    first = scenario(NAME, cache=tmp_path).data
    forbid_generation(monkeypatch)
    assert (scenario(NAME, cache=str(tmp_path)).data == first).all()


@pytest.mark.parametrize("damage", ["truncate", "flip", "foreign", "empty", "value"])
def test_damaged_files_are_replaced(damage, tmp_path):
    first = scenario(NAME, cache=tmp_path).data
    file = cached_file(tmp_path)
    content = file.read_bytes()
    if damage == "truncate":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        middle = content.index(b"data.npy") + 400
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif damage == "foreign":
        file.write_text("not an archive")
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        with np.load(file) as archive:
            arrays = {key: archive[key] for key in archive.files}
        arrays["data"][0, 0] += 1e-12
        np.savez(file, **arrays)
    assert (scenario(NAME, cache=tmp_path).data == first).all()
    assert _cache.load(file) is not None


def test_the_environment_chooses_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOPSCM_CACHE", str(tmp_path / "here"))
    assert scenario(NAME).n == 30
    assert cached_file(tmp_path / "here")


def test_an_unwritable_cache_warns_and_goes_on(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.warns(UserWarning, match="LOOPSCM_CACHE"):
        assert scenario(NAME, cache=blocked).n == 30


def test_no_half_written_file_is_left_behind(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        _cache.store(tmp_path / "x.npz", {"a": np.zeros(2)})
    assert not list(tmp_path.iterdir())


def test_cached_files_are_as_readable_as_any_other(tmp_path):
    (tmp_path / "plain").write_text("x")
    _cache.store(tmp_path / "x.npz", {"a": np.zeros(2)})
    assert (tmp_path / "x.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_many_threads_may_ask_at_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: scenario(NAME, cache=tmp_path).data, range(8)))
    assert all((result == results[0]).all() for result in results)


# ---- splits and refusals ----------------------------------------------------------------------


def test_splits_differ_by_trial_and_cover_everything():
    world = scenario("gnw/12-3", cache=False)
    train, held = world.split(0)
    assert len(train) == 160
    assert sorted([*train, *held]) == list(range(200))
    assert (world.split(0)[0] == train).all()
    assert set(world.split(1)[0]) != set(train)
    stats = world.statistics(train)
    np.testing.assert_allclose(stats.S, np.cov(world.data[train].T, bias=True), atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "synthetic/p16-d4-r0.20/seed3",
        "synthetic/p16-d4-r0.2",
        "synthetic/p016-d4-r0.2/seed3",
        "gnw/100",
        "dream4/size100-3",
        "stress/unknown-p3/seed0",
        "synthetic/p16-d4-r0.2/seed03",
        "",
        7,
    ],
)
def test_unknown_names_are_refused_with_the_templates(name):
    with pytest.raises(OptionError, match=r"synthetic/p<variables>.*as in gnw/100-20"):
        scenario(name)


def test_importing_the_package_stays_light():
    code = (
        "import sys, loopscm.simulate, loopscm.datasets;"
        "print([m for m in ('numba', 'scipy', 'networkx', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
