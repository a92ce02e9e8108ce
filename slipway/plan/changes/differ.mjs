// Asks AWS's own template differ, the one of `cdk diff`, what CloudFormation would do.
//
// It follows a replacement through references within one template and no further than the next replacement; here all
// stacks are one template, and whatever hears of a new value is told, also when it is only updated.
//
// In:  {before, after: resources by key, with references as text `${key}` or `${key.Attribute}`;
//       decided: {key: {property: impact}} where more is known than the differ knows;
//       moving: {type: [attributes that get a new value with every update]}}
// Out: {resources: {key: {impact, properties: {name: impact}}}, moved: [references, without `${}`, that change]}
import { readFileSync } from "node:fs";
import { fullDiff } from "@aws-cdk/cloudformation-diff";

const REFERENCE = /\$\{([\w-]+\/\w+)(\.[^}]*)?\}/g;
const { before, after, decided, moving } = JSON.parse(readFileSync(0, "utf8"));

const text = JSON.stringify(after);
const marked = (moved) =>
  JSON.parse(
    text.replace(REFERENCE, (whole, key, attribute = "") =>
      moved.has(key) || moved.has(key + attribute) ? `\${new ${key}${attribute}}` : whole,
    ),
  );

function read(key, difference) {
  const properties = {};
  for (const [name, change] of Object.entries(difference.propertyUpdates)) {
    // The differ has no opinion on types that it does not know, such as custom resources: they are updated.
    const known = change.changeImpact === "NO_CHANGE" ? "WILL_UPDATE" : change.changeImpact;
    properties[name] = decided[key]?.[name] ?? known;
  }
  const impacts = Object.values(properties);
  const worst = ["WILL_REPLACE", "MAY_REPLACE", "WILL_UPDATE"].find((impact) => impacts.includes(impact));
  const unchanged = difference.isAddition || difference.isRemoval || difference.resourceTypeChanged;
  return { impact: unchanged || !worst ? difference.changeImpact : worst, properties };
}

const moved = new Set();
let resources;
for (let size = -1; size !== moved.size; ) {
  size = moved.size;
  resources = {};
  const difference = fullDiff({ Resources: before }, { Resources: marked(moved) });
  difference.resources.forEachDifference((key, change) => {
    resources[key] = read(key, change);
    if (resources[key].impact === "WILL_REPLACE") moved.add(key);
    if (resources[key].impact === "WILL_UPDATE" || resources[key].impact === "MAY_REPLACE")
      for (const attribute of moving[after[key].Type] ?? []) moved.add(`${key}.${attribute}`);
  });
}
process.stdout.write(JSON.stringify({ resources, moved: [...moved] }));
