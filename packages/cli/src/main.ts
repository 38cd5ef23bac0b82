#!/usr/bin/env node
/** The command `drover`. Keeps what Node compiled, types stripped and all: a start then takes a third of the time. */
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { boundYoungGeneration, holdYoungGeneration } from "./young-generation.ts";

// Beside the installed packages: who can write there could change the program anyway, which is not so of a shared temporary directory.
// Where nothing may be written, nothing is kept.
enableCompileCache(join(import.meta.dirname, "../../../node_modules/.cache/drover"));
holdYoungGeneration();
// Behind the lines above: what a module imports is compiled before the module itself runs.
const { runCommandLine } = await import("./command-line.ts");
boundYoungGeneration();
process.exitCode = await runCommandLine(process.env);
