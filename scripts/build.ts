/** Builds every bundle, or those that are named: `npm run build worker`. */
import { BUNDLES, buildBundle, canBuild } from "./bundles.ts";

const names = process.argv.slice(2);
const unknown = names.filter((name) => !BUNDLES.some((bundle) => bundle.name === name));
if (unknown.length > 0) {
  console.error(`build knows ${BUNDLES.map((bundle) => bundle.name).join(", ")}; not ${unknown.join(", ")}`);
  process.exit(2);
}

for (const bundle of BUNDLES) {
  if (names.length > 0 && !names.includes(bundle.name)) continue;
  if (!canBuild(bundle)) {
    console.log(`${bundle.name}: nothing to build, there is no ${bundle.entry}`);
    continue;
  }
  const since = performance.now();
  await buildBundle(bundle);
  console.log(`${bundle.name}: built ${bundle.dist} in ${Math.round(performance.now() - since)} ms`);
}
