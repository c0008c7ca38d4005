// Shows openapi.yaml below the page, by Swagger UI. It sends no other request: "Try it out" is off.
SwaggerUIBundle({
  url: '/openapi.yaml',
  dom_id: '#reference',
  supportedSubmitMethods: [],
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  // The reference moves what lies below it, such as the problem that the address of the page names.
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
