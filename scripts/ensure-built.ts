/** Builds the bundles whose sources changed since they were built; quick when none did. */
import { BUNDLES, buildBundle, canBuild, isFresh } from "./bundles.ts";

for (const bundle of BUNDLES) {
  if (!canBuild(bundle) || isFresh(bundle)) continue;
  console.log(`building ${bundle.name}`);
  await buildBundle(bundle);
}
