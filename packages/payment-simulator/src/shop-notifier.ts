import { type Clock, type Timer } from './clock';
import { forge } from './forge';
import { type PaymentEvent } from './payment-hooks';
import { type NotificationPost, type SimulatedProtocol } from './protocol';
import { type SimulatedPayment } from './simulated-payment';
import { type NotifyTerms } from './simulator-input';

/** Notifications to be reordered are collected for this long, and then sent the last one first. */
const REORDER_MS = 100;

interface NotifierOptions {
  readonly clock: Clock;
  readonly protocolOf: (provider: string) => SimulatedProtocol | undefined;
  /** The delays of the real protocols are divided by it. */
  readonly retrySpeedUp: number;
  readonly stopping: AbortSignal;
}

/** One thing to be told. */
interface HeldNotification {
  readonly payment: SimulatedPayment;
  readonly event: PaymentEvent;
}

/** Tells the shop of payments in the provider's format, again and again as the provider does, or as badly as scripted. */
export class ShopNotifier {
  private readonly timers = new Set<Timer>();
  private held: HeldNotification[] = [];

  constructor(private readonly options: NotifierOptions) {}

  announce(payment: SimulatedPayment, event: PaymentEvent): void {
    const { notify } = payment.terms;
    if (!notify) return;
    this.after(isLost(notify, event) ? 0 : notify.delayMs, () => {
      if (notify.reorder) this.hold({ payment, event });
      else void this.tell({ payment, event });
    });
  }

  stop(): void {
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }

  private hold(notification: HeldNotification): void {
    this.held.push(notification);
    if (this.held.length === 1) this.after(REORDER_MS, () => void this.tellLastFirst());
  }

  private async tellLastFirst(): Promise<void> {
    const held = this.held.reverse();
    this.held = [];
    for (const notification of held) await this.tell(notification);
  }

  /** Resolves when the first copies have arrived; repetitions go on. */
  private async tell({ payment, event }: HeldNotification): Promise<void> {
    const { notify, provider } = payment.terms;
    const protocol = this.options.protocolOf(provider);
    const first = protocol?.notification(payment, event);
    if (!notify || !protocol || !first) return;
    if (isLost(notify, event)) {
      payment.notifications.lost += 1;
      return;
    }
    for (let copy = 0; copy < notify.forged; copy += 1) {
      await post(notify, forge(first), this.options.stopping);
      payment.notifications.forged += 1;
    }
    const copies = Array.from({ length: notify.times }, () => this.deliver(payment, protocol, first));
    const answers = await Promise.all(copies);
    if (!answers.includes(true)) void this.repeat({ payment, event }, protocol);
  }

  private async repeat({ payment, event }: HeldNotification, protocol: SimulatedProtocol): Promise<void> {
    const { clock, retrySpeedUp, stopping } = this.options;
    for (const delayMs of protocol.retryDelaysMs) {
      await clock.sleep(delayMs / retrySpeedUp, stopping);
      // Made anew: its timestamp has to be fresh, and the script may have changed.
      const again = stopping.aborted ? undefined : protocol.notification(payment, event);
      if (!again || (await this.deliver(payment, protocol, again))) return;
    }
  }

  /** @returns whether the shop acknowledged it. */
  private async deliver(
    payment: SimulatedPayment,
    protocol: SimulatedProtocol,
    notification: NotificationPost,
  ): Promise<boolean> {
    const { notify } = payment.terms;
    const answer = notify && (await post(notify, notification, this.options.stopping));
    const isAcknowledged = answer !== undefined && protocol.isAcknowledged(answer.status, answer.body);
    payment.notifications[answer && answer.status >= 200 && answer.status < 300 ? 'sent' : 'failed'] += 1;
    if (isAcknowledged) payment.notifications.acknowledged += 1;
    return isAcknowledged;
  }

  private after(ms: number, task: () => void): void {
    const timer = this.options.clock.after(ms, () => {
      this.timers.delete(timer);
      task();
    });
    this.timers.add(timer);
  }
}

function isLost({ lost }: NotifyTerms, event: PaymentEvent): boolean {
  return typeof lost === 'boolean' ? lost : lost.includes(event);
}

/** undefined: the shop did not answer. */
async function post(
  { url, headers }: NotifyTerms,
  notification: NotificationPost,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string } | undefined> {
  try {
    const init = { method: 'POST', body: notification.body, headers: { ...notification.headers, ...headers }, signal };
    const response = await fetch(url, init);
    return { status: response.status, body: await response.text() };
  } catch {
    return undefined;
  }
}
