// Both AG-UI clients under one roof: the current one, and the one that CopilotKit and assistant-ui bundle today.
// A script elsewhere in the repository imports this file by path; only here are the packages installed.
import { HttpAgent as Current } from "@ag-ui/client";
import { HttpAgent as Bundled } from "agui059";

export const CLIENTS = { "1.0.0": Current, "0.0.59": Bundled };

/** An HttpAgent of the given version; `config` as the package's own, with `fetch` where the requests should go elsewhere. */
export function makeAgent(version, config) {
  const Agent = CLIENTS[version];
  if (!Agent) throw new Error(`no client ${version}; there are ${Object.keys(CLIENTS).join(", ")}`);
  return new Agent(config);
}

/** Collects what a page's developer console would show: warnings, errors and unhandled rejections. */
export function watchConsole() {
  const lines = [];
  const note = (level) => (...args) => lines.push(`${level}: ${args.map(String).join(" ")}`);
  console.warn = note("warn");
  console.error = note("error");
  process.on("unhandledRejection", (reason) => lines.push(`unhandled rejection: ${reason}`));
  return { take: () => lines.splice(0) };
}
