// Reads IAM requests with their policies, a line of JSON for each question, and prints a line with a decision for each.
// The decisions are those of @cloud-copilot/iam-simulate (package.json pins it).
import { createInterface } from "node:readline";
import {
  createValidatedPolicy,
  validateEndpointPolicy,
  validateIdentityPolicy,
  validateResourcePolicy,
} from "@cloud-copilot/iam-policy";
import { runSimulation } from "@cloud-copilot/iam-simulate";

// All documents by their hash. Each is validated once, whatever the number of requests and questions.
const documents = {};
const remembered = (validate) => {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) known.set(name, createValidatedPolicy(documents[name], validate));
    return known.get(name);
  };
};
const identity = remembered(validateIdentityPolicy);
const endpoint = remembered(validateEndpointPolicy);
const ofResource = remembered(validateResourcePolicy);
const named = (keys, find) => keys.map((name) => ({ name, policy: find(name) }));

async function decide(simulation) {
  const { principal, action, resource, account, context, policies, boundaries, endpoints, resourcePolicy } = simulation;
  const found = await runSimulation(
    {
      request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
      identityPolicies: named(policies, identity),
      permissionBoundaryPolicies: boundaries.length ? named(boundaries, identity) : undefined,
      vpcEndpointPolicies: endpoints.length ? named(endpoints, endpoint) : undefined,
      resourcePolicy: resourcePolicy ? ofResource(resourcePolicy) : undefined,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (found.resultType === "error") return { error: JSON.stringify(found.errors) };
  const ignored = found.resultType === "single" ? (found.result.ignoredContextKeys ?? []) : [];
  return { decision: found.overallResult, ignored };
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  Object.assign(documents, question.documents);
  process.stdout.write(`${JSON.stringify(await Promise.all(question.simulations.map(decide)))}\n`);
}
