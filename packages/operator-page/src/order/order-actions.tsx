import { type JSX } from 'preact';
import { type OrderDetails } from '../api/order-contract';
import { parseExtension } from '../format/parse-extension';
import { useApp, type App } from '../session/app-context';
import { type ActionSpec } from '../ui/action-dialog';
import { useAction } from '../ui/use-action';
import { actionsFor, type OrderActionName } from './actions-for';
import { ExtendFields } from './extend-fields';

interface OrderActionsProps {
  readonly order: OrderDetails;
  readonly onChange: () => void;
}

/** The actions that fit the order. */
export function OrderActions({ order, onChange }: OrderActionsProps): JSX.Element {
  const app = useApp();
  const open = useAction(onChange);
  const names = actionsFor(order, app.session.roles);
  if (names.length === 0) return <></>;
  return (
    <div class="buttons order-actions" role="group" aria-label={app.t.order.actions}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          class={isFinal(name) ? 'danger-quiet' : ''}
          onClick={() => open(specOf(name, order.id, app))}
        >
          {app.t.actions[name].title}
        </button>
      ))}
    </div>
  );
}

function isFinal(name: OrderActionName): boolean {
  return name === 'cancel' || name === 'close';
}

const PATHS: Readonly<Record<OrderActionName, string>> = {
  extend: 'extend',
  payCheck: 'pay-check',
  autoCloseOff: 'auto-close',
  autoCloseOn: 'auto-close',
  revive: 'revive',
  cancel: 'cancel',
  close: 'close',
};

function specOf(name: OrderActionName, id: string, { t, api }: App): ActionSpec {
  const path = `orders/${encodeURIComponent(id)}/${PATHS[name]}`;
  const post = (body: object): Promise<unknown> => api.post(path, body);
  const base = { ...t.actions[name], isDangerous: isFinal(name) };
  switch (name) {
    case 'extend':
      return { ...base, ...extension(t.actions.extend.byInvalid, post) };
    case 'payCheck':
      return { ...base, needsReason: false, perform: () => post({}) };
    case 'autoCloseOff':
    case 'autoCloseOn':
      return { ...base, perform: (reason) => post({ enabled: name === 'autoCloseOn', reason }) };
    case 'revive':
    case 'cancel':
    case 'close':
      return { ...base, perform: (reason) => post({ reason }) };
  }
}

function extension(
  invalid: string,
  post: (body: object) => Promise<unknown>,
): Pick<ActionSpec, 'fields' | 'problem' | 'perform'> {
  const entered = { by: '30' };
  return {
    fields: <ExtendFields start={entered.by} onInput={(by) => (entered.by = by)} />,
    problem: () => (parseExtension(entered.by) === undefined ? invalid : undefined),
    perform: (reason) => post({ byMs: parseExtension(entered.by), reason }),
  };
}
