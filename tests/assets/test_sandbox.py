"""The sandbox of the script tests must not reach the machine it runs on."""

from __future__ import annotations

from pathlib import Path

from tests.assets.sandbox import HARMLESS_PROGRAMS, Sandbox


def test_stub_in_the_place_of_a_real_program_leaves_the_program_alone(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    stand_in = tmp_path / "real-program"
    stand_in.write_text("real")
    for name in HARMLESS_PROGRAMS:
        (sandbox.programs / name).unlink()
        (sandbox.programs / name).symlink_to(stand_in)
        sandbox.stub(name)
        assert not (sandbox.programs / name).is_symlink()

    assert stand_in.read_text() == "real"


def test_only_harmless_programs_and_stubs_can_be_called(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    script = tmp_path / "script.sh"
    script.write_text("apt-get install something\n")

    outcome = sandbox.run(script)

    assert outcome.status == 127
