// Asks AWS's own template differ, the one of `cdk diff`, what CloudFormation would do.
//
// It follows a replacement through references within one template and no further than the next replacement; here all
// stacks are one template, and whatever hears of a new value is told, also when it is only updated.
//
// Answers each line of standard input with a line.
// In:  {before, after: resources by key, with references as text `${key}` or `${key.Attribute}`;
//       replacing: {type: [paths of properties whose change replaces the resource]}, of "*" for all types: the differ
//       knows no nested ones;
//       moving: {type: [attributes that get a new value with every update]}}
// Out: {resources: {key: {impact, properties: {name: impact}}}, moved: [references, without `${}`, that change]}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

// The library is the project's, which is elsewhere when this file is of an installed wheel: its folder is the argument.
const { fullDiff } = createRequire(`${process.argv[2]}/`)("@aws-cdk/cloudformation-diff");

const REFERENCE = /\$\{([\w-]+\/\w+)(\.[^}]*)?\}/g;
// The number 1 is the text "1" to CloudFormation.
const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
const at = (value, path) => path.split(".").reduce((inner, name) => inner?.[name], value);

function answer({ before, after, replacing, moving }) {
  const resourcesText = JSON.stringify(after);
  const marked = (moved) =>
    JSON.parse(
      resourcesText.replace(REFERENCE, (whole, key, attribute = "") =>
        moved.has(key) || moved.has(key + attribute) ? `\${new ${key}${attribute}}` : whole,
      ),
    );

  function decided(key, name, head) {
    const known = [...(replacing["*"] ?? []), ...(replacing[after[key]?.Type] ?? [])];
    const paths = known.filter((path) => path.split(".")[0] === name);
    if (paths.length === 0 || !before[key]) return undefined;
    const moves = (path) => text(at(before[key].Properties, path)) !== text(at(head[key].Properties, path));
    return paths.some(moves) ? "WILL_REPLACE" : "WILL_UPDATE";
  }

  function read(key, difference, head) {
    const properties = {};
    for (const [name, change] of Object.entries(difference.propertyUpdates)) {
      // The differ has no opinion on types that it does not know, such as custom resources: they are updated.
      const known = change.changeImpact === "NO_CHANGE" ? "WILL_UPDATE" : change.changeImpact;
      properties[name] = decided(key, name, head) ?? known;
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
    const head = marked(moved);
    const difference = fullDiff({ Resources: before }, { Resources: head });
    difference.resources.forEachDifference((key, change) => {
      resources[key] = read(key, change, head);
      if (resources[key].impact === "WILL_REPLACE") moved.add(key);
      if (resources[key].impact === "WILL_UPDATE" || resources[key].impact === "MAY_REPLACE")
        for (const attribute of moving[after[key].Type] ?? []) moved.add(`${key}.${attribute}`);
    });
  }
  return { resources, moved: [...moved] };
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
