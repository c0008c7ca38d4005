// Shows openapi.yaml by Swagger UI. It sends no other request: "Try it out" is off.
SwaggerUIBundle({
  url: '/openapi.yaml',
  dom_id: '#swagger-ui',
  supportedSubmitMethods: [],
  validatorUrl: null,
  // The address of the page may name a problem's schema, which is not there before.
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
