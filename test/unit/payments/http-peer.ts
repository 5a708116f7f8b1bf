import { sendHttpRequest } from '../../../src/payments/http/http-exchange';

/**
 * Puts `answer` in the place of the provider at the other end. The spec mocks the module of `sendHttpRequest` itself, as jest
 * looks for that in the spec only.
 */
export function answerHttp(answer: (request: Request) => Response | Promise<Response>): void {
  jest.mocked(sendHttpRequest).mockImplementation(async ({ method, url, requestBody }, headers, { maxBodyBytes }) => {
    const request = new Request(url, { method, headers, ...(requestBody !== '' && { body: requestBody }) });
    const response = await answer(request);
    const body = new Uint8Array(await response.arrayBuffer());
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: body.length > maxBodyBytes ? undefined : body,
    };
  });
}
