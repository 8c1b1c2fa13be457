// The access token of this tab, for agents whose `auth` in config.json is "jwt". It goes when the tab is closed.

const KEY = "token";

/** Asked for at every request: a token that was replaced is not sent again. */
export const token = () => sessionStorage.getItem(KEY) ?? "";

/** What is sent to an agent of config.json: the token where it asks for one. */
export const tokenFor = ({ auth }) => (auth === "jwt" ? token : () => "");

/** Keeps it; an empty one is forgotten. People paste whole headers, so a leading “Bearer” is dropped. */
export function keepToken(text) {
  const bare = text.trim().replace(/^bearer\s+/i, "");
  if (bare) sessionStorage.setItem(KEY, bare);
  else sessionStorage.removeItem(KEY);
}
