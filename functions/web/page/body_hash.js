// What CloudFront signs in place of the body: Lambda behind it takes no POST without `x-amz-content-sha256`.

/**
 * The header for a request to `url` with `body` (text or a Blob); none without a body. It goes to the page's own origin alone, which is
 * where CloudFront has the agents: elsewhere a server's CORS may refuse it. Over plain HTTP from another machine the browser has no
 * digests, and there is no CloudFront either.
 */
export async function bodyHash(url, body) {
  if (body === undefined || !crypto.subtle || new URL(url, document.baseURI).origin !== location.origin) return {};
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : await body.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { "x-amz-content-sha256": [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}
