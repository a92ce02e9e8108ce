"""One run of `slipway deploy-role`: synthesize, read, write the documents, say the commands."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from slipway.assembly.bootstrap import bootstrap_command
from slipway.assembly.choice import NotChosenError, chosen_assembly, refuse_unclear_choice
from slipway.assembly.stacks import NoAssemblyError
from slipway.check.deploy_role.names import collisions, names_in_files
from slipway.check.deploy_role.needs import Needs, UnknownTypeError, read_needs
from slipway.check.deploy_role.policies import (
    Document,
    bootstrap_role,
    deploy_role_limits,
    deployer_policy,
    destroyer_policy,
    execution_policies,
    github_trust_policy,
    policy_name,
)
from slipway.errors import RefusedError

SESSION_SECONDS = 10800
"""How long the workflows ask to be the deployer's role (.github/workflows); a role gives an hour by default."""

_DESTROYER = "destroyer.json"
_DEPLOY_LIMITS = "deploy-role-limits.json"
_SHARED_BOOTSTRAP = (
    "This environment shares the account's default bootstrap: one role deploys every environment that uses it, with "
    "the policies of all. Set `bootstrap_qualifier` in the environment file to give it a role of its own."
)

_ACCOUNT = re.compile(r"[0-9]{12}")
_REPOSITORY = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+|[A-Za-z0-9-]+@[0-9]+/[A-Za-z0-9._-]+@[0-9]+")


class NoPoliciesError(RefusedError):
    """Nothing was written; the message says why."""


def run(
    environment: str | None,
    assembly: Path | None,
    *,
    account: str,
    github: str | None,
    to_destroy: bool,
    output: Path,
    tell: Callable[[str], None],
) -> None:
    """Write the policy documents of an environment.

    Args:
        environment: name or file of an environment; it is synthesized.
        assembly: cloud assembly of it, instead.
        account: id of the AWS account.
        github: `owner/name` of the repository whose workflows deploy, or `owner@id/name@id`.
        to_destroy: also write what `slipway destroy` needs.
        output: folder for the documents, made if need be.
        tell: called with one line at a time.

    Raises:
        NoPoliciesError: nothing was written.
    """
    _refuse_wrong(environment, assembly, account, github)
    try:
        needs = read_needs(chosen_assembly(environment, assembly, "deploy-role-synth"))
    except (NoAssemblyError, NotChosenError, UnknownTypeError) as error:
        raise NoPoliciesError(str(error)) from error
    _refuse_collisions(needs.environment)
    documents = dict(_documents(needs, account, github, to_destroy=to_destroy))
    _write(documents, output)
    for line in _instructions(needs, account, output, documents):
        tell(line)


def _refuse_wrong(environment: str | None, assembly: Path | None, account: str, github: str | None) -> None:
    """Refuse arguments that cannot be.

    Raises:
        NoPoliciesError: all that is wrong, a line each.
    """
    wrong = []
    try:
        refuse_unclear_choice(environment, assembly)
    except NotChosenError as error:
        wrong.append(str(error))
    if not _ACCOUNT.fullmatch(account):
        wrong.append(f"--account {account} is not an account id: 12 digits")
    if github is not None and not _REPOSITORY.fullmatch(github):
        wrong.append(f"--github {github} is not a repository: OWNER/NAME, or OWNER@ID/NAME@ID")
    if wrong:
        raise NoPoliciesError("\n".join(wrong))


def _refuse_collisions(environment: str) -> None:
    """Refuse an environment whose policies would cover resources of another one in environments/.

    Raises:
        NoPoliciesError: the others, a line each.
    """
    found = [
        f"environment {environment}: the names of its resources begin like those of {other} ({beginning}), so policies "
        "cannot tell the two apart: deploy one of them under another `name`"
        for other, beginning in collisions(environment, names_in_files())
    ]
    if found:
        raise NoPoliciesError("\n".join(found))


