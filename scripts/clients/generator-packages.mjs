/** Exact versions, by name. */
export const generatorPackages = {
  '@apiture/openapi-down-convert': '0.14.2',
  '@asyncapi/parser': '3.6.3',
  // The last release that has the generator in the package. Later ones download it from elsewhere.
  '@openapitools/openapi-generator-cli': '1.0.18-5.0.0-beta2',
  'openapi-fetch': '0.17.0',
  'openapi-typescript': '7.13.0',
  quicktype: '26.0.0',
  typescript: '5.9.3',
};

/** What Python's clients import, as Debian names it. */
export const pythonPackages = ['python3-certifi', 'python3-dateutil', 'python3-pika', 'python3-six', 'python3-urllib3'];
