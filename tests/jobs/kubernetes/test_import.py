"""An import on Kubernetes: its JobSet, and what its pods run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from slipway_jobs.chain.scripts import render
from slipway_jobs.check.resolve import shared_fields
from slipway_jobs.environment import Environment, Service
from slipway_jobs.exporters import exporters
from slipway_jobs.kubernetes.manifests import job_set
from slipway_jobs.run import DataRun, FetchedData, Run
from tests.jobs.chain_case import environment_below, shellcheck
from tests.jobs.hub_server import COMMIT, HubServer, hub_server
from tests.jobs.kubernetes.manifest_case import SECRET, imported, on_kubernetes
from tests.jobs.publishing_case import LLAMA, SERVICE, configuration, install_exporter

FIELDS = {
    "spec.nodeName": "node-0",
    "metadata.labels['jobset.sigs.k8s.io/restart-attempt']": "0",
}
FILES = {
    "config.json": json.dumps(configuration(LLAMA)).encode(),
    "model.safetensors": b"weights" * 5000,
    "tokenizer_config.json": b"{}",
}


def replicated_jobs(run: Run, environment: Environment) -> dict[str, Any]:
    made = job_set(run, environment, run.stages, "0123abcd")
    return {job["name"]: job for job in made["spec"]["replicatedJobs"]}


def test_it_is_two_jobs_of_which_one_has_the_token_and_the_other_may_publish() -> None:
    environment = on_kubernetes(environment_below(Path("/fsx")), local_queue="jobs", secret=SECRET)
    run = imported(environment)

    jobs = replicated_jobs(run, environment)

    assert list(jobs) == ["fetch", "publish"]
    assert jobs["publish"]["dependsOn"] == [{"name": "fetch", "status": "Complete"}]
    pods = [job["template"]["spec"]["template"]["spec"] for job in jobs.values()]
    assert [pod["serviceAccountName"] for pod in pods] == ["jobs", "publisher"]
    for pod in pods:
        assert "aws.amazon.com/neuron" not in pod["containers"][0]["resources"]["requests"]
    scripts = {file.name: text for file, text in render(run, environment).items()}
    assert [name for name, text in scripts.items() if SECRET in text] == ["fetch.sh"]


def test_its_pods_fetch_and_publish(tmp_path: Path) -> None:
    environment = on_kubernetes(environment_below(tmp_path))
    service = Service.model_validate(SERVICE)
    host = environment_below(tmp_path, "trn1").instance_types["trn1.2xlarge"]
    types = {**environment.instance_types, service.instance_type: host}
    environment = environment.model_copy(update={"inference": (service,), "instance_types": types})
    (tmp_path / "environment.json").write_text(environment.model_dump_json(), encoding="utf-8")
    install_exporter(tmp_path / "runs", exporters()[SERVICE["engine_release"]])
    s3 = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    s3.start()
    address, port = s3.get_host_and_port()
    variables = {
        **{name: os.environ[name] for name in ("PATH",)},
        "HOME": str(tmp_path / "home"),
        "AWS_ENDPOINT_URL": f"http://{address}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    try:
        client = boto3.client(
            "s3",
            endpoint_url=variables["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        client.create_bucket(Bucket=environment.model_bucket)
        with hub_server(HubServer(files=FILES)) as hub:
            run = imported(environment, hub.url)
            for folder in ("scripts", "logs", "stages"):
                Path(run.directory, folder).mkdir(parents=True)
            run.file.write_text(run.model_dump_json(), encoding="utf-8")
            for file, text in render(run, environment).items():
                file.write_text(text, encoding="utf-8")
            for name, job in replicated_jobs(run, environment).items():
                done = in_pod(job, variables)
                assert done.returncode == 0, f"{name}: {done.stdout}"
        manifest = client.get_object(Bucket=environment.model_bucket, Key="tanuki/v1/slipway-manifest.json")
        found = json.loads(manifest["Body"].read())
    finally:
        s3.stop()
    assert found["source"]["imported_from"] == f"owner/model@{run.model.commit}"
    assert found["compiled"]["tensor_parallel_size"] == 2


def in_pod(job: dict[str, Any], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command of a job's only pod with the variables of its container."""
    [container] = job["template"]["spec"]["template"]["spec"]["containers"]
    own = {
        row["name"]: row["value"] if "value" in row else FIELDS[row["valueFrom"]["fieldRef"]["fieldPath"]]
        for row in container["env"]
    }
    return subprocess.run(
        container["command"],
        env={**variables, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
def test_its_scripts_please_shellcheck(scheduler: str, tmp_path: Path) -> None:
    environment = environment_below(Path("/fsx"))
    if scheduler == "kubernetes":
        environment = on_kubernetes(environment, secret=SECRET)
    shellcheck(render(imported(environment), environment), tmp_path)


def test_a_pod_fetches_a_data_set(tmp_path: Path) -> None:
    environment = on_kubernetes(environment_below(tmp_path))
    shared = tmp_path / "data"
    shared.mkdir()
    shared.chmod(0o1777)
    files = {"a.jsonl": b'{"text": "a"}\n' * 100}
    with hub_server(HubServer(kind="dataset", name="owner/text", files=files)) as hub:
        data = FetchedData(
            source="hf:owner/text",
            revision=COMMIT,
            hub=hub.url,
            include=("*.jsonl",),
            shared_directory=str(shared),
            directory=str(shared / "text"),
            work_directory=str(tmp_path / "prepared" / "1000" / "fetch-1"),
        )
        fields = shared_fields("fetch-text", environment, tmp_path / "environment.json")
        run = DataRun(**fields, cpu_queue=environment.queues[0].name, data=data)
        for folder in ("scripts", "logs", "stages"):
            Path(run.directory, folder).mkdir(parents=True)
        run.file.write_text(run.model_dump_json(), encoding="utf-8")
        for file, text in render(run, environment).items():
            file.write_text(text, encoding="utf-8")
        [(name, job)] = replicated_jobs(run, environment).items()
        done = in_pod(job, {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")})

    assert (name, done.returncode) == ("fetch", 0), done.stdout
    assert job["template"]["spec"]["template"]["spec"]["serviceAccountName"] == "jobs"
    assert (shared / "text" / "a.jsonl").read_bytes() == files["a.jsonl"]
    assert (shared / "text" / "done").exists()
