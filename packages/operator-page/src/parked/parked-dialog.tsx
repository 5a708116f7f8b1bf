import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { formatCount } from '../format/format-count';
import { useApp } from '../session/app-context';
import { Dialog } from '../ui/dialog';
import { ProblemNote } from '../ui/problem-note';
import { ProgressBar } from '../ui/progress-bar';
import { ReasonField } from '../ui/reason-field';
import { changeParked, type ParkedAction, type ParkedChoice, sizeOf } from './change-parked';

interface ParkedDialogProps {
  readonly action: ParkedAction;
  readonly choice: ParkedChoice;
  readonly onDone: () => void;
}

/** Replays or discards parked timeouts: says what will happen, asks for a reason, shows the progress. */
export function ParkedDialog({ action, choice, onDone }: ParkedDialogProps): JSX.Element {
  const { t, api, locale, announce, showDialog } = useApp();
  const [reason, setReason] = useState('');
  const [isMissing, setMissing] = useState(false);
  const [done, setDone] = useState<number>();
  const [problem, setProblem] = useState<ApiProblem>();
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);
  const texts = action === 'replay' ? t.actions.replayTimeouts : t.actions.discardTimeouts;
  const size = sizeOf(choice);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = reason.trim();
    setMissing(given === '');
    if (given === '' || done !== undefined) return;
    setDone(0);
    try {
      const note = (progress: { done: number }): void => setDone(progress.done);
      const { changed } = await changeParked(api, action, choice, given, note, stopping.current.signal);
      announce(texts.done(formatCount(changed, locale)));
      showDialog(null);
    } catch (error) {
      setProblem(toProblem(error));
      setDone(undefined);
    }
    onDone();
  };

  return (
    <Dialog title={texts.title(formatCount(size, locale))} onClose={() => showDialog(null)}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <p>{texts.what}</p>
        <ReasonField value={reason} onInput={setReason} problem={isMissing ? t.actions.reasonMissing : undefined} />
        {done !== undefined && (
          <ProgressBar label={progressText(t.attention.parked.progress, done, size, locale)} done={done} all={size} />
        )}
        {problem && <ProblemNote problem={problem} />}
        <footer class="dialog-foot">
          <button type="button" onClick={() => showDialog(null)}>
            {done === undefined ? t.shell.cancel : t.orders.bulk.stop}
          </button>
          <button type="submit" class={action === 'discard' ? 'danger' : 'primary'} aria-disabled={done !== undefined}>
            {texts.confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function progressText(text: (done: string, all: string) => string, done: number, all: number, locale: string): string {
  return text(formatCount(done, locale), formatCount(all, locale));
}
