"""Token ids that were made before: a training over them is the one over their text; what does not fit is refused."""

import json
from pathlib import Path

import pytest

from slipway_jobs.recipe.source_files import missing_files
from slipway_jobs.run import TrainingRun
from slipway_training.data.manifest import read_manifest
from slipway_training.data.samples import Samples
from slipway_training.prepare.build import PrepareError, prepare
from slipway_training.prepare.documents import DocumentError
from tests.training.megatron_files import write_token_files
from tests.training.tiny_runs import BERT, LLAMA, losses, make_prepared_run, make_run, run_training, write_text

DOCUMENTS = [[5, 6, 7, 8, 1], [9] * 40 + [1], [10, 1]] * 10


def over_tokens(folder: Path, source: Path, **sections: object) -> TrainingRun:
    return make_run(folder, LLAMA, data={"source": str(source)}, **sections)


@pytest.mark.parametrize("kind", ["uint16", "int32", "int64"])
def test_samples_are_the_documents_joined_and_cut_and_stay_where_they_are(tmp_path: Path, kind: str) -> None:
    file = write_token_files(tmp_path / "a", DOCUMENTS, kind)
    write_token_files(tmp_path / "b", [[20] * 31], kind)
    run = over_tokens(tmp_path, tmp_path / "*.bin")
    prepare(run, processes=2)

    joined = [token for document in DOCUMENTS for token in document]
    samples = Samples(run, 0, 1)
    expected = [joined[start : start + 16] for start in range(0, len(joined) - 15, 16)] + [[20] * 16]
    assert [samples._row(number).tolist() for number in range(len(expected))] == expected
    manifest = read_manifest(Path(run.prepared_directory))
    assert (manifest.documents, manifest.samples) == (len(DOCUMENTS) + 1, len(expected))
    assert manifest.shards[0].file == str(file)
    assert not list(Path(run.prepared_directory).glob("*.npy"))


def test_a_training_over_tokens_has_the_losses_of_one_over_their_text(tmp_path: Path) -> None:
    write_text(tmp_path)
    text = make_prepared_run(tmp_path, LLAMA)
    lines = (tmp_path / "text.jsonl").read_text().splitlines()
    documents = [[byte + 3 for byte in json.loads(line)["text"].encode()] + [1] for line in lines]
    (tmp_path / "tokens").mkdir()
    file = write_token_files(tmp_path / "tokens" / "text", documents, "uint16")
    tokens = make_prepared_run(tmp_path / "tokens", LLAMA, data={"source": str(file)})
    for run in (text, tokens):
        status, output = run_training(run)
        assert status == 0, output
    assert losses(tokens) == losses(text)


def test_a_token_that_the_model_has_not_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway_training.prepare.token_files._BLOCK", 50)
    file = write_token_files(tmp_path / "a", [*DOCUMENTS, [384]], "uint16")
    with pytest.raises(DocumentError, match=r"among tokens 450 to 481 is 384, and the model has 0 to 383 .*tokenizer"):
        prepare(over_tokens(tmp_path, file), processes=2)
    file = write_token_files(tmp_path / "a", [[-2], *DOCUMENTS], "int32")
    with pytest.raises(DocumentError, match="among tokens 0 to 50 is -2"):
        prepare(over_tokens(tmp_path, file), processes=2)


def test_damaged_and_other_files_are_refused(tmp_path: Path) -> None:
    file = write_token_files(tmp_path / "a", DOCUMENTS, "uint16")
    run, index = over_tokens(tmp_path, file), file.with_suffix(".idx")
    whole = index.read_bytes()
    for content, message in (
        (whole[:60], "it ends early: it should name 30 sequences"),
        (b"TNTIDX" + whole[6:], "it is not the index of a Megatron data set"),
        (b"", "it is not the index of a Megatron data set"),
        (whole[:9] + b"\2" + whole[10:], "version 2 with type 8 is not known"),
    ):
        index.write_bytes(content)
        with pytest.raises(DocumentError, match=f"a.idx: {message}"):
            prepare(run, processes=1)
    index.write_bytes(whole)
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(DocumentError, match=r"a\.bin: it has 958 bytes, and its \.idx names 480 tokens of 2 bytes"):
        prepare(run, processes=1)
    write_token_files(tmp_path / "a", DOCUMENTS, "float32")
    with pytest.raises(DocumentError, match="with type 7 is not known; token ids are whole numbers"):
        prepare(run, processes=1)


def test_what_cannot_be_tokens_is_found_before_a_job_runs(tmp_path: Path) -> None:
    file = write_token_files(tmp_path / "a", DOCUMENTS, "uint16")
    write_text(tmp_path)
    mixed = over_tokens(tmp_path, tmp_path)
    assert found(mixed) == [f"{tmp_path} holds text and tokens (a.bin). Write a pattern, as {tmp_path}/*.bin."]
    bert = make_run(tmp_path, BERT, data={"source": str(file)})
    assert found(bert) == [f"{file}: BERT's pairs are made of sentences, not of token ids. Name text."]
    for run in (mixed, bert):
        with pytest.raises(PrepareError) as refused:
            prepare(run, processes=1)
        assert str(refused.value).splitlines() == found(run)
    file.with_suffix(".idx").unlink()
    assert found(over_tokens(tmp_path, file)) == [
        f"{file} has no .idx file beside it, which says what it holds. Copy both."
    ]


def found(run: TrainingRun) -> list[str]:
    return [f"{one.message}. {one.fix}" for one in missing_files(run.recipe)]
