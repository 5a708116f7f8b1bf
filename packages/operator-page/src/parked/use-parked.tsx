import { type ParkedGroup } from '../api/attention-contract';
import { ManyDialog, type ManySpec } from '../bulk/many-dialog';
import { parseExtension } from '../format/parse-extension';
import { nameOf } from '../i18n/language';
import { type App, useApp } from '../session/app-context';
import { changeParked, type ParkedAction, type ParkedChoice, sizeOf } from './change-parked';
import { DelayField } from './delay-field';

/** Returns a function that opens the dialog of an action on parked timeouts. */
export function useParked(onDone: () => void): (action: ParkedAction, choice: ParkedChoice) => void {
  const app = useApp();
  return (action, choice) =>
    app.showDialog(<ManyDialog key={action} action={specOf(app, action, choice)} onDone={onDone} />);
}

function specOf(app: App, action: ParkedAction, choice: ParkedChoice): ManySpec {
  const { t, api, clock } = app;
  const entered = { delay: '1h' };
  const isDelayed = action === 'reschedule' || action === 'extend';
  const delayOf = (): number | undefined => parseExtension(entered.delay);
  return {
    texts: t.actions.parked[action],
    size: sizeOf(choice),
    about: 'group' in choice ? aboutGroup(app, choice.group) : choice.timeouts.map(({ key }) => key),
    isDangerous: action === 'discard' || action === 'close',
    ...(isDelayed && {
      fields: (
        <DelayField
          label={t.actions.parkedDelay[action]}
          start={entered.delay}
          onInput={(delay) => (entered.delay = delay)}
        />
      ),
      problem: () => ((delayOf() ?? -1) <= 0 ? t.actions.parkedDelay.invalid : undefined),
    }),
    run: (reason, onProgress, signal) => {
      const change = { action, choice, reason, afterMs: delayOf(), nowMs: clock.now() };
      return changeParked(api, change, onProgress, signal);
    },
  };
}

function aboutGroup({ t }: App, { kind, reason }: ParkedGroup): string[] {
  return [`${nameOf(t.domain.kinds, kind)} · ${reason || t.attention.parked.noReason}`];
}