def _documents(needs: Needs, account: str, github: str | None, *, to_destroy: bool) -> Iterator[tuple[str, Document]]:
    """Yield each document with the name of its file."""
    for number, policy in enumerate(execution_policies(needs), start=1):
        yield f"execution-{number}.json", policy
    yield "deployer.json", deployer_policy(needs, account)
    if needs.has_own_bootstrap:
        yield _DEPLOY_LIMITS, deploy_role_limits(needs)
    if to_destroy:
        yield _DESTROYER, destroyer_policy(needs)
    if github:
        yield "deployer-trust.json", github_trust_policy(needs, account, github)


def _write(documents: Mapping[str, Document], output: Path) -> None:
    """Write the documents, and remove those of an earlier run that there are no more.

    Raises:
        NoPoliciesError: the folder cannot be written.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        for old in (*output.glob("execution-*.json"), output / _DESTROYER, output / _DEPLOY_LIMITS):
            old.unlink(missing_ok=True)
        for name, document in documents.items():
            (output / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise NoPoliciesError(f"{output} cannot be written: {error}") from error


def _instructions(needs: Needs, account: str, output: Path, documents: Mapping[str, Document]) -> Iterator[str]:
    """Yield what to do with the documents, as commands."""
    execution = [name for name in documents if name.startswith("execution-")]
    policies = {name: policy_name(needs.environment, name.removesuffix(".json")) for name in execution}

    def document(name: str) -> str:
        return shlex.quote(f"file://{output / name}")

    yield f"Wrote {len(documents)} documents to {output}. To limit CloudFormation's role to this environment, run:"
    yield ""
    for name, policy in policies.items():
        yield f"aws iam create-policy --policy-name {policy} --policy-document {document(name)}"
    arns = ",".join(f"arn:aws:iam::{account}:policy/{policy}" for policy in policies.values())
    yield f'{bootstrap_command(account, needs.region, needs.qualifier)} --cloudformation-execution-policies "{arns}"'
    if _DEPLOY_LIMITS in documents:
        yield (
            f"aws iam put-role-policy --role-name {bootstrap_role(needs, 'deploy', account)} "
            f"--policy-name slipway-{needs.environment} --policy-document {document(_DEPLOY_LIMITS)}"
        )
    yield ""
    if "deployer-trust.json" in documents:
        role = policy_name(needs.environment, "deployer")
        yield "To make the role that the workflows assume, run:"
        yield ""
        yield (
            f"aws iam create-role --role-name {role} --max-session-duration {SESSION_SECONDS} "
            f"--assume-role-policy-document {document('deployer-trust.json')}"
        )
        yield f"slipway preflight --policy > {shlex.quote(str(output / 'preflight.json'))}"
        for policy in ("deployer", *(["destroyer"] if _DESTROYER in documents else []), "preflight"):
            yield (
                f"aws iam put-role-policy --role-name {role} --policy-name {policy} "
                f"--policy-document {document(f'{policy}.json')}"
            )
    else:
        yield f"Attach {output / 'deployer.json'} to everyone who runs `cdk deploy`."
        if _DESTROYER in documents:
            yield f"Attach {output / _DESTROYER}, too, to everyone who runs `slipway destroy`."
    if not needs.has_own_bootstrap:
        yield ""
        yield _SHARED_BOOTSTRAP
    if caveat := _caveat(needs):
        yield ""
        yield caveat


def _caveat(needs: Needs) -> str | None:
    """Return what the policies do not hold; None when a boundary holds the rest."""
    if needs.permissions_boundary is None:
        return (
            "Whoever may create roles can give themselves more: these policies keep mistakes small, not an attacker. "
            "`slipway docs deploy-role` says what closes the gap."
        )
    name = needs.permissions_boundary.partition(":policy/")[2]
    for prefix in needs.name_prefixes("iam"):
        if name.startswith((prefix, f"parallelcluster/{prefix}")):
            return (
                f"The boundary {needs.permissions_boundary} holds nothing: CloudFormation's role may rewrite policies "
                f"whose names begin with {prefix}. Give it another name."
            )
    return None
