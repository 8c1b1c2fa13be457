// CloudFront runs this on a viewer's request to /agents/<name>/…, before it signs it for the function URL.
// No imports and no exports: the runtime (cloudfront-js-2.0) calls the global `handler`.

function handler(event) {
  var request = event.request;
  // the app knows nothing of the path that it is behind
  request.uri = request.uri.replace(/^\/agents\/[^/]+\/?/, "/");
  // the signature takes this header's place, so the caller's token goes on under another name (functions.web.tokens)
  delete request.headers["x-forwarded-authorization"];
  if (request.headers.authorization) {
    request.headers["x-forwarded-authorization"] = { value: request.headers.authorization.value };
    delete request.headers.authorization;
  }
  return request;
}
