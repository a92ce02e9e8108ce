"""Preparing text: what samples hold, what is refused, and that a killed job leaves nothing complete."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from slipway_training.data.manifest import DONE, read_manifest
from slipway_training.data.tokenizer import TokenizerError, load_tokenizer
from slipway_training.prepare import sources
from slipway_training.prepare.__main__ import main
from slipway_training.prepare.build import PrepareError, prepare
from slipway_training.prepare.documents import DocumentError, documents
from tests.training.kill_at import children_killed_at_each_file_operation
from tests.training.tiny_runs import BERT, LLAMA, make_prepared_run, make_run, write_text


def rows(directory: Path) -> npt.NDArray[np.uint16]:
    return np.concatenate([np.load(directory / shard.file) for shard in read_manifest(directory).shards])


def test_text_is_joined_and_cut_into_samples_of_the_same_length(tmp_path: Path) -> None:
    run = make_prepared_run(tmp_path, LLAMA)
    samples = rows(Path(run.prepared_directory))
    texts = [json.loads(line)["text"] for line in (tmp_path / "text.jsonl").read_text().splitlines()]
    expected = [byte + 3 for text in texts for byte in [*text.encode(), -2]]  # ByT5: bytes from 3 on, 1 ends a text
    assert samples.dtype == np.uint16
    assert samples.reshape(-1).tolist() == expected[: len(expected) // 16 * 16]
    manifest = read_manifest(Path(run.prepared_directory))
    assert (manifest.documents, manifest.samples, manifest.tokens) == (len(texts), len(samples), samples.size)


def test_pairs_have_two_segments_of_which_half_follow_each_other(tmp_path: Path) -> None:
    run = make_run(tmp_path, {**BERT, "max_position_embeddings": 64}, data={"sequence_length": 64})
    write_text(tmp_path)
    prepare(run, processes=1)
    tokenizer = load_tokenizer(run.recipe)
    text = " ".join(json.loads(line)["text"] for line in (tmp_path / "text.jsonl").read_text().splitlines())
    followed = 0
    for first, used, is_random, *tokens in rows(Path(run.prepared_directory)).tolist():
        assert (tokens[0], tokens[first - 1], tokens[used - 1]) == (260, 259, 259)  # [CLS] and [SEP]
        assert tokens[used:] == [0] * (64 - used)
        segments = [tokenizer.decode(tokens[1 : first - 1]), tokenizer.decode(tokens[first : used - 1])]
        assert all(segment in text for segment in segments)
        assert is_random or "".join(segments) in text
        followed += not is_random
    assert 0.3 < followed / len(rows(Path(run.prepared_directory))) < 0.7


def test_parts_of_a_file_hold_each_document_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"document {i} {'x' * (i * 7 % 50)}" for i in range(80)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "b.txt").write_text("\n\n".join(f"{text}\nsecond line" for text in texts))
    for size in (1, 7, 64, 1000, 10**6):
        monkeypatch.setattr(sources, "PART_BYTES", size)
        found = {
            name: [text for part in sources.parts_of(tmp_path / name) for text in documents(part, "text")]
            for name in ("a.jsonl", "b.txt")
        }
        assert found["a.jsonl"] == texts
        assert [text.strip() for text in found["b.txt"]] == [f"{text}\nsecond line" for text in texts]


def test_a_text_file_without_blank_lines_is_cut_and_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"line {i}\n" for i in range(500)))
    monkeypatch.setattr("slipway_training.prepare.documents._LONGEST_PARAGRAPH", 100)
    for size in (150, 1000, 10**6):
        monkeypatch.setattr(sources, "PART_BYTES", size)
        texts = [text for part in sources.parts_of(file) for text in documents(part, "text")]
        assert "".join(texts) == file.read_text()
        assert max(map(len, texts)) < 120


def test_parquet_has_a_part_for_each_row_group_and_processes_give_the_same(tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table({"id": range(200), "text": [f"text number {i} of many" for i in range(199)] + [None]})
    pq.write_table(table, tmp_path / "text.parquet", row_group_size=50)
    (tmp_path / "a").mkdir()
    alone = make_run(tmp_path / "a", LLAMA, data={"source": str(tmp_path / "text.parquet")})
    assert prepare(alone, processes=1).documents == 199
    (tmp_path / "b").mkdir()
    together = make_run(tmp_path / "b", LLAMA, data={"source": str(tmp_path / "text.parquet")})
    assert prepare(together, processes=2) == prepare(alone, processes=1)
    for shard in read_manifest(Path(alone.prepared_directory)).shards:
        files = [Path(run.prepared_directory, shard.file).read_bytes() for run in (alone, together)]
        assert files[0] == files[1]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"batch": {"global_size": 4096}}, "make 194 samples of 16 tokens; one step takes 4,096"),
        ({"model": {**LLAMA, "vocab_size": 300}}, "has 384 tokens, the model only 300: raise model.vocab_size"),
        ({"model": {**LLAMA, "eos_token_id": 2}}, "has eos_token_id 1, the model 2: write model.eos_token_id: 1"),
        ({"data": {"tokenizer": "/nowhere"}}, "data.tokenizer: cannot read /nowhere"),
        ({"data": {"text_field": "body"}}, "text.jsonl:1: the line has no field 'body'"),
        ({"data": {"source": "/nowhere/*.txt"}}, "no .jsonl, .parquet, .txt or .bin file at /nowhere/*.txt"),
    ],
)
def test_what_cannot_be_used_is_refused_and_leaves_nothing(
    tmp_path: Path, sections: dict[str, Any], message: str
) -> None:
    write_text(tmp_path)
    run = make_run(tmp_path, sections.pop("model", LLAMA), **sections)
    with pytest.raises((PrepareError, TokenizerError, DocumentError)) as error:
        prepare(run, processes=1)
    assert message in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "text.jsonl"]


def test_a_broken_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(tmp_path)
    with (tmp_path / "text.jsonl").open("a") as stream:
        stream.write('{"text": "good"}\n{"text": cut off\n')
    run = make_run(tmp_path, LLAMA)
    assert main(["--run", str(run.file)]) == 1
    assert f"error: {tmp_path}/text.jsonl:62: the line is not a JSON object" in capsys.readouterr().err


def test_a_prepared_folder_stays_while_its_files_do_and_a_change_is_named(tmp_path: Path) -> None:
    run = make_prepared_run(tmp_path, LLAMA)
    manifest = Path(run.prepared_directory, "manifest.json")
    before = manifest.stat().st_mtime_ns
    prepare(run, processes=1)
    assert manifest.stat().st_mtime_ns == before
    text = tmp_path / "text.jsonl"
    text.write_text(text.read_text().replace("wolf", "bear"))
    with pytest.raises(PrepareError, match=r"text\.jsonl has other text than before"):
        prepare(run, processes=1)
    text.write_text(text.read_text() + '{"text": "more"}\n')
    with pytest.raises(PrepareError, match=r"text\.jsonl has \d+ bytes, it had \d+"):
        prepare(run, processes=1)


def test_killed_at_each_step_it_leaves_nothing_complete_and_the_next_one_ends_well(tmp_path: Path) -> None:
    write_text(tmp_path)
    run = make_run(tmp_path, LLAMA)
    directory = Path(run.prepared_directory)

    def whole_or_not_there() -> None:
        assert not directory.exists() or len(rows(directory)) == 194

    assert children_killed_at_each_file_operation(lambda: prepare(run, processes=1), whole_or_not_there) > 15
    assert (directory / DONE).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prepared_directory", "run", "text.jsonl"]
