"""Programs that templates carry are the files that other tests run."""

from slipway.review.changes.references import strings
from tests.assembly import PROJECT, Assembly

FILES = [
    path.read_text(encoding="utf-8")
    for path in sorted((PROJECT / "assets" / "inference").glob("*"))
    if path.suffix in (".py", ".sh")
]


def test_a_program_in_a_template_is_a_file_of_the_assets(each_assembly: Assembly) -> None:
    programs = [
        text
        for template in each_assembly.templates().values()
        for text in strings(template)
        if "#!/usr/bin/env" in text or text.startswith('"""')
    ]

    assert [text for text in programs if not any(file in text for file in FILES)] == []
    assert bool(programs) is (each_assembly.environment.inference is not None)
