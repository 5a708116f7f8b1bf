// What a user writes who has generated `api.d.ts` from docs/openapi.json.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const { SERVICE_URL = '', API_KEY = '' } = process.env;
const client = createClient<paths>({ baseUrl: SERVICE_URL, headers: { 'x-api-key': API_KEY } });

const order: components['schemas']['NewOrder'] = {
  id: 'generated-typescript',
  amount: 4200,
  currency: 'EUR',
  paymentWindowMs: 600_000,
  lines: [{ sku: 'typescript-apple', quantity: 1, unitAmount: 4200 }],
};

const stock = await client.PUT('/inventory/{sku}', {
  params: { path: { sku: 'typescript-apple' } },
  body: { onHand: 1 },
});
console.log(`in stock: ${stock.data?.available}`);

const placed = await client.POST('/orders', {
  params: { header: { 'Idempotency-Key': 'typescript-1' } },
  body: order,
});
console.log(`placed: ${placed.response.status} ${placed.data?.status}`);

const refused = await client.POST('/orders', { body: { ...order, id: 'generated-typescript-2' } });
// The code tells which problem it is, and so which members it has.
if (refused.error && 'code' in refused.error && refused.error.code === 'OUT_OF_STOCK' && 'shortages' in refused.error) {
  console.log(`refused: ${refused.error.shortages.map(({ sku, available }) => `${available} of ${sku}`).join()}`);
}

const cancelled = await client.POST('/orders/{id}/cancel', {
  params: { path: { id: order.id } },
  body: { reason: 'a test' },
});
console.log(`cancelled: ${cancelled.data?.status}`);

const history = await client.GET('/orders/{id}/history', { params: { path: { id: order.id } } });
console.log(`history: ${history.data?.map(({ to }) => to).join()}`);

const page = await client.GET('/orders', { params: { query: { status: ['CANCELLED', 'CLOSED'], limit: 1 } } });
console.log(`listed: ${page.data?.orders.map(({ id }) => id).join()}`);

const extended = await client.POST('/orders/bulk/actions/extend', {
  body: { actionId: 'typescript-1', filter: { status: ['PENDING'] }, byMs: 60_000, reason: 'a test', dryRun: true },
});
console.log(`would extend: ${extended.data?.count}`);
