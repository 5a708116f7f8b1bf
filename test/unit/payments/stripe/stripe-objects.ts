type Fields = Readonly<Record<string, unknown>>;

/** A charge as Stripe writes it. */
export function aCharge(fields: Fields = {}): Fields {
  return { id: 'ch_1', object: 'charge', refunded: false, amount_refunded: 0, created: 1_767_225_600, ...fields };
}

/** An intent that took 19.99 EUR. */
export function anIntent(fields: Fields = {}): Fields {
  return {
    id: 'pi_1',
    object: 'payment_intent',
    status: 'succeeded',
    amount: 1_999,
    amount_received: 1_999,
    currency: 'eur',
    livemode: false,
    latest_charge: aCharge(),
    metadata: {},
    payment_details: { order_reference: null },
    ...fields,
  };
}

/** A session that was paid with 19.99 EUR. */
export function aSession(fields: Fields = {}): Fields {
  return {
    id: 'cs_1',
    object: 'checkout.session',
    mode: 'payment',
    status: 'complete',
    payment_status: 'paid',
    amount_total: 1_999,
    currency: 'eur',
    currency_conversion: null,
    livemode: false,
    payment_intent: anIntent(),
    ...fields,
  };
}

/** An event about `object`. */
export function anEvent(type: string, object: Fields, fields: Fields = {}): Fields {
  return { id: 'evt_1', object: 'event', type, created: 1_767_225_700, livemode: false, data: { object }, ...fields };
}
