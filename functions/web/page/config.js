// Which agents there are: config.json beside this page, `{agents: [{name, title, description, url, offline, prompts?}]}`.

const PROMPTS = {
  dev: ["start demo"],
  reactAgent: ["How many days of annual leave do I have?", "年假有几天？", "Ask me two things at once: ask two", "Let me choose what to search for", "count to 100"],
};
const ANY = ["Hello! What can you do?"];

/** The agents with absolute URLs, in the order of the file. Throws Error with a sentence for the reader when there are none. */
export async function loadAgents(address = "config.json") {
  const response = await fetch(address, { cache: "no-cache" });
  if (!response.ok) throw new Error(`config.json could not be read (HTTP ${response.status}).`);
  const { agents } = await response.json();
  if (!agents?.length) throw new Error("config.json lists no agent.");
  return agents.map((agent) => ({
    ...agent,
    title: agent.title || agent.name,
    url: new URL(agent.url, document.baseURI).href,
    prompts: agent.prompts ?? PROMPTS[agent.name] ?? ANY,
  }));
}
