// Which agents there are: config.json beside this page, `{agents: [{name, title, description, url, offline, prompts?, auth?}]}`.

const ANY = ["Hello! What can you do?"];

/** The agents with absolute URLs that end in a slash, in the order of the file. Throws Error with a sentence for the reader when there are none. */
export async function loadAgents(address = "config.json") {
  const response = await fetch(address, { cache: "no-cache" });
  if (!response.ok) throw new Error(`config.json could not be read (HTTP ${response.status}).`);
  const { agents } = await response.json();
  if (!agents?.length) throw new Error("config.json lists no agent.");
  return agents.map((agent) => ({
    ...agent,
    title: agent.title || agent.name,
    url: new URL(agent.url, document.baseURI).href.replace(/\/?$/, "/"),
    prompts: agent.prompts?.length ? agent.prompts : ANY,
  }));
}
