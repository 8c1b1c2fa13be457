// CloudFront runs this on a viewer's request to everything but the agents. It stands for the distribution's default root object, which
// could take an agent's path too, once the other function has made it "/".

function handler(event) {
  var request = event.request;
  if (request.uri === "/") {
    request.uri = "/index.html";
  }
  return request;
}
