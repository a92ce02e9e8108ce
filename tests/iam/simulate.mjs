// Reads IAM requests with their policies as JSON on standard input and prints a decision for each.
// The decisions are those of @cloud-copilot/iam-simulate (package.json pins it).
import { readFileSync } from "node:fs";
import { runSimulation } from "@cloud-copilot/iam-simulate";

const { documents, simulations } = JSON.parse(readFileSync(0, "utf-8"));
const named = (keys) => keys.map((name) => ({ name, policy: documents[name] }));

async function decide(simulation) {
  const { principal, action, resource, account, context, policies, boundaries, endpoints, resourcePolicy } = simulation;
  const found = await runSimulation(
    {
      request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
      identityPolicies: named(policies),
      permissionBoundaryPolicies: boundaries.length ? named(boundaries) : undefined,
      vpcEndpointPolicies: endpoints.length ? named(endpoints) : undefined,
      resourcePolicy: resourcePolicy ? documents[resourcePolicy] : undefined,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (found.resultType === "error") return { error: JSON.stringify(found.errors) };
  const ignored = found.resultType === "single" ? (found.result.ignoredContextKeys ?? []) : [];
  return { decision: found.overallResult, ignored };
}

process.stdout.write(JSON.stringify(await Promise.all(simulations.map(decide))));
