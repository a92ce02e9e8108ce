"""Behaviour of the installation of the job kit: what head and login nodes have of it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_constructs.cluster.job_kit import kit_files
from tests.assets.cluster_node import INSTALLER, JOB_ENVIRONMENT, JOB_KIT, STACK, ClusterNode, assert_failed
from tests.assets.sandbox import ASSETS, Outcome

KITS = "apps/slipway/jobs"
STEP = "install the job kit"


def kit_pip_calls(outcome: Outcome) -> list[str]:
    return [call for call in outcome.calls_of("venv-python") if f"/{KITS}/" in call and " -m pip " in call]


def current(node: ClusterNode) -> Path:
    return (node.root / KITS / "current").resolve()


def test_every_file_of_the_kit_is_in_a_directory_named_by_the_checksum_of_their_list(ubuntu: ClusterNode) -> None:
    name = ubuntu.set_job_kit(JOB_KIT)

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert current(ubuntu) == ubuntu.root / KITS / name
    for file, content in JOB_KIT.items():
        assert ubuntu.read(f"{KITS}/{name}/{file}") == content
    assert ubuntu.read(f"{KITS}/environment.json") == JOB_ENVIRONMENT
    assert {path.name for path in (ubuntu.root / KITS).iterdir()} == {name, "current", "environment.json"}


def test_the_shipped_kit_arrives_whole(ubuntu: ClusterNode) -> None:
    files = {name: file.read_text(encoding="utf-8") for name, file in kit_files(ASSETS / "jobs")}
    ubuntu.set_job_kit(files)

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    installed = current(ubuntu)
    assert {name: (installed / name).read_text(encoding="utf-8") for name in files} == files


def test_its_python_is_the_default_stacks_and_takes_only_packages_with_the_right_checksum(ubuntu: ClusterNode) -> None:
    ubuntu.lock("native-2.33", PYTHON_VERSION="3.12")
    ubuntu.stub("python3.12", ubuntu._bodies["python3.10"])
    ubuntu.set_stacks(STACK, "native-2.33")

    outcome = ubuntu.set_up_head()

    [call] = kit_pip_calls(outcome)
    assert "--require-hashes --only-binary :all: --requirement " in call
    assert (current(ubuntu) / "venv/lib/python3.10").is_dir()


def test_other_nodes_need_not_be_allowed_to_list_the_bucket(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    fetched = {call.split()[-2] for call in outcome.calls_of("aws") if "/jobs/" in call}
    expected = {*JOB_KIT, INSTALLER.removeprefix("jobs/"), "files.sha256", "environment.json"}
    assert fetched == {f"s3://scripts-bucket/cluster/jobs/{name}" for name in expected}
    assert not [call for call in outcome.calls_of("aws") if "--recursive" in call or " sync " in call]


def test_second_run_builds_nothing_and_changes_no_file(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    (ubuntu.state / "venv").touch()
    before = ubuntu.snapshot()

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert kit_pip_calls(outcome) == []
    assert ubuntu.snapshot() == before


def test_updated_kit_is_built_beside_the_one_that_running_chains_use(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    old = current(ubuntu)
    name = ubuntu.set_job_kit(JOB_KIT | {"slipway_jobs/__main__.py": "print('new kit')\n"}, '{"name": "other"}')
    ubuntu.stub_first("venv-python", f'[[ "$*" != *pip* || "$(readlink "$ROOT/{KITS}/current")" == {old.name} ]]')

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, "the link moved before the new kit was complete"
    assert current(ubuntu).name == name != old.name
    assert (old / "slipway_jobs/__main__.py").read_text() == JOB_KIT["slipway_jobs/__main__.py"]
    assert ubuntu.read(f"{KITS}/environment.json") == '{"name": "other"}'


def test_file_that_is_not_the_listed_one_is_refused(ubuntu: ClusterNode) -> None:
    (ubuntu.bucket / "jobs/slipway_jobs/__main__.py").write_text("print('somebody else')\n")

    # The pause would be longer than what is left: the files are fetched once.
    outcome = ubuntu.set_up_head(SLIPWAY_RETRY_PAUSE_SECONDS="60")

    assert_failed(outcome, STEP, "sha256sum: WARNING: 1 computed checksum did NOT match")
    assert not (ubuntu.root / KITS / "current").exists()


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "$(id)"])
def test_list_that_names_files_elsewhere_is_refused(ubuntu: ClusterNode, name: str) -> None:
    with (ubuntu.bucket / "jobs/files.sha256").open("a") as checksums:
        checksums.write(f"{'0' * 64}  {name}\n")

    outcome = ubuntu.set_up_head()

    assert_failed(outcome, STEP, "files.sha256 is not a list of checksums and files")
    fetched = [call for call in outcome.calls_of("aws") if "/jobs/" in call and INSTALLER not in call]
    assert len(fetched) == 2


def test_installation_that_broke_off_is_not_taken_for_complete(ubuntu: ClusterNode) -> None:
    body = ubuntu._bodies["venv-python"]
    ubuntu.stub_first("venv-python", f'[[ "$*" != *{KITS}/.unfinished/requirements* ]] || exit 1')
    assert_failed(ubuntu.set_up_head(), STEP, "gave up within 0 s")
    assert not (ubuntu.root / KITS / "current").exists()

    ubuntu.stub("venv-python", body)
    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert len(kit_pip_calls(outcome)) == 1
    assert current(ubuntu).is_dir()


def test_kit_whose_python_has_left_is_built_again(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    (current(ubuntu) / "venv/bin/python").unlink()

    assert len(kit_pip_calls(ubuntu.set_up_head())) == 1
    assert (current(ubuntu) / "venv/bin/python").is_symlink()


def test_users_share_the_directories_of_jobs_and_keep_what_they_made_in_them(ubuntu: ClusterNode) -> None:
    own = ubuntu.root / "fsx/checkpoints/own"
    own.mkdir(parents=True, mode=0o700)

    ubuntu.set_up_head()

    modes = {path.name: path.stat().st_mode & 0o7777 for path in (ubuntu.root / "fsx").iterdir()}
    assert modes == dict.fromkeys(("runs", "checkpoints", "prepared", "data"), 0o1777)
    assert own.stat().st_mode & 0o7777 == 0o700


def test_what_fsx_shows_of_the_bucket_stays_closed_and_the_folder_around_it_opens(ubuntu: ClusterNode) -> None:
    imported = ubuntu.root / "fsx/data/pretraining"
    imported.mkdir(parents=True, mode=0o755)
    (ubuntu.root / "fsx/data").chmod(0o755)

    ubuntu.set_up_head()

    assert (ubuntu.root / "fsx/data").stat().st_mode & 0o7777 == 0o1777
    assert imported.stat().st_mode & 0o7777 == 0o755


def test_directory_that_somebody_else_made_stays_theirs(ubuntu: ClusterNode) -> None:
    (ubuntu.root / "fsx/runs").mkdir(mode=0o750)
    # Only root could give the directory away.
    ubuntu.stub("stat", 'case "$*" in *%U*) echo mia ;; *%u*fsx/runs) echo 4711 ;; *) exec /usr/bin/stat "$@" ;; esac')

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert (ubuntu.root / "fsx/runs").stat().st_mode & 0o7777 == 0o750
    assert "WARNING: /fsx/runs belongs to mia and keeps its mode" in outcome.stdout


def test_link_in_the_place_of_a_directory_of_jobs_is_refused(ubuntu: ClusterNode) -> None:
    (ubuntu.root / "fsx/runs").symlink_to("/etc")

    assert_failed(ubuntu.set_up_head(), "make the directories of jobs", "/fsx/runs is a link")


def test_cluster_whose_stacks_cannot_run_the_kit_has_none(ubuntu: ClusterNode) -> None:
    ubuntu.set_stacks(STACK, job_kit="no")

    for outcome in (ubuntu.set_up_head(), ubuntu.set_up_login()):
        assert outcome.status == 0, outcome.stderr
        assert f"NO JOB KIT: it runs with none of the training stacks {STACK}" in outcome.stdout
    assert not (ubuntu.root / KITS).exists()
    assert not (ubuntu.root / "etc/profile.d/slipway-jobs.sh").exists()


@pytest.mark.parametrize("value", ["", "maybe"])
def test_cluster_file_must_say_whether_there_is_a_kit(ubuntu: ClusterNode, value: str) -> None:
    ubuntu.set_stacks(STACK, job_kit=value)

    for outcome in (ubuntu.set_up_head(), ubuntu.set_up_login()):
        assert_failed(outcome, "read whether there is a job kit", "training_stacks.sh lacks JOB_KIT")


def test_login_shells_of_head_and_login_nodes_find_the_command(ubuntu: ClusterNode, tmp_path: Path) -> None:
    login = ClusterNode(tmp_path / "login", "ubuntu2204")
    ubuntu.set_up_head()
    login.set_up_login()

    profile = "/etc/profile.d/slipway-jobs.sh"
    assert ubuntu.read(profile) == login.read(profile)
    script = login.write("/twice.sh", f'. {login.root}{profile}\n. {login.root}{profile}\nprintf "%s" "$PATH"\n')
    assert login.run(script).stdout == f"{login.programs}:/apps/slipway/bin"
    assert (ubuntu.root / "apps/slipway/bin/slipway-job").stat().st_mode & 0o777 == 0o755
    assert not (login.root / "apps/slipway").exists()
